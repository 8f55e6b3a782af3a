// Frames of whole columns, and their folds.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "fold_static.hpp"
#include "registry.hpp"
#include "signals.hpp"
#include "slidefold/columns/frames.hpp"
#include "sorted_times.hpp"

namespace slidefold::bindings {
namespace {

std::pair<nb::object, nb::object> frames_of(const Whole& starts, const Whole& times,
                                            std::int64_t span, bool keeps_start, bool keeps_end) {
  const std::size_t rows = times.shape(0);
  const std::int64_t* const start = sorted_times(starts, times).starts;
  if (span < 1) fail("ValueTypeError", "a window is longer than 0");
  const auto lo = fresh_array<std::int64_t>(rows), hi = fresh_array<std::int64_t>(rows);
  run_long(false, [&] {
    RowPoll polled;
    for (std::size_t g = 1; g < starts.shape(0); ++g) {
      polled(static_cast<std::size_t>(start[g] - start[g - 1]));
      time_frames(times.data(), static_cast<std::size_t>(start[g - 1]),
                  static_cast<std::size_t>(start[g]), {keeps_start ? span : span - 1, keeps_end},
                  lo.data, hi.data);
    }
  });
  return {lo.array, hi.array};
}

std::pair<nb::object, nb::object> reach_frames_of(const Whole& starts, const Whole& times,
                                                  std::int64_t oldest, std::int64_t newest) {
  const std::size_t rows = times.shape(0);
  const std::int64_t* const start = sorted_times(starts, times).starts;
  const auto lo = fresh_array<std::int64_t>(rows), hi = fresh_array<std::int64_t>(rows);
  run_long(false, [&] {
    for (std::size_t g = 1; g < starts.shape(0); ++g) {
      reach_frames(times.data(), static_cast<std::size_t>(start[g - 1]),
                   static_cast<std::size_t>(start[g]), oldest, newest, lo.data, hi.data);
    }
  });
  return {lo.array, hi.array};
}

// The last `most` rows of the group up to each row, or before it.
std::pair<nb::object, nb::object> rows_frames_of(const Whole& starts, const Whole& times,
                                                 std::int64_t most, bool keeps_end) {
  const std::size_t rows = times.shape(0);
  const SortedTimes sorted = sorted_times(starts, times);
  const std::int64_t* const start = sorted.starts;
  const auto lo = fresh_array<std::int64_t>(rows), hi = fresh_array<std::int64_t>(rows);
  run_long(false, [&] {
    RowPoll polled;
    for (std::size_t g = 0; g < sorted.groups; ++g) {
      polled(static_cast<std::size_t>(start[g + 1] - start[g]));
      for (std::int64_t row = start[g]; row < start[g + 1]; ++row) {
        hi.data[row] = row + (keeps_end ? 1 : 0);
        lo.data[row] = std::max(hi.data[row] - most, start[g]);
      }
    }
  });
  return {lo.array, hi.array};
}

// (results, valid) of the frames lo[i] to hi[i] over a column without nulls.
nb::object fold_frames_of(const std::string& algorithm, nb::handle op, nb::handle values,
                          const Whole& lo, const Whole& hi) {
  if (lo.shape(0) != hi.shape(0)) {
    fail("ValueTypeError", "lo and hi differ in length: " + std::to_string(lo.shape(0)) + " and " +
                               std::to_string(hi.shape(0)));
  }
  nb::object found =
      fold_static(algorithm, spec_from(op), values, {lo.data(), hi.data(), lo.shape(0)});
  if (found.is_valid()) return found;
  Options options;
  options.erased = true;
  return make_face(algorithm, op, options)->fold(values, lo.data(), hi.data(), lo.shape(0));
}

}  // namespace

void bind_columns(nb::module_& m) {
  m.def("time_frames", frames_of);
  m.def("reach_frames", reach_frames_of, nb::arg("starts"), nb::arg("times"), nb::arg("oldest"),
        nb::arg("newest"));
  m.def("rows_frames", rows_frames_of, nb::arg("starts"), nb::arg("times"), nb::arg("most"),
        nb::arg("keeps_end"));
  m.def("fold_frames", fold_frames_of, nb::arg("algorithm"), nb::arg("op"),
        nb::arg("values").none(), nb::arg("lo"), nb::arg("hi"));
}

}  // namespace slidefold::bindings
