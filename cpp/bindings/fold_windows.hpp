// One pass over windows: what a column of results is to the pass, and where its results go.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "arrays.hpp"
#include "registry.hpp"
#include "slidefold/columns/window_frames.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold::bindings {

// The last `rows` rows, or the rows of a range of time; up to this row, or before it.
struct Reach {
  bool timed = false;
  std::size_t rows = 0;
  TimeReach time;
  bool keeps_end() const { return time.keeps_end; }
};

// The rows of a column that are not null, where some are: none of the pointers if no row is.
struct Presence {
  const bool* valid = nullptr;
  const std::uint32_t* before = nullptr;  // before[i] of the rows before row i are present
  const std::uint32_t* rows = nullptr;    // the rows that are
  std::size_t longest = 0;                // of the runs of absent rows
  std::size_t between(std::size_t lo, std::size_t hi) const {
    if (before != nullptr) return before[hi] - before[lo];
    if (valid == nullptr) return hi - lo;
    return static_cast<std::size_t>(std::count(valid + lo, valid + hi, true));
  }
  // So many rows next to each other have `least` present ones among them, whichever they are.
  std::size_t surely(std::size_t least) const {
    constexpr auto kNever = std::numeric_limits<std::size_t>::max();
    return least > kNever / (longest + 1) ? kNever : least * (longest + 1);
  }
};

// The last present row of windows that come in order.
struct LastPresent {
  std::size_t seen = 0, after = 0;  // one past the last row that is present of those before `seen`
  // One past it; at most `lo` if there is none from `lo` to `hi`.
  std::size_t operator()(const bool* valid, std::size_t lo, std::size_t hi) {
    for (seen = std::max(seen, lo); seen < hi;) {
      const bool present = valid[seen++];  // nulls at random would mispredict a branch
      after = present ? seen : after;
    }
    return after;
  }
};

// How results in order go to the rows of the input. Only one of the three is there, or none.
struct Placing {
  const std::uint32_t* places = nullptr;  // places[i]: where row i of the input is in order
  const std::uint32_t* order = nullptr;   // order[i]: the row of the input that is i-th in order
  // Row moved_rows[i] of the input is at moved_places[i] in order, which was a peer's; all others
  // are where they were.
  const std::uint32_t* moved_rows = nullptr;
  const std::uint32_t* moved_places = nullptr;
  std::size_t moved = 0;

  std::size_t input_row(std::size_t row, std::size_t rows) const;
};

// Where the result of each row in order goes.
struct Destinations {
  const std::uint32_t* order = nullptr;  // row i goes to order[i]; if null, it stays
  std::size_t rows = 0;
  std::size_t operator[](std::size_t row) const { return order == nullptr ? row : order[row]; }
  // The same, for rows that come one after the other. Stores wait for those before them, so that a
  // few rows from far away would cost a miss of the cache each.
  template <class T>
  std::size_t next(const T* results, std::size_t row) const {
    if (order == nullptr) return row;
    constexpr std::size_t kAhead = 64;
    __builtin_prefetch(results + order[std::min(row + kAhead, rows - 1)], 1);
    return order[row];
  }
};

// A result that does not fit, with its row in order.
struct RowOverflow {
  std::size_t row;
  std::string what;
};

// What one share of the rows has found out about a column.
struct Share {
  std::size_t first = 0, last = 0;
  bool missing = false;             // some rows have no result
  std::vector<RowOverflow> beyond;  // errors, unless the windows hold too few rows
};

// Calls each(start, first, last) for the rows that a share has of each group, which starts at
// `start`.
template <class Each>
void for_groups(const SortedTimes& sorted, const Share& share, Each&& each) {
  if (share.first == share.last) return;
  RowPoll polled;
  for (std::size_t g = sorted.group_of(share.first); sorted.start(g) < share.last; ++g) {
    const std::size_t start = sorted.start(g);
    const std::size_t first = std::max(start, share.first);
    const std::size_t last = std::min(sorted.start(g + 1), share.last);
    polled(1 + last - first);
    if (first < last) each(start, first, last);
    if (last == share.last) return;
  }
}

// A share of the rows of one column over a time window, folded block by block as if no row had a
// peer.
struct JobPart {
  virtual ~JobPart() = default;
  virtual void fold(const FrameBlock& block) = 0;
};

// One column of results. The rows of a share are its own, so that shares run beside one another.
struct Job {
  Reach reach;
  std::size_t least = 0;  // rows that are not null in a window, or there is no result
  Presence present;
  std::size_t enough = 0;  // a window of so many rows has the least
  bool* valid = nullptr;   // which rows have a result
  Destinations at;         // of results and of `valid`

