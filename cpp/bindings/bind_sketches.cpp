// The results of sketches: BloomFilter, CountMinSketch, Moments, NaiveBayesModel.
#include <nanobind/stl/vector.h>

#include "codec.hpp"
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

// Sketches of values that travel as others: what is asked travels likewise.
struct CodedFilter : BloomFilter {
  CodecPtr codec;
};
struct CodedSketch : CountMinSketch {
  CodecPtr codec;
};
struct CodedClassifier final : Classifier {
  std::shared_ptr<const Classifier> inner;
  CodecPtr label, value;
  CodedClassifier(std::shared_ptr<const Classifier> held, CodecPtr labels, CodecPtr values)
      : inner(std::move(held)), label(std::move(labels)), value(std::move(values)) {}
  nb::object predict(nb::handle features) const override {
    if (!PyTuple_Check(features.ptr()) && !PyList_Check(features.ptr())) {
      return inner->predict(features);  // refuses it
    }
    nb::list codes;
    for (const nb::handle feature : features) codes.append(nb::steal(value->in(feature.ptr())));
    return decoded(*label, inner->predict(codes));
  }
  nb::object labels() const override {
    nb::dict found;
    for (const auto [code, n] : nb::cast<nb::dict>(inner->labels())) {
      found[decoded(*label, code)] = n;
    }
    return found;
  }
  nb::object counts() const override {
    nb::list found;
    for (const nb::handle count : inner->counts()) {
      found.append(
          nb::make_tuple(decoded(*label, count[0]), count[1], decoded(*value, count[2]), count[3]));
    }
    return found;
  }
  bool same(const Classifier& other) const override {
    const auto* like = dynamic_cast<const CodedClassifier*>(&other);
    return like != nullptr && inner->same(*like->inner);
  }
};

struct Asked final : Codec {
  CodecPtr codec, value;  // of classifiers the labels' and the values'
  Asked(CodecPtr first, CodecPtr second) : codec(std::move(first)), value(std::move(second)) {}
  PyObject* in(PyObject* given) const override { return Py_NewRef(given); }
  PyObject* out(PyObject* result) const override {
    const nb::handle made(result);
    if (nb::isinstance<BloomFilter>(made)) {
      return nb::cast(CodedFilter{nb::cast<const BloomFilter&>(made), codec}).release().ptr();
    }
    if (nb::isinstance<CountMinSketch>(made)) {
      return nb::cast(CodedSketch{nb::cast<const CountMinSketch&>(made), codec}).release().ptr();
    }
    const auto& model = nb::cast<const NaiveBayesModel&>(made);
    const NaiveBayesModel coded{
        std::make_shared<const CodedClassifier>(model.classifier, codec, value)};
    return nb::cast(coded).release().ptr();
  }
};

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
  nb::class_<CodedFilter, BloomFilter>(m, "CodedBloomFilter")
      .def(
          "__contains__",
          [](const CodedFilter& filter, nb::handle value) {
            const nb::object code = nb::steal(filter.codec->in(value.ptr()));
            const auto hash = hash_as(filter.key, code.ptr());
            return hash && filter.contains(*hash);
          },
          nb::arg("value").none());
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
          "to_bytes",
          [](const CountMinSketch& sketch) {
            return nb::bytes(sketch.cells.data(), sketch.cells.size() * sizeof(std::int64_t));
          },
          "The counters, row by row, 8 bytes each.")
      .def(
          "__eq__",
          [](const CountMinSketch& a, nb::handle other) {
            if (!nb::isinstance<CountMinSketch>(other)) return false;
            const auto& b = nb::cast<const CountMinSketch&>(other);
            return a.key == b.key && a.width == b.width && a.depth == b.depth && a.cells == b.cells;
          },
          nb::arg("other").none());
  sketch_class.attr("__hash__") = nb::none();
  nb::class_<CodedSketch, CountMinSketch>(m, "CodedCountMinSketch")
      .def(
          "estimate",
          [](const CodedSketch& sketch, nb::handle value) {
            const nb::object code = nb::steal(sketch.codec->in(value.ptr()));
            const auto hash = hash_as(sketch.key, code.ptr());
            return hash ? sketch.estimate(*hash) : 0;
          },
          nb::arg("value").none(), "How often the value occurred, or a little more.");
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
              fail("ValueTypeError", "expected a share between 0 and 1, got " + shown(share.ptr()));
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

CodecPtr sketch_codec(const std::string& name) {
  const std::size_t open = name.find('(');
  if (open == std::string::npos || !name.ends_with(')')) return nullptr;
  const std::string kind = name.substr(0, open);
  const std::string said = name.substr(open + 1, name.size() - open - 2);
  if (kind == "asked") return std::make_shared<Asked>(codec_named(said), nullptr);
  const std::size_t bar = said.find('|');
  if (kind != "classes" || bar == std::string::npos) return nullptr;
  return std::make_shared<Asked>(codec_named(said.substr(0, bar)),
                                 codec_named(said.substr(bar + 1)));
}

void bind_sketches(nb::module_& m) {
  bind_bloom(m);
  bind_count_min(m);
  bind_moments(m);
  bind_naive_bayes(m);
}

}  // namespace slidefold::bindings
