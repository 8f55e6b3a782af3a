// Whole columns: the order of rows, their frames, and the folds of those.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <limits>

#include "arrays.hpp"
#include "fold_static.hpp"
#include "registry.hpp"
#include "signals.hpp"
#include "slidefold/columns/frames.hpp"
#include "slidefold/columns/sort.hpp"

namespace slidefold::bindings {
namespace {

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Whole = Column<std::int64_t>;

void require_length(std::size_t length, std::size_t rows, const char* what) {
  if (length == rows) return;
  fail("ValueTypeError", std::string(what) + " differ in length: " + std::to_string(length) +
                             " and " + std::to_string(rows));
}
void require_rows(std::size_t rows) {
  if (rows < std::numeric_limits<std::int32_t>::max()) return;
  fail("ValueTypeError", "a column has fewer than 2**31 rows, got " + std::to_string(rows));
}

// (order, times in order, starts): the stable order by group and time, both None if the rows are in
// it; groups are numbered below `count`, and starts tells where each one begins and all end. Asked
// for, there is a fourth: the place of each row in order.
nb::object order_rows_of(nb::handle groups, std::size_t count, const Whole& times,
                         bool with_places) {
  GroupedTimes given{times.shape(0), times.data()};
  require_rows(given.rows);
  Column<std::int32_t> by{};
  if (!groups.is_none()) {
    by = nb::cast<Column<std::int32_t>>(groups);
    require_length(by.shape(0), given.rows, "groups and times");
    given.groups = by.data();
    given.count = count;
    for (std::size_t i = 0; i < given.rows; ++i) {
      if (given.groups[i] < 0 || static_cast<std::size_t>(given.groups[i]) >= count) {
        fail("ValueTypeError", "a group is not numbered below " + std::to_string(count));
      }
    }
  }
  const auto starts = fresh_array<std::int64_t>(given.groups != nullptr ? count + 1
                                                : given.rows > 0        ? 2
                                                                        : 1);
  if (given.groups != nullptr) {
    given.count_groups(starts.data);
  } else {
    starts.data[0] = 0;
    if (given.rows > 0) starts.data[1] = static_cast<std::int64_t>(given.rows);
  }
  const auto found = [&](nb::object order, nb::object in_order, nb::object places) -> nb::object {
    if (!with_places) return nb::make_tuple(order, in_order, starts.array);
    return nb::make_tuple(order, in_order, starts.array, places);
  };
  if (given.in_order()) return found(nb::none(), nb::none(), nb::none());
  const auto order = fresh_array<std::uint32_t>(given.rows);
  const auto places = fresh_array<std::uint32_t>(given.rows);
  const auto in_order = fresh_array<std::int64_t>(given.rows);
  run_long(false, [&] { sort_rows(given, starts.data, order.data, places.data, in_order.data); });
  return found(order.array, in_order.array, places.array);
}

// (numbers, how many) of integer keys, None if they lie too far apart.
nb::object number_keys_of(const Whole& keys) {
  require_rows(keys.shape(0));
  const auto found = fresh_array<std::int32_t>(keys.shape(0));
  const std::size_t count = number_keys(keys.data(), keys.shape(0), found.data);
  if (count == 0) return nb::none();
  return nb::make_tuple(found.array, count);
}

// Values in order, put back to the rows that they belong to; any type of 8 bytes.
nb::object put_back(const Whole& values, const Column<std::uint32_t>& order) {
  const std::size_t rows = values.shape(0);
  require_length(order.shape(0), rows, "order and values");
  const auto found = fresh_array<std::int64_t>(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint32_t row = order.data()[i];
    if (row >= rows) fail("ValueTypeError", "an order names rows of the column only");
    found.data[row] = values.data()[i];
  }
  return found.array;
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
  m.def("order_rows", order_rows_of, nb::arg("groups").none(), nb::arg("count"), nb::arg("times"),
        nb::arg("with_places") = false);
  m.def("number_keys", number_keys_of);
  m.def("put_back", put_back);
  m.def("time_frames", frames_of);
  m.def("fold_frames", fold_frames_of, nb::arg("algorithm"), nb::arg("op"),
        nb::arg("values").none(), nb::arg("lo"), nb::arg("hi"));
}

}  // namespace slidefold::bindings
