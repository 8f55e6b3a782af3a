// Columns over several windows in one pass.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <map>
#include <thread>

#include "fold_windows.hpp"
#include "signals.hpp"
#include "slidefold/columns/ties.hpp"
#include "sorted_times.hpp"

namespace slidefold::bindings {

std::size_t Placing::input_row(std::size_t row, std::size_t rows) const {
  const auto wanted = static_cast<std::uint32_t>(row);
  if (places != nullptr) {
    return static_cast<std::size_t>(std::find(places, places + rows, wanted) - places);
  }
  if (order != nullptr) return order[row];
  const std::uint32_t* const found = std::find(moved_places, moved_places + moved, wanted);
  return found == moved_places + moved ? row : moved_rows[found - moved_places];
}

namespace {

// ---- nulls --------------------------------------------------------------------------------------

// Which rows are present, once for all columns that have the same.
class Presences {
 public:
  explicit Presences(std::size_t rows) : rows_(rows) {}

  // `picks`: the operator is answered by a list of the present rows, `counts`: by their number.
  // Others only need them to be `least` in a window, which most windows are because of their
  // length.
  Presence of(nb::handle valid, bool picks, bool counts, std::size_t least) {
    if (valid.is_none()) return {};
    Column<bool> column;
    if (!nb::try_cast<Column<bool>>(valid, column, false) || column.shape(0) != rows_) {
      fail("ValueTypeError",
           "expected an array of " + std::to_string(rows_) + " bools, or None, for valid");
    }
    const auto [place, fresh] = known_.try_emplace(column.data());
    Known& known = place->second;
    if (fresh) {
      known.column = column;
      known.longest = bound_of_gaps(column);
    }
    if (least > 1 && known.longest == rows_ && !known.followed) {
      known.longest = longest_gap(column);
      known.followed = true;
    }
    if (known.longest == 0) return {};
    Presence present{column.data(), nullptr, nullptr, known.longest};
    constexpr std::size_t kFew = 256;  // rows that are counted where they stand
    if (picks || counts || (least > 1 && present.surely(least) > kFew)) {
      if (known.before.empty()) count(known);
      present.before = known.before.data();
    }
    if (picks) {
      if (known.rows.empty()) list(known);
      present.rows = known.rows.data();
    }
    return present;
  }

 private:
  struct Known {
    Column<bool> column;
    std::size_t longest = 0;  // no run of absent rows is longer
    bool followed = false;    // whether all runs were
    Buffer<std::uint32_t> before, rows;
  };
  // No run of absent rows is longer than this, which is 0 if none is absent.
  std::size_t bound_of_gaps(const Column<bool>& column) const {
    const bool* const valid = column.data();
    // If each eight rows have a present one, no run of absent ones is longer than 14: eight times
    // as fast as to follow the runs.
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    constexpr std::uint64_t kEveryByte = 0x0101010101010101;
    std::uint64_t all = kEveryByte;
    bool close = rows_ >= kWord;
    for (std::size_t row = 0; row + kWord <= rows_; row += kWord) {
      std::uint64_t word;
      std::memcpy(&word, valid + row, kWord);
      all &= word;
      close &= word != 0;
    }
    const std::size_t rest = rows_ % kWord;
    const bool whole = std::all_of(valid + rows_ - rest, valid + rows_, [](bool v) { return v; });
    if (all == kEveryByte && whole) return 0;
    return close ? 2 * (kWord - 1) : rows_;
  }
  std::size_t longest_gap(const Column<bool>& column) const {
    const bool* const valid = column.data();
    std::size_t longest = 0, gap = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      gap = (gap + 1) & (std::size_t{valid[row]} - 1);  // nulls at random would mispredict a branch
      longest = std::max(longest, gap);
    }
    return longest;
  }
  void count(Known& known) {
    known.before = Buffer<std::uint32_t>(rows_ + 1);
    const bool* const valid = known.column.data();
    std::uint32_t* const before = known.before.data();
    std::uint32_t total = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      before[row] = total;
      total += valid[row];
    }
    before[rows_] = total;
  }
  void list(Known& known) {
    known.rows = Buffer<std::uint32_t>(rows_ + 1);
    std::uint32_t* const rows = known.rows.data();
    for (std::size_t row = 0; row < rows_; ++row) {
      rows[known.before[row]] = static_cast<std::uint32_t>(row);
    }
  }
  std::size_t rows_;
  std::map<const void*, Known> known_;
};

// ---- the pass -----------------------------------------------------------------------------------

using Jobs = std::vector<std::unique_ptr<Job>>;

// Judges the results that did not fit in rows of a share.
void require_results(const SortedTimes& sorted, const Job& job, Share& share) {
  for (RowOverflow& overflow : share.beyond) {
    // An invalid row has too few values; a valid one says so for all its peers.
    std::size_t row = overflow.row;
    if (!job.valid[job.at[row]]) continue;
    if (job.reach.timed) {
      const std::size_t group = sorted.group_of(row);
      const std::size_t start = sorted.start(group), end = sorted.start(group + 1);
      const auto tied = [&](std::size_t i) { return sorted.times[i] == sorted.times[i + 1]; };
      if (job.reach.keeps_end() ? row + 1 < end && tied(row) : row > start && tied(row - 1)) {
        continue;  // its window is that of another one
      }
      while (row > start && tied(row - 1)) --row;
    }
    throw RowOverflow{row, std::move(overflow.what)};
  }
  share.beyond.clear();
}

