// The order statistics of a window over events in order.
//
// Layout: the rows, oldest first, and a counted tree of those that are not null; rows that wait.
// Invariants: O1 the tree holds the keys of the rows that are not null.
// Cost: insert, evict and query O(log n).
#include "order.hpp"

#include <nanobind/stl/string.h>

#include "slidefold/storage/ring.hpp"

namespace slidefold::bindings {

Between between_from(const std::string& word) {
  if (word == "lower") return Between::kLower;
  if (word == "higher") return Between::kHigher;
  if (word == "nearest") return Between::kNearest;
  return word == "midpoint" ? Between::kMidpoint : Between::kLinear;
}

QuantileSpec quantile_from(const Spec& spec) {
  const std::string between = nb::cast<std::string>(spec.params["interpolation"]);
  const auto word = [&](const char* name) { return nb::cast<std::string>(spec.params[name]); };
  QuantileSpec made{{spec.real("q"), between_from(between)}, word("base") == "int64", {}, {}};
  if (word("codec") != "plain") made.codec = codec_named(word("codec"));
  made.reals = word("result") == "float";
  made.whole = !made.reals && word("result") != "plain";
  if (made.whole) made.result = codec_named(word("result"));
  return made;
}

namespace {

// A value as it comes back, as a float.
double real_of(std::int64_t key, const Codec& codec) {
  const nb::object code = nb::steal(PyLong_FromLongLong(key));
  const nb::object value = nb::steal(codec.out(code.ptr()));
  const double real = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return real;
}

}  // namespace

PyObject* lower_ordered(const CountedTree& tree, const QuantileSpec& spec) {
  if (tree.empty()) return Py_NewRef(Py_None);
  const auto [k, share] = spec.quantile.place(tree.size());
  const auto [low, high] = tree.select(k);
  PyObject* result = nullptr;
  if (!spec.integers) {
    result = PyFloat_FromDouble(lerp(value_of<double>(low), value_of<double>(high), share));
  } else if (spec.reals) {
    const double from = real_of(low, *spec.codec), to = real_of(high, *spec.codec);
    result = PyFloat_FromDouble(lerp(from, to, share));
  } else if (spec.whole || spec.quantile.picks()) {
    result = PyLong_FromLongLong(lerp_whole(low, high, share));
  } else {
    result = PyFloat_FromDouble(lerp(low, high, share));
  }
  if (result == nullptr) throw nb::python_error();
  if (spec.result == nullptr) return result;
  const nb::object code = nb::steal(result);
  return spec.result->out(code.ptr());
}

OrderedRow read_ordered(PyObject* value, const QuantileSpec& spec) {
  if (value == Py_None) return {0, true};
  nb::object code;
  if (spec.codec != nullptr) {
    code = nb::steal(spec.codec->in(value));
    value = code.ptr();
  }
  if (spec.integers) return {Value<std::int64_t>::from(value), false};
  return {key_of(Value<double>::from(value)), false};
}

void expect_ordered(const OrderedRow& row, const QuantileSpec& spec) {
  const bool sound = row.null || spec.integers || key_of(value_of<double>(row.key)) == row.key;
  expect(sound, "a value is no float");
}

namespace {

class OrderFace final : public Face {
 public:
  explicit OrderFace(const QuantileSpec& spec) : spec_(spec) {}

  std::unique_ptr<Face> clone() const override { return std::make_unique<OrderFace>(*this); }
  std::size_t size() const override { return rows_.size(); }
  std::size_t waiting() const override { return waiting_.size(); }
  std::size_t bytes() const override {
    return rows_.bytes() + tree_.bytes() + waiting_.size() * sizeof(OrderedRow);
  }

  void check() const override {
    tree_.check();
    CountedTree left = tree_;
    for (auto at = rows_.first(); at != rows_.last(); ++at) {
      if (!rows_[at].null) require(left.erase(rows_[at].key), "O1: the tree has every value");
    }
    require(left.empty(), "O1: the tree has nothing else");
  }

  void save(Saver& a) override { archive(a); }
  void load(Loader& a) override {
    archive(a);
    tree_.clear();
    for (auto at = rows_.first(); at != rows_.last(); ++at) {
      expect_ordered(rows_[at], spec_);
      if (!rows_[at].null) tree_.insert(rows_[at].key);
    }
    for (const OrderedRow& row : waiting_) expect_ordered(row, spec_);
  }

  PyObject* query() override { return lower_ordered(tree_, spec_); }
  void insert(PyObject* value) override { hold(read_ordered(value, spec_)); }
  void evict(std::size_t count) override {
    if (count > size()) fail("EmptyWindowError", "evict from an empty window");
    for (; count > 0; --count) {
      const OrderedRow row = rows_.front();
      if (!row.null) tree_.erase(row.key);
      rows_.pop_front();
    }
  }

  PyObject* push(PyObject* value, std::size_t evictions) override {
    hold(read_ordered(value, spec_));
    evict(evictions);
    return query();
  }
  PyObject* push_behind(PyObject* value, bool flush, std::size_t evictions) override {
    const OrderedRow row = read_ordered(value, spec_);
    move_on(flush, evictions);
    waiting_.push_back(row);
    return query();
  }
  void move_on(bool flush, std::size_t evictions) override {
    if (flush) {
      for (const OrderedRow& row : waiting_) hold(row);
      waiting_.clear();
    }
    evict(evictions);
  }

  nb::object slide(nb::handle, std::size_t, bool) const override { only_windows(); }
  nb::object latencies(nb::handle, std::size_t) const override { only_windows(); }
  nb::object fold(nb::handle, const std::int64_t*, const std::int64_t*,
                  std::size_t) const override {
    only_windows();
  }

 private:
  [[noreturn]] static void only_windows() {
    fail("PairError", "order statistics over columns are run by slidefold.rolling");
  }

  void hold(const OrderedRow& row) {
    rows_.reserve(rows_.size() + 1);  // the last step must not fail
    if (!row.null) tree_.insert(row.key);
    rows_.push_back(row);
  }

  template <class Archive>
  void archive(Archive& a) {
    rows_.archive(a, [&](OrderedRow& row) { a(row); });
    a(waiting_);
  }

  QuantileSpec spec_;
  Ring<OrderedRow> rows_;
  CountedTree tree_;
  std::vector<OrderedRow> waiting_;
};

}  // namespace

FacePtr make_order_face(const Spec& spec) {
  return std::make_unique<OrderFace>(quantile_from(spec));
}

}  // namespace slidefold::bindings
