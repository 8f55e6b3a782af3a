// Columns over several time windows in one pass.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <thread>

#include "arrays.hpp"
#include "registry.hpp"
#include "signals.hpp"
#include "slidefold/columns/time_windows.hpp"

namespace slidefold::bindings {
namespace {

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A result that does not fit, with its row in order.
struct RowOverflow {
  std::size_t row;
  std::string what;
};

// A share of the rows of one column, folded block by block.
struct Part {
  virtual ~Part() = default;
  virtual void fold(const FrameBlock& block) = 0;
  std::vector<std::uint32_t> missing;  // rows without a result
  std::vector<RowOverflow> beyond;     // of the last block: an error, unless they hold too few rows
};

// One column of results. The rows of a share are its own, so that shares run beside one another.
struct Job {
  std::size_t window = 0;
  std::int64_t least = 0;  // rows in a window, or there is no result
  virtual ~Job() = default;
  virtual std::unique_ptr<Part> part(const SortedTimes& sorted, TimeReach window, std::size_t first,
                                     std::size_t last) = 0;
  virtual void blank(std::size_t row) = 0;
  // The results of rows in order go to the rows of the input: that of i is at places[i].
  virtual void put_back(const std::uint32_t* places, std::size_t first, std::size_t last) = 0;
  virtual nb::object finish() = 0;
};

// Results in order, and as the input has its rows if that is another order. Rows of many groups
// that come in order of time are read back group by group at once: 3x as fast as to write them to
// where they belong one by one.
template <class T>
struct Results {
  Buffer<T> sorted;
  FreshArray<T> found;
  T* data;
  Results(std::size_t rows, bool moved)
      : sorted(moved ? rows : 0),
        found(fresh_array<T>(rows)),
        data(moved ? sorted.data() : found.data) {}
  void put_back(const std::uint32_t* places, std::size_t first, std::size_t last) {
    in_blocks(first, last, [&](std::size_t row) { found.data[row] = data[places[row]]; });
  }
};

template <class Op>
struct LiftRow {
  const Op& op;
  const Reader<typename Op::In>& values;
  typename Op::State operator()(std::size_t row) const { return op.lift(values[row]); }
};

template <class Op>
struct EmitRow {
  const Op& op;
  typename Op::Out* results;
  Part& part;
  void operator()(std::size_t row, const typename Op::State& state, bool empty) const {
    if (empty || !defined(op, state)) {
      results[row] = {};
      part.missing.push_back(static_cast<std::uint32_t>(row));
      return;
    }
    if constexpr (fallible_v<Op>) {
      try {
        results[row] = op.lower(state);
      } catch (const ResultOverflow& error) {
        results[row] = {};
        part.beyond.push_back({row, error.what()});
      }
    } else {
      results[row] = op.lower(state);
    }
  }
};

template <class Op, class Lift, class Emit>
struct Kernel {
  using type = TwoStacksBlocks<Op, Lift, Emit>;
};
template <Invertible Op, class Lift, class Emit>
struct Kernel<Op, Lift, Emit> {
  using type = InvertibleBlocks<Op, Lift, Emit>;
};

template <class Op>
struct PartOf final : Part {
  typename Kernel<Op, LiftRow<Op>, EmitRow<Op>>::type kernel;
  PartOf(const LiftRow<Op>& lift, typename Op::Out* results, const SortedTimes& sorted,
         TimeReach window, std::size_t first, std::size_t last)
      : kernel(lift.op, sorted, window, first, last, lift, EmitRow<Op>{lift.op, results, *this}) {}
  void fold(const FrameBlock& block) override { kernel.fold(block); }
};

template <class Op>
struct JobOf final : Job {
  Op op;
  Reader<typename Op::In> values;
  Results<typename Op::Out> results;
  JobOf(const Op& which, nb::handle given, std::size_t rows, bool moved)
      : op(which), values(given), results(rows, moved) {
    if (values.size() != rows || values.any_null()) {
      fail("ValueTypeError", "an array of " + std::to_string(rows) + " values is due");
    }
  }
  std::unique_ptr<Part> part(const SortedTimes& sorted, TimeReach reach, std::size_t first,
                             std::size_t last) override {
    return std::make_unique<PartOf<Op>>(LiftRow<Op>{op, values}, results.data, sorted, reach, first,
                                        last);
  }
  void blank(std::size_t row) override { results.data[row] = {}; }
  void put_back(const std::uint32_t* places, std::size_t first, std::size_t last) override {
    results.put_back(places, first, last);
  }
  nb::object finish() override { return results.found.array; }
};

// The bounds say how many rows there are.
struct CountJob final : Job {
  Results<std::int64_t> counts;
  CountJob(std::size_t rows, bool moved) : counts(rows, moved) {}
  struct Counting final : Part {
    CountJob& job;
    explicit Counting(CountJob& whose) : job(whose) {}
    void fold(const FrameBlock& block) override {
      for (std::size_t i = 0; i < block.end - block.begin; ++i) {
        job.counts.data[block.begin + i] = std::int64_t{block.hi[i]} - block.lo[i];
      }
    }
  };
  std::unique_ptr<Part> part(const SortedTimes&, TimeReach, std::size_t, std::size_t) override {
    return std::make_unique<Counting>(*this);
  }
  void blank(std::size_t row) override { counts.data[row] = 0; }
  void put_back(const std::uint32_t* places, std::size_t first, std::size_t last) override {
    counts.put_back(places, first, last);
  }
  nb::object finish() override { return counts.found.array; }
};

std::unique_ptr<Job> job_of(nb::handle op, nb::handle values, std::size_t rows, bool moved) {
  const Spec spec = spec_from(op);
  if (spec.name == "count") return std::make_unique<CountJob>(rows, moved);
  auto job = with_hot_operator(spec, [&](auto hot) -> std::unique_ptr<Job> {
    using Op = decltype(hot);
    if constexpr (std::is_arithmetic_v<typename Op::In>) {
      return std::make_unique<JobOf<Op>>(hot, values, rows, moved);
    } else {
      return nullptr;
    }
  });
  if (job == nullptr) fail("ValueTypeError", spec.name + " has no kernel over time windows");
  return job;
}

using Jobs = std::vector<std::unique_ptr<Job>>;
using Missing = std::vector<std::vector<std::uint32_t>>;  // each column's rows without a result

// Folds the rows first to last of all columns.
Missing run(const SortedTimes& sorted, const std::vector<TimeReach>& windows, const Jobs& jobs,
            std::size_t first, std::size_t last) {
  std::vector<std::unique_ptr<Part>> parts;
  for (const auto& job : jobs)
    parts.push_back(job->part(sorted, windows[job->window], first, last));
  WindowFrames frames(sorted, windows, first, last);
  while (frames.next()) {
    poll();
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      Job& job = *jobs[j];
      const FrameBlock block = frames.block(job.window);
      parts[j]->fold(block);
      for (const RowOverflow& overflow : parts[j]->beyond) {
        const std::size_t i = overflow.row - block.begin;
        if (std::int64_t{block.hi[i]} - block.lo[i] >= job.least) throw RowOverflow(overflow);
      }
      parts[j]->beyond.clear();
      if (job.least == 0) continue;
      for (std::size_t i = 0; i < block.end - block.begin; ++i) {
        if (std::int64_t{block.hi[i]} - block.lo[i] >= job.least) continue;
        job.blank(block.begin + i);
        parts[j]->missing.push_back(static_cast<std::uint32_t>(block.begin + i));
      }
    }
  }
  Missing missing;
  for (const auto& part : parts) missing.push_back(std::move(part->missing));
  return missing;
}

SortedTimes sorted_from(const Column<std::int64_t>& starts, const Column<std::int64_t>& times) {
  const std::size_t rows = times.shape(0);
  const std::int64_t* const start = starts.data();
  if (starts.shape(0) == 0 || start[0] != 0 ||
      start[starts.shape(0) - 1] != static_cast<std::int64_t>(rows)) {
    fail("ValueTypeError", "the starts of groups go from 0 to the number of rows");
  }
  if (!std::is_sorted(start, start + starts.shape(0))) {
    fail("ValueTypeError", "the starts of groups go up");
  }
  if (rows >= std::numeric_limits<std::int32_t>::max()) {
    fail("ValueTypeError", "a column has fewer than 2**31 rows, got " + std::to_string(rows));
  }
  const SortedTimes sorted{times.data(), start, starts.shape(0) - 1};
  if (!sorted.in_order()) fail("ValueTypeError", "the times of a group go up");
  return sorted;
}

std::vector<TimeReach> windows_from(nb::list windows) {
  std::vector<TimeReach> found;
  for (const nb::handle window : windows) {
    const auto [span, keeps_start, keeps_end] = [&] {
      const auto given = nb::cast<nb::tuple>(window);
      return std::tuple(nb::cast<std::int64_t>(given[0]), nb::cast<bool>(given[1]),
                        nb::cast<bool>(given[2]));
    }();
    if (span < 1) fail("ValueTypeError", "a window is longer than 0");
    found.push_back({keeps_start ? span : span - 1, keeps_end});
  }
  return found;
}

// Calls work(first, last) for each share of the rows, the others beside the first.
template <class Work>
void in_shares(std::size_t rows, std::size_t shares, Work&& work) {
  std::vector<std::exception_ptr> failed(shares);
  std::atomic<bool> stopped = false;  // the calling thread was, so that nobody needs the others
  const auto share = [&](std::size_t s) noexcept {
    try {
      work(s, rows * s / shares, rows * (s + 1) / shares);
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

// Which rows have a result, as the input has them; None if all.
nb::object valid_rows(const std::vector<Missing>& missing, std::size_t column, std::size_t rows,
                      const std::uint32_t* places) {
  const auto none = [&](const Missing& share) { return share[column].empty(); };
  if (std::all_of(missing.begin(), missing.end(), none)) return nb::none();
  std::vector<char> sorted(rows, 1);
  for (const Missing& share : missing) {
    for (const std::uint32_t row : share[column]) sorted[row] = 0;
  }
  const auto valid = fresh_array<bool>(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    valid.data[row] = sorted[places == nullptr ? row : places[row]] != 0;
  }
  return valid.array;
}

// One (results, valid) a column, valid None if every row has a result. `places` tell where the rows
// of the input are in order, None if they are. `windows` are (span, keeps_start, keeps_end),
// `columns` are (index of its window, operator, values in order, least rows).
nb::list fold_time_windows(const Column<std::int64_t>& starts, const Column<std::int64_t>& times,
                           nb::handle places, nb::list windows, nb::list columns,
                           std::size_t threads) {
  const SortedTimes sorted = sorted_from(starts, times);
  const std::size_t rows = times.shape(0);
  const std::vector<TimeReach> reaches = windows_from(std::move(windows));
  Column<std::uint32_t> given{};
  const std::uint32_t* place = nullptr;
  if (!places.is_none()) {
    given = nb::cast<Column<std::uint32_t>>(places);
    place = given.data();
    const auto beyond = [&](std::uint32_t row) { return row >= rows; };
    if (given.shape(0) != rows || std::any_of(place, place + rows, beyond)) {
      fail("ValueTypeError", "places are those of the rows of the column");
    }
  }
  Jobs jobs;
  for (const nb::handle column : columns) {
    const auto described = nb::cast<nb::tuple>(column);
    jobs.push_back(job_of(described[1], described[2], rows, place != nullptr));
    jobs.back()->window = nb::cast<std::size_t>(described[0]);
    jobs.back()->least = nb::cast<std::int64_t>(described[3]);
    if (jobs.back()->window >= reaches.size()) fail("ValueTypeError", "a column names its window");
  }
  // A share of the rows starts with windows of its own.
  const std::size_t shares = std::max<std::size_t>(1, threads);
  std::vector<Missing> missing(shares);
  try {
    run_long(false, [&] {
      in_shares(rows, shares, [&](std::size_t share, std::size_t first, std::size_t last) {
        missing[share] = run(sorted, reaches, jobs, first, last);
      });
      if (place == nullptr) return;
      in_shares(rows, shares, [&](std::size_t, std::size_t first, std::size_t last) {
        for (const auto& job : jobs) job->put_back(place, first, last);
      });
    });
  } catch (const RowOverflow& overflow) {
    std::size_t row = overflow.row;
    if (place != nullptr) {
      row = static_cast<std::size_t>(
          std::find(place, place + rows, static_cast<std::uint32_t>(row)) - place);
    }
    throw ResultOverflow(overflow.what, row);
  }
  nb::list found;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    found.append(nb::make_tuple(jobs[j]->finish(), valid_rows(missing, j, rows, place)));
  }
  return found;
}

// Values of 8 bytes, put where the order has their rows.
nb::object put_in_order(const Column<std::int64_t>& values, const Column<std::uint32_t>& places) {
  const std::size_t rows = values.shape(0);
  if (places.shape(0) != rows) fail("ValueTypeError", "values and places differ in length");
  const auto found = fresh_array<std::int64_t>(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint32_t place = places.data()[row];
    if (place >= rows) fail("ValueTypeError", "places are those of the rows of the column");
    found.data[place] = values.data()[row];
  }
  return found.array;
}

}  // namespace

void bind_time_windows(nb::module_& m) {
  m.def("fold_time_windows", fold_time_windows, nb::arg("starts"), nb::arg("times"),
        nb::arg("places").none(), nb::arg("windows"), nb::arg("columns"), nb::arg("threads") = 1);
  m.def("put_in_order", put_in_order, nb::arg("values"), nb::arg("places"));
}

}  // namespace slidefold::bindings
