// The order of rows by group, time and ties, and moving rows to it and back.
#include <limits>

#include "arrays.hpp"
#include "signals.hpp"
#include "slidefold/columns/sort.hpp"
#include "slidefold/columns/ties.hpp"
#include "slidefold/operators/extremes.hpp"
#include "sorted_times.hpp"

namespace slidefold::bindings {
namespace {

void require_length(std::size_t length, std::size_t rows, const char* what) {
  if (length == rows) return;
  fail("ValueTypeError", std::string(what) + " differ in length: " + std::to_string(length) +
                             " and " + std::to_string(rows));
}
void require_rows(std::size_t rows) {
  if (rows < std::numeric_limits<std::int32_t>::max()) return;
  fail("ValueTypeError", "a column has fewer than 2**31 rows, got " + std::to_string(rows));
}

}  // namespace

SortedTimes sorted_times(const Whole& starts, const Whole& times) {
  const std::int64_t* const start = starts.data();
  const auto rows = static_cast<std::int64_t>(times.shape(0));
  if (starts.shape(0) == 0 || start[0] != 0 || start[starts.shape(0) - 1] != rows) {
    fail("ValueTypeError", "expected starts of groups from 0 to the number of rows");
  }
  if (!std::is_sorted(start, start + starts.shape(0))) {
    fail("ValueTypeError", "expected starts of groups that never decrease");
  }
  require_rows(times.shape(0));
  return {times.data(), start, starts.shape(0) - 1};
}

namespace {

template <class T>
nb::object array_of(const std::vector<T>& values) {
  const auto found = fresh_array<T>(values.size());
  std::copy(values.begin(), values.end(), found.data);
  return found.array;
}

// (order, times in order, starts, places, ties): the stable order by group and time. Groups are
// numbered below `count`, and starts tells where each one begins and all end. Order and times are
// None if the rows are in order; the place of each row in order is None if they are, or nearly so:
// then the order itself is as good for all uses. Ties, if `peers` are asked for and there are any:
// the places of rows of a group that have equal times, and where their runs begin and end.
nb::object order_rows_of(nb::handle groups, std::size_t count, const Whole& times, bool peers) {
  GroupedTimes given{times.shape(0), times.data()};
  require_rows(given.rows);
  Column<std::int32_t> by{};
  if (!groups.is_none()) {
    by = nb::cast<Column<std::int32_t>>(groups);
    require_length(by.shape(0), given.rows, "groups and times");
    given.groups = by.data();
    given.count = count;
    bool numbered = true;
    for (std::size_t i = 0; i < given.rows; ++i) {
      numbered &= static_cast<std::uint32_t>(given.groups[i]) < count;
    }
    if (!numbered) {
      fail("ValueTypeError", "expected groups numbered below " + std::to_string(count));
    }
  } else {
    count = given.rows > 0 ? 1 : 0;
  }
  const auto starts = fresh_array<std::int64_t>(count + 1);
  if (given.groups != nullptr) {
    given.count_groups(starts.data);
  } else {
    starts.data[0] = 0;
    starts.data[count] = static_cast<std::int64_t>(given.rows);
  }
  TiedRows ties;
  const auto scanned = [&](const std::int64_t* of) {
    bool tied = false;
    ties = {};
    return scan_times({of, starts.data, count}, tied, peers ? &ties : nullptr);
  };
  const auto tied = [&]() -> nb::object {
    if (ties.rows.empty()) return nb::none();
    return nb::make_tuple(array_of(ties.rows), array_of(ties.runs));
  };
  bool rising = given.groups == nullptr || given.grouped();
  if (rising) run_long(false, [&] { rising = scanned(given.times); });
  if (rising) return nb::make_tuple(nb::none(), nb::none(), starts.array, nb::none(), tied());
  const auto order = fresh_array<std::uint32_t>(given.rows);
  const auto places = fresh_array<std::uint32_t>(given.rows);
  const auto in_order = fresh_array<std::int64_t>(given.rows);
  bool placed = false;
  run_long(false, [&] {
    placed = sort_rows(given, starts.data, order.data, places.data, in_order.data);
    if (peers) (void)scanned(in_order.data);
  });
  return nb::make_tuple(order.array, in_order.array, starts.array,
                        placed ? places.array : nb::none(), tied());
}

// (order, rows, runs) by the keys of tied rows: how each run is to be ordered, None if it is, and
// which rows are still equal then, as runs of the ordered ones. Floats: -0.0 is 0.0, NaN comes
// last.
nb::object order_ties_of(nb::handle keys, const Column<std::uint32_t>& runs) {
  const std::size_t count = runs.shape(0) == 0 ? 0 : runs.shape(0) - 1;
  const auto ordered_by = [&](const std::int64_t* values, std::size_t rows) {
    const std::uint32_t* const run = runs.data();
    if (!std::is_sorted(run, run + runs.shape(0)) || (count > 0 && run[count] != rows)) {
      fail("ValueTypeError", "expected runs of the rows that have keys");
    }
    OrderedTies found;
    run_long(false, [&] { found = order_ties(values, run, count); });
    return nb::make_tuple(found.moved ? array_of(found.order) : nb::none(),
                          array_of(found.equal.rows), array_of(found.equal.runs));
  };
  Whole integers;
  if (nb::try_cast(keys, integers, false)) {
    return ordered_by(integers.data(), integers.shape(0));
  }
  const auto reals = nb::cast<Column<double>>(keys);
  Buffer<std::int64_t> ordered(reals.shape(0));
  for (std::size_t i = 0; i < ordered.size(); ++i) ordered[i] = key_of(reals.data()[i]);
  return ordered_by(ordered.data(), ordered.size());
}

// (numbers, how many) of integer keys, None if they lie too far apart.
nb::object number_keys_of(const Whole& keys) {
  require_rows(keys.shape(0));
  const auto found = fresh_array<std::int32_t>(keys.shape(0));
  const std::size_t count = number_keys(keys.data(), keys.shape(0), found.data);
  if (count == 0) return nb::none();
  return nb::make_tuple(found.array, count);
}

// ---- moving rows of any type of 1, 2, 4, 8 or 16 bytes ------------------------------------------

using Bytes = Column<std::uint8_t>;
using Places = Column<std::uint32_t>;
struct Wide {
  std::uint64_t low, high;
};

// Calls move(values, found, rows) with values of that many bytes; `size` is that of the result.
template <class Move>
nb::object moved_bytes(const Bytes& data, std::size_t width, std::size_t size, Move&& move) {
  const auto found = fresh_array<std::uint8_t>(size * width);
  const auto as = [&](auto type) {
    using T = decltype(type);
    if (data.shape(0) % width != 0) fail("ValueTypeError", "expected whole values");
    run_long(false, [&] {
      move(reinterpret_cast<const T*>(data.data()), reinterpret_cast<T*>(found.data),
           data.shape(0) / width);
    });
  };
  switch (width) {
    case 1:
      as(std::uint8_t{});
      break;
    case 2:
      as(std::uint16_t{});
      break;
    case 4:
      as(std::uint32_t{});
      break;
    case 8:
      as(std::uint64_t{});
      break;
    case 16:
      as(Wide{});
      break;
    default:
      fail("ValueTypeError",
           "expected values of 1, 2, 4, 8 or 16 bytes, got " + std::to_string(width));
  }
  return found.array;
}

void require_places(const Places& places, std::size_t rows) {
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < places.shape(0); ++i) most = std::max(most, places.data()[i]);
  if (places.shape(0) > 0 && most >= rows) {
    fail("ValueTypeError", "expected rows of the column, got " + std::to_string(most) + " of " +
                               std::to_string(rows));
  }
}

// The values of these rows.
nb::object take_rows(const Bytes& data, std::size_t width, const Places& rows) {
  require_places(rows, width == 0 ? 0 : data.shape(0) / width);
  return moved_bytes(data, width, rows.shape(0), [&](const auto* values, auto* found, std::size_t) {
    const std::uint32_t* const row = rows.data();
    // Rows nearly in order are read ahead but for a few from far away.
    constexpr std::size_t kAhead = 64;
    const std::size_t last = rows.shape(0) - std::min<std::size_t>(rows.shape(0), 1);
    in_blocks(0, rows.shape(0), [&](std::size_t i) {
      __builtin_prefetch(values + row[std::min(i + kAhead, last)]);
      found[i] = values[row[i]];
    });
  });
}

// The values, each at its place.
nb::object place_rows(const Bytes& data, std::size_t width, const Places& places) {
  const std::size_t size = places.shape(0);
  require_length(width == 0 ? 0 : data.shape(0) / width, size, "values and places");
  require_places(places, size);
  return moved_bytes(data, width, size, [&](const auto* values, auto* found, std::size_t) {
    const std::uint32_t* const place = places.data();
    in_blocks(0, size, [&](std::size_t i) { found[place[i]] = values[i]; });
  });
}

// The values, those of some rows at other places.
nb::object move_rows(const Bytes& data, std::size_t width, const Places& rows,
                     const Places& places) {
  const std::size_t size = width == 0 ? 0 : data.shape(0) / width;
  require_length(rows.shape(0), places.shape(0), "rows and places");
  require_places(rows, size);
  require_places(places, size);
  return moved_bytes(data, width, size, [&](const auto* values, auto* found, std::size_t count) {
    std::copy(values, values + count, found);
    for (std::size_t i = 0; i < rows.shape(0); ++i) {
      found[places.data()[i]] = values[rows.data()[i]];
    }
  });
}

}  // namespace

void bind_order(nb::module_& m) {
  m.def("order_rows", order_rows_of, nb::arg("groups").none(), nb::arg("count"), nb::arg("times"),
        nb::arg("peers") = false);
  m.def("order_ties", order_ties_of, nb::arg("keys"), nb::arg("runs"));
  m.def("number_keys", number_keys_of);
  m.def("take_rows", take_rows, nb::arg("data"), nb::arg("width"), nb::arg("rows"));
  m.def("place_rows", place_rows, nb::arg("data"), nb::arg("width"), nb::arg("places"));
  m.def("move_rows", move_rows, nb::arg("data"), nb::arg("width"), nb::arg("rows"),
        nb::arg("places"));
}

}  // namespace slidefold::bindings
