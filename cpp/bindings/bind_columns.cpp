// Whole columns: the order of rows, their frames, and the folds of those.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <limits>

#include "registry.hpp"
#include "slidefold/columns/frames.hpp"
#include "slidefold/columns/sort.hpp"
#include "times.hpp"

namespace slidefold::bindings {
namespace {

using Whole = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::object numbers(std::size_t rows) {
  return nb::module_::import_("numpy").attr("empty")(rows, "int64");
}
std::int64_t* data_of(const nb::object& array) {
  return nb::cast<nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig>>(array).data();
}

// The stable order by group and time; None if the rows are in it.
nb::object sort_rows(nb::handle groups, const Whole& times) {
  const std::size_t rows = times.shape(0);
  if (rows >= std::numeric_limits<std::uint32_t>::max()) {
    fail("ValueTypeError", "a column has fewer than 2**32 rows, got " + std::to_string(rows));
  }
  Whole by{};
  if (!groups.is_none()) {
    by = nb::cast<Whole>(groups);
    if (by.shape(0) != rows) {
      fail("ValueTypeError", "groups and times differ in length: " + std::to_string(by.shape(0)) +
                                 " and " + std::to_string(rows));
    }
  }
  RowSort sort(rows);
  {
    nb::gil_scoped_release without_gil;
    sort.by(times.data());
    if (!groups.is_none()) sort.by(by.data());
  }
  if (sort.order().empty()) return nb::none();
  nb::object result = numbers(rows);
  std::copy(sort.order().begin(), sort.order().end(), data_of(result));
  return result;
}

std::pair<nb::object, nb::object> frames_of(const Whole& starts, const Whole& times,
                                            std::int64_t span, bool keeps_start, bool keeps_end) {
  const std::size_t rows = times.shape(0);
  const std::int64_t* const start = starts.data();
  if (starts.shape(0) == 0 || start[0] != 0 ||
      start[starts.shape(0) - 1] != static_cast<std::int64_t>(rows)) {
    fail("ValueTypeError", "the starts of groups go from 0 to the number of rows");
  }
  for (std::size_t g = 1; g < starts.shape(0); ++g) {
    if (start[g] < start[g - 1]) fail("ValueTypeError", "the starts of groups go up");
  }
  nb::object lo = numbers(rows), hi = numbers(rows);
  std::int64_t *const from = data_of(lo), *const to = data_of(hi);
  const auto first = [&](std::int64_t end) {
    const int128 time = static_cast<int128>(end) - span + (keeps_start ? 0 : 1);
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    return time < least ? least : static_cast<std::int64_t>(time);
  };
  const auto last = [&](std::int64_t end) { return last_inside(end, keeps_end); };
  nb::gil_scoped_release without_gil;
  for (std::size_t g = 1; g < starts.shape(0); ++g) {
    time_frames(times.data(), static_cast<std::size_t>(start[g - 1]),
                static_cast<std::size_t>(start[g]), first, last, from, to);
  }
  return {lo, hi};
}

// (results, valid) of the frames lo[i] to hi[i] over a column without nulls.
nb::object fold_frames_of(const std::string& algorithm, nb::handle op, nb::handle values,
                          const Whole& lo, const Whole& hi) {
  if (lo.shape(0) != hi.shape(0)) {
    fail("ValueTypeError", "lo and hi differ in length: " + std::to_string(lo.shape(0)) + " and " +
                               std::to_string(hi.shape(0)));
  }
  return make_face(algorithm, op, nb::dict())->fold(values, lo.data(), hi.data(), lo.shape(0));
}

}  // namespace

void bind_columns(nb::module_& m) {
  m.def("sort_rows", sort_rows, nb::arg("groups").none(), nb::arg("times"));
  m.def("time_frames", frames_of);
  m.def("fold_frames", fold_frames_of, nb::arg("algorithm"), nb::arg("op"),
        nb::arg("values").none(), nb::arg("lo"), nb::arg("hi"));
}

}  // namespace slidefold::bindings
