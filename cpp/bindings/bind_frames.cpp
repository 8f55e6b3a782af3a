// Kernels over frames of whole columns that fold nothing: order statistics, distinct counts, the
// largest values.
#include <nanobind/stl/string.h>

#include <limits>

#include "arrays.hpp"
#include "order.hpp"
#include "registry.hpp"
#include "slidefold/columns/distinct_frames.hpp"
#include "slidefold/columns/frames.hpp"
#include "slidefold/columns/rank_frames.hpp"
#include "slidefold/columns/top_frames.hpp"

namespace slidefold::bindings {
namespace {

using Bounds = Column<std::int64_t>;

// One result a frame, and whether there is one.
template <class T>
struct Results {
  nb::object data, valid;
  T* values;
  bool* flags;
  explicit Results(std::size_t frames) {
    const auto results = fresh_array<T>(frames);
    const auto present = fresh_array<bool>(frames);
    std::fill_n(values = results.data, frames, T{});
    std::fill_n(flags = present.data, frames, false);
    data = results.array;
    valid = present.array;
  }
  void set(std::size_t frame, T value) {
    values[frame] = value;
    flags[frame] = true;
  }
  nb::object both() const { return nb::make_tuple(data, valid); }
};

void require_bounds(const Bounds& lo, const Bounds& hi, std::size_t rows) {
  if (lo.shape(0) != hi.shape(0)) {
    fail("ValueTypeError", "lo and hi differ in length: " + std::to_string(lo.shape(0)) + " and " +
                               std::to_string(hi.shape(0)));
  }
  require_frames({lo.data(), hi.data(), lo.shape(0)}, rows);
  if (rows >= std::numeric_limits<std::uint32_t>::max()) {
    fail("ValueTypeError", "a column has fewer than 2**32 rows, got " + std::to_string(rows));
  }
}

template <class T, class Out, class Lerp>
nb::object quantiles(const T* values, std::size_t rows, const Bounds& lo, const Bounds& hi,
                     const Quantile& quantile, Lerp&& between) {
  Results<Out> results(lo.shape(0));
  run_long(false, [&] {
    Buffer<std::int64_t> keys(rows);
    in_blocks(0, rows, [&](std::size_t row) { keys[row] = key_of(values[row]); });
    std::size_t size = 0;  // whose place is known
    Quantile::Place place{};
    rank_frames(
        keys.data(), lo.data(), hi.data(), lo.shape(0),
        [&](std::size_t, std::size_t n) {
          if (n != size) place = quantile.place(size = n);
          return place.k;
        },
        [&](std::size_t frame, std::int64_t key, std::int64_t next) {
          results.set(frame, between(value_of<T>(key), value_of<T>(next), place.share));
        });
  });
  return results.both();
}

// (results, valid): floats, or of integers integers if they are picked or `whole`.
nb::object quantile_frames(nb::handle values, const Bounds& lo, const Bounds& hi, double q,
                           const std::string& between, bool whole) {
  const Quantile quantile{q, between_from(between)};
  Column<double> reals;
  if (nb::try_cast(values, reals, false)) {
    require_bounds(lo, hi, reals.shape(0));
    return quantiles<double, double>(
        reals.data(), reals.shape(0), lo, hi, quantile,
        [](double a, double b, double share) { return lerp(a, b, share); });
  }
  Column<std::int64_t> integers;
  if (!nb::try_cast(values, integers, false)) {
    fail("ValueTypeError", "expected an array of float64 or int64, got " +
                               std::string(Py_TYPE(values.ptr())->tp_name));
  }
  const std::size_t rows = integers.shape(0);
  require_bounds(lo, hi, rows);
  if (whole || quantile.picks()) {
    return quantiles<std::int64_t, std::int64_t>(integers.data(), rows, lo, hi, quantile,
                                                 lerp_whole);
  }
  return quantiles<std::int64_t, double>(
      integers.data(), rows, lo, hi, quantile,
      [](std::int64_t a, std::int64_t b, double share) { return lerp(a, b, share); });
}

template <class T>
nb::object distinct(const HyperLogLog& op, nb::handle values, const Bounds& lo, const Bounds& hi) {
  const Reader<T> reader(values);
  require_bounds(lo, hi, reader.size());
  Results<std::int64_t> results(lo.shape(0));
  run_long(false, [&] {
    std::vector<HyperLogLog::Entry> entries(reader.size());
    in_blocks(0, entries.size(),
              [&](std::size_t row) { entries[row] = op.lift(hash_value(reader[row])).one; });
    slidefold::distinct_frames(
        op, lo.data(), hi.data(), lo.shape(0), [&](std::size_t row) { return entries[row]; },
        [&](std::size_t frame, std::int64_t found) { results.set(frame, found); });
  });
  return results.both();
}

// (results, valid) of approx_distinct.
nb::object distinct_frames_of(nb::handle op, nb::handle values, const Bounds& lo,
                              const Bounds& hi) {
  const Spec spec = spec_from(op);
  HyperLogLog sketch;
  sketch.precision = static_cast<unsigned>(spec.number("precision"));
  if (spec.dtype == "str") return distinct<std::string>(sketch, values, lo, hi);
  if (spec.dtype == "int64") return distinct<std::int64_t>(sketch, values, lo, hi);
  return distinct<double>(sketch, values, lo, hi);
}

template <class T>
nb::object top_lists(const T* values, std::size_t rows, const Bounds& lo, const Bounds& hi,
                     std::size_t k) {
  require_bounds(lo, hi, rows);
  const std::size_t frames = lo.shape(0);
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::object offsets = numpy.attr("empty")(frames + 1, "int64");
  auto* const ends = nb::cast<nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig>>(offsets).data();
  ends[0] = 0;
  for (std::size_t i = 0; i < frames; ++i) {
    const std::size_t count = top_count(lo.data()[i], hi.data()[i], k);
    ends[i + 1] = ends[i] + static_cast<std::int64_t>(count);
  }
  const nb::object lists = numpy.attr("empty")(ends[frames], Value<T>::name);
  T* const found = nb::cast<nb::ndarray<T, nb::ndim<1>, nb::c_contig>>(lists).data();
  run_long(false, [&] {
    Buffer<std::int64_t> keys(rows), tops(static_cast<std::size_t>(ends[frames]));
    for (std::size_t row = 0; row < rows; ++row) keys[row] = ordered(values[row]);
    top_frames(keys.data(), lo.data(), hi.data(), frames, k, tops.data());
    for (std::size_t i = 0; i < tops.size(); ++i) found[i] = value_of<T>(tops[i]);
  });
  return nb::make_tuple(lists, offsets);
}

// (values, where each list ends): the k largest of each frame, the largest first.
nb::object top_frames_of(nb::handle values, const Bounds& lo, const Bounds& hi, std::size_t k) {
  Column<double> reals;
  if (nb::try_cast(values, reals, false)) {
    return top_lists(reals.data(), reals.shape(0), lo, hi, k);
  }
  Column<std::int64_t> integers;
  if (!nb::try_cast(values, integers, false)) {
    fail("ValueTypeError", "expected an array of float64 or int64, got " +
                               std::string(Py_TYPE(values.ptr())->tp_name));
  }
  return top_lists(integers.data(), integers.shape(0), lo, hi, k);
}

// How many rows of each frame are in each of `count` bins, as one array.
nb::object count_frames(const Bounds& bins, const Bounds& lo, const Bounds& hi, std::size_t count) {
  const std::size_t rows = bins.shape(0), frames = lo.shape(0);
  require_bounds(lo, hi, rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int64_t bin = bins.data()[row];
    if (bin < -1 || bin >= static_cast<std::int64_t>(count)) {
      fail("ValueTypeError", "a bin is numbered below " + std::to_string(count) + ", or -1");
    }
  }
  nb::object found = nb::module_::import_("numpy").attr("empty")(frames * count, "int64");
  auto* const out = nb::cast<nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig>>(found).data();
  run_long(false, [&] { count_bins(bins.data(), lo.data(), hi.data(), frames, count, out); });
  return found;
}

// (rows, where those of each frame end): the rows of each frame without those that repeat a value.
nb::object distinct_rows(const Bounds& before, const Bounds& lo, const Bounds& hi) {
  const std::size_t frames = lo.shape(0);
  require_bounds(lo, hi, before.shape(0));
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::object offsets = numpy.attr("zeros")(frames + 1, "int64");
  auto* const ends = nb::cast<nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig>>(offsets).data();
  run_long(false, [&] {
    first_rows(before.data(), lo.data(), hi.data(), frames,
               [&](std::size_t frame, std::int64_t) { ++ends[frame + 1]; });
    for (std::size_t i = 0; i < frames; ++i) ends[i + 1] += ends[i];
  });
  const nb::object rows = numpy.attr("empty")(ends[frames], "int64");
  auto* out = nb::cast<nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig>>(rows).data();
  run_long(false, [&] {
    first_rows(before.data(), lo.data(), hi.data(), frames,
               [&](std::size_t, std::int64_t row) { *out++ = row; });
  });
  return nb::make_tuple(rows, offsets);
}

}  // namespace

void bind_frames(nb::module_& m) {
  m.def("quantile_frames", quantile_frames, nb::arg("values"), nb::arg("lo"), nb::arg("hi"),
        nb::arg("q"), nb::arg("interpolation"), nb::arg("whole") = false);
  m.def("distinct_frames", distinct_frames_of, nb::arg("op"), nb::arg("values"), nb::arg("lo"),
        nb::arg("hi"));
  m.def("count_frames", count_frames, nb::arg("bins"), nb::arg("lo"), nb::arg("hi"),
        nb::arg("count"));
  m.def("distinct_rows", distinct_rows, nb::arg("before"), nb::arg("lo"), nb::arg("hi"));
  m.def("top_frames", top_frames_of, nb::arg("values"), nb::arg("lo"), nb::arg("hi"), nb::arg("k"));
}

}  // namespace slidefold::bindings
