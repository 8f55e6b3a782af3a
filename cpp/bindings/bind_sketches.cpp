// The results of sketches: BloomFilter, CountMinSketch, Moments, NaiveBayesModel.
#include <nanobind/stl/vector.h>

#include "sketch_results.hpp"

namespace slidefold::bindings {
namespace {

// The hash of a value of the type that a sketch holds; nothing if it cannot be in there: of
// integers, 3.0 is 3, and 3.5 is none.
std::optional<std::uint64_t> hash_as(BloomKey key, PyObject* value) {
  if (key == BloomKey::kText) return hash_value(to_string(value));
  if (key == BloomKey::kReal) return hash_value(to_double(value));
  if (!PyFloat_Check(value)) return hash_value(to_int64(value));
  const double real = PyFloat_AS_DOUBLE(value);
  if (real != std::floor(real) || real < -0x1p63 || real >= 0x1p63) return std::nullopt;
  return hash_value(static_cast<std::int64_t>(real));
}

void bind_bloom(nb::module_& m) {
  auto filter_class = nb::class_<BloomFilter>(
      m, "BloomFilter", "A Bloom filter: `value in filter` is never wrong when it says no.");
  filter_class
      .def(
          "__contains__",
          [](const BloomFilter& filter, nb::handle value) {
            const auto hash = hash_as(filter.key, value.ptr());
            return hash && filter.contains(*hash);
          },
          nb::arg("value").none())
      .def_ro("bits", &BloomFilter::bits)
      .def_ro("hashes", &BloomFilter::hashes)
      .def("to_bytes",
           [](const BloomFilter& filter) {
             return nb::bytes(filter.words.data(), filter.words.size() * sizeof(std::uint64_t));
           })
      .def(
          "__eq__",
          [](const BloomFilter& a, nb::handle other) {
            if (!nb::isinstance<BloomFilter>(other)) return false;
            const auto& b = nb::cast<const BloomFilter&>(other);
            return a.key == b.key && a.bits == b.bits && a.hashes == b.hashes && a.words == b.words;
          },
          nb::arg("other").none());
  filter_class.attr("__hash__") = nb::none();  // compared by value
}

void bind_count_min(nb::module_& m) {
  auto sketch_class = nb::class_<CountMinSketch>(
      m, "CountMinSketch", "Counts of values: `estimate(value)` is never too small.");
  sketch_class
      .def(
          "estimate",
          [](const CountMinSketch& sketch, nb::handle value) {
            const auto hash = hash_as(sketch.key, value.ptr());
            return hash ? sketch.estimate(*hash) : 0;
          },
          nb::arg("value").none(), "How often the value occurred, or a little more.")
      .def_prop_ro("total", &CountMinSketch::total, "How many values there were.")
      .def_ro("width", &CountMinSketch::width)
      .def_ro("depth", &CountMinSketch::depth)
      .def(
          "__eq__",
          [](const CountMinSketch& a, nb::handle other) {
            if (!nb::isinstance<CountMinSketch>(other)) return false;
            const auto& b = nb::cast<const CountMinSketch&>(other);
            return a.key == b.key && a.width == b.width && a.depth == b.depth && a.cells == b.cells;
          },
          nb::arg("other").none());
  sketch_class.attr("__hash__") = nb::none();
}

void bind_moments(nb::module_& m) {
  auto moments_class =
      nb::class_<Moments>(m, "Moments", "Moments of values: `quantile(q)` by maximum entropy.");
  moments_class
      .def(
          "__eq__",
          [](const Moments& a, nb::handle other) {
            return nb::isinstance<Moments>(other) && a == nb::cast<const Moments&>(other);
          },
          nb::arg("other").none())
      .def(
          "quantile",
          [](Moments& moments, nb::handle share) {
            const double q = to_double(share.ptr());
            if (!(q >= 0 && q <= 1)) {
              fail("ValueTypeError", "a share between 0 and 1 is due, got " + shown(share.ptr()));
            }
            return moments.quantile(q);
          },
          nb::arg("q").none(), "About the value that a share q of the values lies below.")
      .def_prop_ro("count",
                   [](const Moments& moments) { return static_cast<std::int64_t>(moments.n()); })
      .def_prop_ro("min", &Moments::low)
      .def_prop_ro("max", &Moments::high)
      .def_prop_ro("mean", &Moments::mean)
      .def_prop_ro("chebyshev", &Moments::moments);
  moments_class.attr("__hash__") = nb::none();  // compared by value
}

void bind_naive_bayes(nb::module_& m) {
  auto model_class = nb::class_<NaiveBayesModel>(
      m, "NaiveBayesModel", "A classifier: `predict(features)` gives the likeliest label.");
  model_class
      .def(
          "__eq__",
          [](const NaiveBayesModel& a, nb::handle other) {
            return nb::isinstance<NaiveBayesModel>(other) &&
                   a.classifier->same(*nb::cast<const NaiveBayesModel&>(other).classifier);
          },
          nb::arg("other").none())
      .def(
          "predict",
          [](const NaiveBayesModel& model, nb::handle features) {
            return model.classifier->predict(features);
          },
          nb::arg("features").none(), "The likeliest label; of equal ones the smallest.")
      .def_prop_ro("labels",
                   [](const NaiveBayesModel& model) { return model.classifier->labels(); })
      .def_prop_ro("counts",
                   [](const NaiveBayesModel& model) { return model.classifier->counts(); });
  model_class.attr("__hash__") = nb::none();
}

}  // namespace

void bind_sketches(nb::module_& m) {
  bind_bloom(m);
  bind_count_min(m);
  bind_moments(m);
  bind_naive_bayes(m);
}

}  // namespace slidefold::bindings