// Folds the rows of a share, one of `shares` for each column.
void run(const SortedTimes& sorted, bool peers, const Jobs& jobs, std::vector<Share>& shares) {
  std::vector<TimeReach> windows;
  std::vector<std::unique_ptr<JobPart>> parts(jobs.size());
  std::vector<std::size_t> window_of(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    Job& job = *jobs[j];
    Share& share = shares[j];
    if (!job.reach.timed) {
      job.fold_rows(sorted, share);
      require_results(sorted, job, share);
      continue;
    }
    const TimeReach& reach = job.reach.time;
    const auto same = [&](const TimeReach& other) { return other.reach == reach.reach; };
    const auto known = std::find_if(windows.begin(), windows.end(), same);
    window_of[j] = static_cast<std::size_t>(known - windows.begin());
    if (known == windows.end()) windows.push_back(reach);
    parts[j] = job.part(sorted, share);
  }
  if (windows.empty()) return;
  WindowFrames frames(sorted, windows, shares[0].first, shares[0].last, peers);
  while (frames.next()) {
    poll();
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      if (parts[j] == nullptr) continue;
      parts[j]->fold(frames.block(window_of[j]));
      jobs[j]->settle(frames.peers());
      require_results(sorted, *jobs[j], shares[j]);
    }
  }
}

// (rows, keeps_end), or (span, keeps_start, keeps_end) of a time window.
Reach reach_from(nb::handle window) {
  const auto given = nb::cast<nb::tuple>(window);
  const auto length = nb::cast<std::int64_t>(given[0]);
  if (length < 1) fail("ValueTypeError", "expected a window longer than 0");
  if (given.size() == 2) {
    return {false, static_cast<std::size_t>(length), {0, nb::cast<bool>(given[1])}};
  }
  const bool keeps_start = nb::cast<bool>(given[1]);
  return {true, 0, {keeps_start ? length : length - 1, nb::cast<bool>(given[2])}};
}

// The arrays of a Placing.
struct Placed {
  Column<std::uint32_t> places, order, moved_rows, moved_places;
  Placing placing;
  Placed(std::size_t rows, nb::handle by_input, nb::handle in_order, nb::handle moved) {
    placing.places = read(by_input, places, rows, rows);
    placing.order = read(in_order, order, rows, rows);
    if (moved.is_none()) return;
    const auto pair = nb::cast<nb::tuple>(moved);
    if (pair.size() != 2) fail("ValueTypeError", "expected a pair of arrays for moved");
    placing.moved = nb::len(nb::handle(pair[0]));
    placing.moved_rows = read(pair[0], moved_rows, placing.moved, rows);
    placing.moved_places = read(pair[1], moved_places, placing.moved, rows);
  }
  static const std::uint32_t* read(nb::handle given, Column<std::uint32_t>& column,
                                   std::size_t length, std::size_t rows) {
    if (given.is_none()) return nullptr;
    column = nb::cast<Column<std::uint32_t>>(given);
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < column.shape(0); ++i) most = std::max(most, column.data()[i]);
    if (column.shape(0) != length || (length > 0 && most >= rows)) {
      fail("ValueTypeError", "expected places of the rows of the column");
    }
    return column.data();
  }
};