  virtual ~Job() = default;
  virtual std::unique_ptr<JobPart> part(const SortedTimes& sorted, Share& share) = 0;
  // All rows of a share over a rows window. Group g is the rows starts[g] to starts[g + 1].
  virtual void fold_rows(const SortedTimes& sorted, Share& share) = 0;
  virtual void blank(std::size_t row) = 0;
  // Peers take the result of the one whose window is theirs.
  virtual void settle(const std::vector<PeerRun>& runs) = 0;
  // `missing`: some rows have no result.
  virtual void put_back(const std::uint32_t* places, std::size_t first, std::size_t last,
                        bool missing) = 0;
  virtual void put_moved(const Placing& placing, bool missing) = 0;
  // (results, valid), valid None if every row has a result.
  virtual nb::object finish(bool missing) = 0;

  // Windows of the rows first to last, from lo_of(row) on, that lack rows have no result; `last`
  // goes on from the windows before them.
  template <class Lo>
  void require_rows(std::size_t first, std::size_t stop, const Lo& lo_of, Share& share,
                    LastPresent& last) {
    const std::size_t end = reach.keeps_end() ? 1 : 0;
    const bool* const present_rows = least == 1 ? present.valid : nullptr;
    LastPresent seen = last;  // the compiler keeps it in registers
    for (std::size_t row = first; row < stop; ++row) {
      const std::size_t lo = lo_of(row), hi = row + end;
      if (hi - lo >= enough) continue;
      if (present_rows != nullptr ? seen(present_rows, lo, hi) > lo
                                  : present.between(lo, hi) >= least) {
        continue;
      }
      blank(row);
      valid[at[row]] = false;
      share.missing = true;
    }
    last = seen;
  }
};

template <class T>
void move_values(T* found, const Placing& placing) {
  Buffer<T> moved(placing.moved);
  for (std::size_t i = 0; i < placing.moved; ++i) moved[i] = found[placing.moved_places[i]];
  for (std::size_t i = 0; i < placing.moved; ++i) found[placing.moved_rows[i]] = moved[i];
}

// Results as the input has its rows, and in order where they go back from there. Rows of many
// groups that come in order of time are read back group by group at once: 3x as fast as to write
// them to where they belong one by one.
template <class T>
class ResultColumn {
 public:
  ResultColumn(std::size_t rows, bool goes_back)
      : sorted_(goes_back ? rows : 0),
        found_(fresh_array<T>(rows)),
        data_(goes_back ? sorted_.data() : found_.data) {}
  T* data() { return data_; }
  void put_back(const std::uint32_t* places, std::size_t first, std::size_t last) {
    in_blocks(first, last, [&](std::size_t row) { found_.data[row] = data_[places[row]]; });
  }
  void put_moved(const Placing& placing) { move_values(data_, placing); }
  nb::object array() const { return found_.array; }

 private:
  Buffer<T> sorted_;
  FreshArray<T> found_;
  T* data_;
};

// What a job is made for: an operator, its columns, and how many rows they have.
struct JobSpec {
  const Spec& spec;
  nb::handle values;
  std::size_t rows;
  const Placing& placing;
  Presence present;
};

template <class Out>
struct ResultJob : Job {
  ResultColumn<Out> results;
  ResultColumn<bool> flags;
  explicit ResultJob(const JobSpec& spec)
      : results(spec.rows, spec.placing.places != nullptr),
        flags(spec.rows, spec.placing.places != nullptr) {
    valid = flags.data();
    std::fill_n(valid, spec.rows, true);
    at = {spec.placing.order, spec.rows};
  }
  void blank(std::size_t row) final { results.data()[at[row]] = {}; }
  void settle(const std::vector<PeerRun>& runs) final {
    Out* const data = results.data();
    for (const PeerRun& run : runs) {
      const std::size_t from = at[reach.keeps_end() ? run.last - 1 : run.first];
      for (std::size_t row = run.first; row < run.last; ++row) {
        data[at[row]] = data[from];
        valid[at[row]] = valid[from];
      }
    }
  }
  void put_back(const std::uint32_t* places, std::size_t first, std::size_t last,
                bool missing) final {
    results.put_back(places, first, last);
    if (missing) flags.put_back(places, first, last);
  }
  void put_moved(const Placing& placing, bool missing) final {
    results.put_moved(placing);
    if (missing) flags.put_moved(placing);
  }
  nb::object finish(bool missing) final {
    return nb::make_tuple(results.array(), missing ? flags.array() : nb::none());
  }
};

// A column of words of any meaning; null if it has others.
template <class T>
std::shared_ptr<Column<T>> words_of(nb::handle values, std::size_t rows) {
  auto column = std::make_shared<Column<T>>();
  if (!nb::try_cast<Column<T>>(values, *column, false)) return nullptr;
  if (column->shape(0) != rows) {
    fail("ValueTypeError", "expected an array of " + std::to_string(rows) + " words");
  }
  return column;
}

// Null if the operator is not one of theirs.
std::unique_ptr<Job> number_job(const JobSpec& spec);
std::unique_ptr<Job> pair_job(const JobSpec& spec);
std::unique_ptr<Job> row_job(const JobSpec& spec);

}  // namespace slidefold::bindings
