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
  QuantileSpec made;
  if (spec.params.contains("what")) {
    const std::string what = word("what");
    using What = QuantileSpec::What;
    made.what = what == "distinct"  ? What::kDistinct
                : what == "mode"    ? What::kMode
                : what == "entropy" ? What::kEntropy
                                    : What::kFrequent;
    made.k = static_cast<std::size_t>(nb::cast<std::int64_t>(spec.params["k"]));
  }
  made.quantile = {spec.real("q"), between_from(between)};
  made.integers = word("base") == "int64";
  made.texts = word("base") == "str";
  if (word("codec") != "plain") made.codec = codec_named(word("codec"));
  made.reals = word("result") == "float";
  const bool back = !made.reals && word("result") != "plain";
  made.whole = back && !made.texts;
  if (back) made.result = codec_named(word("result"));
  return made;
}

namespace {

PyObject* checked(PyObject* made) {
  if (made == nullptr) throw nb::python_error();
  return made;
}

PyObject* code_of(std::int64_t key) { return checked(PyLong_FromLongLong(key)); }
PyObject* code_of(const TextKey& key) { return checked(Value<std::string>::to(*key.text)); }

// A value as it comes back, as a float.
template <class Key>
double real_of(const Key& key, const Codec& codec) {
  const nb::object code = nb::steal(code_of(key));
  const nb::object value = nb::steal(codec.out(code.ptr()));
  const double real = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return real;
}

// What lies between two neighbours, as a code.
PyObject* between(std::int64_t low, std::int64_t high, double share, const QuantileSpec& spec) {
  if (!spec.integers) {
    return checked(PyFloat_FromDouble(lerp(value_of<double>(low), value_of<double>(high), share)));
  }
  if (spec.whole || spec.quantile.picks()) return code_of(lerp_whole(low, high, share));
  return checked(PyFloat_FromDouble(lerp(low, high, share)));
}
PyObject* between(const TextKey& low, const TextKey& high, double share, const QuantileSpec&) {
  return code_of(share < 0.5 ? low : high);  // strings are only picked
}

}  // namespace

template <class Key>
PyObject* lower_between(const Key& low, const Key& high, double share, const QuantileSpec& spec) {
  if (spec.reals) {
    return checked(
        PyFloat_FromDouble(lerp(real_of(low, *spec.codec), real_of(high, *spec.codec), share)));
  }
  PyObject* const result = between(low, high, share, spec);
  if (spec.result == nullptr) return result;
  const nb::object code = nb::steal(result);
  return spec.result->out(code.ptr());
}

template <class Key>
PyObject* lower_ordered(const CountedTreeOf<Key>& tree, const QuantileSpec& spec) {
  if (tree.empty()) return Py_NewRef(Py_None);
  const auto [k, share] = spec.quantile.place(tree.size());
  const auto [low, high] = tree.select(k);
  return lower_between(low, high, share, spec);
}

namespace {

// A key as the value that it stands for; a new reference.
template <class Key>
PyObject* value_ordered(const Key& key, const QuantileSpec& spec) {
  PyObject* const result = between(key, key, 0, spec);
  if (spec.result == nullptr) return result;
  const nb::object code = nb::steal(result);
  return spec.result->out(code.ptr());
}

}  // namespace

template <class Key>
PyObject* lower_counts(const Occurrences<Key>& found, const QuantileSpec& spec) {
  using What = QuantileSpec::What;
  if (found.values == 0) return Py_NewRef(Py_None);
  if (spec.what == What::kDistinct) return checked(PyLong_FromSize_t(found.distinct));
  if (spec.what == What::kEntropy) return checked(PyFloat_FromDouble(found.entropy));
  if (spec.what == What::kMode) return value_ordered(found.most_frequent.front().first, spec);
  nb::list results;
  for (const auto& [key, count] : found.most_frequent) {
    nb::dict one;
    one["value"] = nb::steal(value_ordered(key, spec));
    one["count"] = nb::int_(count);
    results.append(one);
  }
  return results.release().ptr();
}

template <class Key>
PyObject* lower_ordered(const TallyOf<Key>& tally, const QuantileSpec& spec) {
  Occurrences<Key> found{tally.size(), 0, 0, {}};
  if (spec.what == QuantileSpec::What::kDistinct) {
    found.distinct = tally.distinct();
  } else if (spec.what == QuantileSpec::What::kEntropy) {
    found.entropy = tally.entropy();
  } else {
    tally.most_frequent(spec.k, [&](const Key& key, std::uint64_t count) {
      found.most_frequent.push_back({key, count});
    });
  }
  return lower_counts(found, spec);
}