// Calls work(share) for each share, the others beside the first.
template <class Work>
void in_shares(std::size_t shares, Work&& work) {
  std::vector<std::exception_ptr> failed(shares);
  std::atomic<bool> stopped = false;  // the calling thread was, so that nobody needs the others
  const auto share = [&](std::size_t s) noexcept {
    try {
      work(s);
    } catch (...) {
      failed[s] = std::current_exception();
    }
  };
  const auto other = [&](std::size_t s) noexcept {
    const auto check = [](void* flag) {
      if (static_cast<std::atomic<bool>*>(flag)->load(std::memory_order_relaxed)) throw Stopped{};
    };
    const Polled polled({check, &stopped});
    share(s);
  };
  std::vector<std::thread> others;
  for (std::size_t s = 1; s < shares; ++s) {
    try {
      others.emplace_back(other, s);
    } catch (const std::system_error&) {  // no thread to be had
      share(s);
    }
  }
  share(0);
  stopped = failed[0] != nullptr;  // its failure is the one that is told
  for (std::thread& thread : others) thread.join();
  for (const std::exception_ptr& failure : failed) {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
}

// Where the shares of the rows begin and end: never between peers.
std::vector<std::size_t> cuts_of(const SortedTimes& sorted, bool peers, std::size_t shares) {
  const std::size_t rows = sorted.rows();
  std::vector<std::size_t> cuts;
  for (std::size_t s = 0; s <= shares; ++s) {
    std::size_t cut = rows * s / shares;
    if (s > 0) cut = std::max(cut, cuts.back());
    if (peers && 0 < cut && cut < rows) {
      const std::size_t group = sorted.group_of(cut);
      while (cut > sorted.start(group) && cut < sorted.start(group + 1) &&
             sorted.times[cut] == sorted.times[cut - 1]) {
        ++cut;
      }
    }
    cuts.push_back(cut);
  }
  return cuts;
}

std::unique_ptr<Job> job_of(const JobSpec& spec) {
  for (const auto make : {row_job, number_job, pair_job}) {
    if (auto job = make(spec)) return job;
  }
  fail("ValueTypeError", spec.spec.name + " of " + spec.spec.dtype + " has no kernel over windows");
}

// One (results, valid) for each column, valid None if every row has a result. `windows` are (rows,
// keeps_end) or (span, keeps_start, keeps_end), `columns` are (index of its window, operator,
// values in order, valid or None, least values). First, last and nth take words of
// any meaning, and max_by and min_by a pair of words and keys; without words their results are rows
// in order. Rows that are not where the input has them: `places` or `order` of all of them, or
// `moved`, the rows of the input that changed places with peers, and where they are.
nb::list fold_windows(const Column<std::int64_t>& starts, const Column<std::int64_t>& times,
                      nb::list windows, nb::list columns, nb::handle places, nb::handle order,
                      nb::handle moved, std::size_t threads) {
  const SortedTimes sorted = sorted_times(starts, times);
  const std::size_t rows = times.shape(0);
  const Placed placed(rows, places, order, moved);
  const Placing& placing = placed.placing;
  std::vector<Reach> reaches;
  for (const nb::handle window : windows) reaches.push_back(reach_from(window));
  Presences presences(rows);
  Jobs jobs;
  bool timed = false;
  for (const nb::handle column : columns) {
    const auto described = nb::cast<nb::tuple>(column);
    const auto window = nb::cast<std::size_t>(described[0]);
    if (window >= reaches.size()) fail("ValueTypeError", "expected the index of a window");
    const Spec spec = spec_from(described[1]);
    // Nulls alone give no result, but can be counted. The n-th row from the end is one of n.
    auto least = nb::cast<std::size_t>(described[4]);
    const bool picks = spec.name == "first" || spec.name == "last" || spec.name == "nth";
    const bool counts = spec.name == "count";
    if (spec.name == "nth") {
      least = std::max(least, static_cast<std::size_t>(spec.number("n")));
    } else if (picks || (!counts && !nb::handle(described[3]).is_none())) {
      least = std::max<std::size_t>(least, 1);
    }
    const Presence present = presences.of(described[3], spec.name == "nth", counts, least);
    jobs.push_back(job_of({spec, described[2], rows, placing, present}));
    Job& job = *jobs.back();
    job.reach = reaches[window];
    job.present = present;
    job.least = least;
    job.enough = present.surely(least);
    timed |= job.reach.timed;
  }
  bool peers = false;
  if (timed && !scan_times(sorted, peers)) {
    fail("ValueTypeError", "expected times of a group that never decrease");
  }
  // A share of the rows starts with windows of its own.
  const std::vector<std::size_t> cuts =
      cuts_of(sorted, peers, std::max<std::size_t>(1, std::min(threads, rows)));
  std::vector<std::vector<Share>> shares;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    shares.emplace_back(jobs.size(), Share{cuts[s], cuts[s + 1], false, {}});
  }
  const auto missing = [&](std::size_t j) {
    const auto lacks = [&](const std::vector<Share>& share) { return share[j].missing; };
    return std::any_of(shares.begin(), shares.end(), lacks);
  };
  try {
    run_long(false, [&] {
      in_shares(shares.size(), [&](std::size_t s) { run(sorted, peers, jobs, shares[s]); });
      if (placing.places != nullptr) {
        in_shares(shares.size(), [&](std::size_t s) {
          for (std::size_t j = 0; j < jobs.size(); ++j) {
            jobs[j]->put_back(placing.places, cuts[s], cuts[s + 1], missing(j));
          }
        });
      } else if (placing.moved > 0) {
        // Peers have one result in a window of time.
        for (std::size_t j = 0; j < jobs.size(); ++j) {
          if (!jobs[j]->reach.timed) jobs[j]->put_moved(placing, missing(j));
        }
      }
    });
  } catch (const RowOverflow& overflow) {
    throw ResultOverflow(overflow.what, placing.input_row(overflow.row, rows));
  }
  nb::list found;
  for (std::size_t j = 0; j < jobs.size(); ++j) found.append(jobs[j]->finish(missing(j)));
  return found;
}

}  // namespace

void bind_fold_windows(nb::module_& m) {
  m.def("fold_windows", fold_windows, nb::arg("starts"), nb::arg("times"), nb::arg("windows"),
        nb::arg("columns"), nb::arg("places").none() = nb::none(),
        nb::arg("order").none() = nb::none(), nb::arg("moved").none() = nb::none(),
        nb::arg("threads") = 1);
}

}  // namespace slidefold::bindings
