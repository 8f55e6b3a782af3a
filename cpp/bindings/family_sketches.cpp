#include <cmath>
#include <numbers>

#include "family.hpp"
#include "sketch_results.hpp"
#include "slidefold/operators/hyperloglog.hpp"

namespace slidefold::engine {

template <class Label, class Feature>
struct Reader<Labelled<Label, Feature>> {
  static Labelled<Label, Feature> read_all(const void* const* columns, std::size_t count,
                                           std::int32_t row) {
    Labelled<Label, Feature> value{Reader<Label>::read(columns, row), {}};
    for (std::size_t i = 1; i < count; ++i) {
      value.features.push_back(Reader<Feature>::read(columns + i, row));
    }
    return value;
  }
};

}  // namespace slidefold::engine

namespace slidefold::bindings {

template <>
struct Value<CountMinSketch> {
  static PyObject* to(const CountMinSketch& value) { return nb::cast(value).release().ptr(); }
};

template <>
struct Value<Moments> {
  static PyObject* to(const Moments& value) { return nb::cast(value).release().ptr(); }
};

template <>
struct Value<NaiveBayesModel> {
  static PyObject* to(const NaiveBayesModel& value) { return nb::cast(value).release().ptr(); }
};

template <class Label, class Feature>
struct Value<Labelled<Label, Feature>> {
  static constexpr bool holds_null = false;
  static bool null(PyObject* value) {
    if (!PyTuple_Check(value)) return value == Py_None;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
      if (PyTuple_GET_ITEM(value, i) == Py_None) return true;
    }
    return false;
  }
  static Labelled<Label, Feature> from(PyObject* value) {
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) < 2) {
      fail("ValueTypeError", "expected a tuple (label, feature, ...), got " + shown(value));
    }
    Labelled<Label, Feature> row{Value<Label>::from(PyTuple_GET_ITEM(value, 0)), {}};
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(value); ++i) {
      row.features.push_back(Value<Feature>::from(PyTuple_GET_ITEM(value, i)));
    }
    return row;
  }
};

template <class Label, class Feature>
class Reader<Labelled<Label, Feature>> {
 public:
  static constexpr bool needs_gil = Reader<Label>::needs_gil || Reader<Feature>::needs_gil;
  explicit Reader(nb::handle columns) : labels_(first(columns)) {
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(columns.ptr()); ++i) {
      const nb::handle column = PyTuple_GET_ITEM(columns.ptr(), i);
      features_.push_back(std::make_unique<Reader<Feature>>(column));
      if (features_.back()->size() != size()) {
        fail("ValueTypeError", "labels and features differ in length: " + std::to_string(size()) +
                                   " and " + std::to_string(features_.back()->size()));
      }
    }
  }
  std::size_t size() const { return labels_.size(); }
  Labelled<Label, Feature> operator[](std::size_t row) const {
    Labelled<Label, Feature> value{labels_[row], {}};
    for (const auto& feature : features_) value.features.push_back((*feature)[row]);
    return value;
  }
  bool null(std::size_t row) const {
    bool null = labels_.null(row);
    for (const auto& feature : features_) null = null || feature->null(row);
    return null;
  }
  bool any_null() const {
    bool any = labels_.any_null();
    for (const auto& feature : features_) any = any || feature->any_null();
    return any;
  }

 private:
  static nb::handle first(nb::handle columns) {
    if (!PyTuple_Check(columns.ptr()) || PyTuple_GET_SIZE(columns.ptr()) < 2) {
      fail("ValueTypeError", "expected a tuple of columns (labels, features, ...), got " +
                                 std::string(Py_TYPE(columns.ptr())->tp_name));
    }
    return PyTuple_GET_ITEM(columns.ptr(), 0);
  }
  Reader<Label> labels_;
  std::vector<std::unique_ptr<Reader<Feature>>> features_;
};

namespace {

// The native states, with results that Python can ask.
template <class T>
struct MomentsOp : MomentSketch<T> {
  using Out = Moments;
  Out lower(const typename MomentSketch<T>::State& state) const { return {state, this->k}; }
};

template <class Label, class Feature>
struct NaiveBayesOp : NaiveBayes<Label, Feature> {
  using Out = NaiveBayesModel;
  Out lower(const typename NaiveBayes<Label, Feature>::State& state) const {
    return {std::make_shared<const ClassifierOf<Label, Feature>>(state)};
  }
};

// Labels and features are codes: integers or strings.
template <class Visit>
MaybeMade with_code(const std::string& dtype, Visit&& visit) {
  return dtype == "str" ? visit(std::string{}) : visit(std::int64_t{});
}

}  // namespace

MaybeMade sketches_family(const Spec& spec) {
  const std::string_view name = spec.name;
  const auto size = [&](const char* param) { return static_cast<std::size_t>(spec.number(param)); };
  if (name == "bloom") {
    return with_key(spec.dtype, [&](auto t) {
      BloomOf<decltype(t)> op;
      op.bits = size("bits");
      op.hashes = size("hashes");
      return made(op);
    });
  }
  if (name == "count_min") {
    return with_key(spec.dtype, [&](auto t) {
      CountMinOf<decltype(t)> op;
      op.width = static_cast<std::size_t>(std::ceil(std::numbers::e / spec.real("epsilon")));
      op.depth = static_cast<std::size_t>(std::ceil(-std::log1p(-spec.real("confidence"))));
      return made(op);
    });
  }
  if (name == "approx_distinct") {
    return with_key(spec.dtype, [&](auto t) {
      ApproxDistinct<decltype(t)> op;
      op.precision = static_cast<unsigned>(size("precision"));
      return made(op);
    });
  }
  if (name == "moments") {
    return with_number(spec.dtype, [&](auto t) {
      MomentsOp<decltype(t)> op;
      op.k = size("k");
      return made(op);
    });
  }
  if (name == "naive_bayes") {
    return with_code(spec.dtype, [&](auto label) {
      return with_code(spec.key, [&](auto feature) {
        return made(NaiveBayesOp<decltype(label), decltype(feature)>{});
      });
    });
  }
  return {};
}

}  // namespace slidefold::bindings