template <class Key>
OrderedRow<Key> read_ordered(PyObject* value, const QuantileSpec& spec) {
  if (value == Py_None) return {Key{}, true};
  nb::object code;
  if (spec.codec != nullptr) {
    code = nb::steal(spec.codec->in(value));
    value = code.ptr();
  }
  if constexpr (std::is_same_v<Key, TextKey>) {
    return {{std::make_shared<const std::string>(to_string(value))}, false};
  } else {
    if (spec.integers) return {Value<std::int64_t>::from(value), false};
    return {key_of(Value<double>::from(value)), false};
  }
}

template <class Key>
void expect_ordered(const OrderedRow<Key>& row, const QuantileSpec& spec) {
  if constexpr (!std::is_same_v<Key, TextKey>) {
    const bool sound = row.null || spec.integers || key_of(value_of<double>(row.key)) == row.key;
    expect(sound, "a value is not a float");
  }
}

template PyObject* lower_between(const std::int64_t&, const std::int64_t&, double,
                                 const QuantileSpec&);
template PyObject* lower_between(const TextKey&, const TextKey&, double, const QuantileSpec&);
template PyObject* lower_counts(const Occurrences<std::int64_t>&, const QuantileSpec&);
template PyObject* lower_counts(const Occurrences<TextKey>&, const QuantileSpec&);
template PyObject* lower_ordered(const CountedTree&, const QuantileSpec&);
template PyObject* lower_ordered(const CountedTreeOf<TextKey>&, const QuantileSpec&);
template PyObject* lower_ordered(const TallyOf<std::int64_t>&, const QuantileSpec&);
template PyObject* lower_ordered(const TallyOf<TextKey>&, const QuantileSpec&);
template OrderedRow<std::int64_t> read_ordered(PyObject*, const QuantileSpec&);
template OrderedRow<TextKey> read_ordered(PyObject*, const QuantileSpec&);
template void expect_ordered(const OrderedRow<std::int64_t>&, const QuantileSpec&);
template void expect_ordered(const OrderedRow<TextKey>&, const QuantileSpec&);

namespace {

template <class Key, class Set>
class OrderFace final : public Face {
  using Row = OrderedRow<Key>;

 public:
  OrderFace(const QuantileSpec& spec, Set empty) : spec_(spec), tree_(std::move(empty)) {}

  std::unique_ptr<Face> clone() const override { return std::make_unique<OrderFace>(*this); }
  std::size_t size() const override { return rows_.size(); }
  std::size_t waiting() const override { return waiting_.size(); }
  std::size_t bytes() const override {
    return rows_.bytes() + tree_.bytes() + waiting_.size() * sizeof(Row);
  }

  void check() const override {
    tree_.check();
    Set left = tree_;
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
    for (const Row& row : waiting_) expect_ordered(row, spec_);
  }

  PyObject* query() override { return lower_ordered(tree_, spec_); }
  void insert(PyObject* value) override { hold(read_ordered<Key>(value, spec_)); }
  void evict(std::size_t count) override {
    if (count > size()) fail("EmptyWindowError", "evict from an empty window");
    for (; count > 0; --count) {
      const Row row = rows_.front();
      if (!row.null) tree_.erase(row.key);
      rows_.pop_front();
    }
  }

  PyObject* push(PyObject* value, std::size_t evictions) override {
    hold(read_ordered<Key>(value, spec_));
    evict(evictions);
    return query();
  }
  PyObject* push_behind(PyObject* value, bool flush, std::size_t evictions) override {
    const Row row = read_ordered<Key>(value, spec_);
    move_on(flush, evictions);
    waiting_.push_back(row);
    return query();
  }
  void move_on(bool flush, std::size_t evictions) override {
    if (flush) {
      for (const Row& row : waiting_) hold(row);
      waiting_.clear();
    }
    evict(evictions);
  }

  nb::object slide(nb::handle, std::size_t, bool) const override { only_windows(); }
  nb::object latencies(nb::handle, std::size_t) const override { only_windows(); }
  nb::object rounds(nb::handle, const Rounds&, const std::int64_t*) const override {
    only_windows();
  }
  nb::object fold(nb::handle, const std::int64_t*, const std::int64_t*,
                  std::size_t) const override {
    only_windows();
  }

 private:
  [[noreturn]] static void only_windows() {
    fail("PairError", "order statistics over columns are run by slidefold.rolling");
  }

  void hold(const Row& row) {
    rows_.make_room();  // the last step must not fail
    if (!row.null) tree_.insert(row.key);
    rows_.push_back(row);
  }

  template <class Archive>
  void archive(Archive& a) {
    rows_.archive(a, [&](Row& row) { a(row); });
    a(waiting_);
  }

  QuantileSpec spec_;
  Ring<Row> rows_;
  Set tree_;  // of the rows that are not null
  std::vector<Row> waiting_;
};

}  // namespace

FacePtr make_order_face(const Spec& spec) {
  const QuantileSpec made = quantile_from(spec);
  return with_set(made, [&](auto key, auto set) -> FacePtr {
    return std::make_unique<OrderFace<decltype(key), decltype(set)>>(made, std::move(set));
  });
}

}  // namespace slidefold::bindings
