// Columns that the bounds of a window answer: how many rows it holds, and the rows at its ends.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "fold_windows.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold::bindings {
namespace {

// An answer says whether a window has one, and gives it; `kNulls`: some rows are absent. Windows
// come in order, so that an answer may remember what it has seen. A window that has an answer holds
// kTold present rows.

struct CountRows {
  using Out = std::int64_t;
  static constexpr std::size_t kTold = 0;
  template <bool kNulls>
  bool operator()(const Presence& present, std::size_t lo, std::size_t hi, Out& out) {
    out = static_cast<Out>(kNulls ? present.before[hi] - present.before[lo] : hi - lo);
    return true;
  }
};

// The row that an operator picks from a window.
struct FirstRow {
  std::size_t next = 0;  // no row from the last window's start to here is present
  template <bool kNulls>
  bool operator()(const Presence& present, std::size_t lo, std::size_t hi, std::size_t& row) {
    row = lo;
    if constexpr (kNulls) {
      next = std::max(next, lo);
      while (next < hi && !present.valid[next]) ++next;
      row = next;
    }
    return row < hi;
  }
};
struct LastRow {
  LastPresent last;
  template <bool kNulls>
  bool operator()(const Presence& present, std::size_t lo, std::size_t hi, std::size_t& row) {
    const std::size_t after = kNulls ? last(present.valid, lo, hi) : hi;
    row = after - 1;
    return after > lo;
  }
};
struct NthRow {
  std::size_t from_end = 1;
  template <bool kNulls>
  bool operator()(const Presence& present, std::size_t lo, std::size_t hi, std::size_t& row) {
    if constexpr (kNulls) {
      if (present.before[hi] - present.before[lo] < from_end) return false;
      row = present.rows[present.before[hi] - from_end];
      return true;
    }
    row = hi - from_end;
    return hi - lo >= from_end;
  }
};

// What stands in the picked row, or its number.
template <class T>
struct ValueAt {
  using Out = T;
  const T* values;
  Out operator()(std::size_t row) const { return values[row]; }
};
struct NumberOf {
  using Out = std::uint32_t;
  Out operator()(std::size_t row) const { return static_cast<Out>(row); }
};
template <class Pick, class Read>
struct Picked {
  using Out = typename Read::Out;
  static constexpr std::size_t kTold = 1;
  Pick pick;
  Read read;
  template <bool kNulls>
  bool operator()(const Presence& present, std::size_t lo, std::size_t hi, Out& out) {
    std::size_t row = 0;
    if (!pick.template operator()<kNulls>(present, lo, hi, row)) return false;
    out = read(row);
    return true;
  }
};

template <class Answer>
struct BoundsJob final : ResultJob<typename Answer::Out> {
  using Out = typename Answer::Out;
  Answer answer;
  std::shared_ptr<void> held;  // what the answer points to
  BoundsJob(const JobSpec& spec, const Answer& which, std::shared_ptr<void> whose = nullptr)
      : ResultJob<Out>(spec), answer(which), held(std::move(whose)) {}

  // The rows first to last, whose windows start at lo(row).
  template <bool kNulls, class Lo>
  void answer_rows(Answer& own, std::size_t first, std::size_t last, const Lo& lo_of,
                   Share& share) {
    const std::size_t end = this->reach.keeps_end() ? 1 : 0, least = this->least;
    const std::size_t enough = this->enough;
    const Presence present = this->present;
    Out* const results = this->results.data();
    bool* const valid = this->valid;
    const Destinations at = this->at;
    bool missing = false;
    for (std::size_t row = first; row < last; ++row) {
      const std::size_t lo = lo_of(row), hi = row + end;
      Out out{};
      bool found = own.template operator()<kNulls>(present, lo, hi, out);
      if (kNulls ? least > Answer::kTold && hi - lo < enough && present.between(lo, hi) < least
                 : hi - lo < least) {
        found = false;
      }
      const std::size_t to = at.next(results, row);
      results[to] = found ? out : Out{};
      valid[to] = found;
      missing |= !found;
    }
    share.missing |= missing;
  }
  template <class Lo>
  void answer_rows(Answer& own, std::size_t first, std::size_t last, const Lo& lo_of,
                   Share& share) {
    if (this->present.valid == nullptr) {
      answer_rows<false>(own, first, last, lo_of, share);
    } else {
      answer_rows<true>(own, first, last, lo_of, share);
    }
  }
  struct BoundsPart final : JobPart {
    BoundsJob& job;
    Share& share;
    Answer own;
    BoundsPart(BoundsJob& whose, Share& which) : job(whose), share(which), own(whose.answer) {}
    void fold(const FrameBlock& block) override {
      const auto* const lo = block.lo - block.begin;
      job.answer_rows(
          own, block.begin, block.end, [lo](std::size_t row) { return lo[row]; }, share);
    }
  };
  std::unique_ptr<JobPart> part(const SortedTimes&, Share& share) override {
    return std::make_unique<BoundsPart>(*this, share);
  }
  void fold_rows(const SortedTimes& sorted, Share& share) override {
    const std::size_t end = this->reach.keeps_end() ? 1 : 0, window = this->reach.rows;
    Answer own = answer;
    for_groups(sorted, share, [&](std::size_t start, std::size_t first, std::size_t last) {
      const auto lo = [=](std::size_t row) {
        return row + end - std::min(row + end - start, window);
      };
      for (std::size_t row = first; row < last; row += kPollRows, poll()) {
        answer_rows(own, row, std::min(last, row + kPollRows), lo, share);
      }
    });
  }
};

template <class Read>
std::unique_ptr<Job> picked_job(const JobSpec& spec, const Read& read,
                                std::shared_ptr<void> held = nullptr) {
  const auto made = [&]<class Pick>(const Pick& pick) -> std::unique_ptr<Job> {
    using Answer = Picked<Pick, Read>;
    return std::make_unique<BoundsJob<Answer>>(spec, Answer{pick, read}, held);
  };
  if (spec.spec.name == "first") return made(FirstRow{});
  if (spec.spec.name == "last") return made(LastRow{});
  return made(NthRow{static_cast<std::size_t>(spec.spec.number("n"))});
}

template <class T>
std::unique_ptr<Job> value_job(const JobSpec& spec) {
  const auto words = words_of<T>(spec.values, spec.rows);
  return words == nullptr ? nullptr : picked_job(spec, ValueAt<T>{words->data()}, words);
}

}  // namespace

std::unique_ptr<Job> row_job(const JobSpec& spec) {
  const std::string_view name = spec.spec.name;
  if (name == "count") return std::make_unique<BoundsJob<CountRows>>(spec, CountRows{});
  if (name != "first" && name != "last" && name != "nth") return nullptr;
  if (spec.values.is_none()) return picked_job(spec, NumberOf{});
  if (auto job = value_job<std::uint64_t>(spec)) return job;
  if (auto job = value_job<std::uint32_t>(spec)) return job;
  fail("ValueTypeError", "expected values as unsigned words of 4 or 8 bytes, or None");
}

}  // namespace slidefold::bindings
