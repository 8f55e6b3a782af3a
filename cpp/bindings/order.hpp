// Windows over order statistics and over how often values occur, which are not monoids.
#pragma once

#include "codec.hpp"
#include "face.hpp"
#include "slidefold/operators/quantile.hpp"
#include "slidefold/storage/counted_tree.hpp"
#include "slidefold/storage/tally.hpp"
#include "tree_face.hpp"

namespace slidefold::bindings {

inline constexpr const char* kOrderStatistics = "order_statistics";

// What the operator asks for.
struct QuantileSpec {
  enum class What : std::uint8_t { kQuantile, kDistinct, kMode, kEntropy, kFrequent };
  What what = What::kQuantile;
  std::size_t k = 1;  // how many of the most frequent values
  Quantile quantile;
  bool integers = false;
  bool texts = false;
  CodecPtr codec, result;  // null for values as they are
  bool whole = false;      // what lies between two values is one too: times
  bool reals = false;      // what lies between two values is a float, as they come back: decimals
};
QuantileSpec quantile_from(const Spec& spec);
Between between_from(const std::string& word);

// A string that rows and nodes of a tree share.
struct TextKey {
  std::shared_ptr<const std::string> text;
  bool operator==(const TextKey& other) const { return *text == *other.text; }
  bool operator<(const TextKey& other) const { return *text < *other.text; }
  bool operator<=(const TextKey& other) const { return *text <= *other.text; }
  bool operator>=(const TextKey& other) const { return *text >= *other.text; }
  template <class Archive>
  void archive(Archive& a) {
    std::string held = text == nullptr ? std::string() : *text;
    a(held);
    if constexpr (Archive::kLoading) text = std::make_shared<const std::string>(std::move(held));
  }
};

// A value in order, or a null that only takes its place.
template <class Key>
struct OrderedRow {
  Key key{};
  bool null = false;
  template <class Archive>
  void archive(Archive& a) {
    a(null);
    if (!null) a(key);
  }
};

struct KeyHash {
  std::size_t operator()(std::int64_t key) const { return std::hash<std::int64_t>{}(key); }
  std::size_t operator()(const TextKey& key) const { return std::hash<std::string>{}(*key.text); }
};
template <class Key>
using TallyOf = Tally<Key, KeyHash>;

// What an empty window starts with.
template <class Set>
Set empty_set(const QuantileSpec& spec) {
  if constexpr (requires(const Set& set) { set.entropy(); }) {
    return Set(spec.what == QuantileSpec::What::kMode ||
               spec.what == QuantileSpec::What::kFrequent);
  } else {
    return Set();
  }
}
// Calls use with the type of keys and the type of set that an operator needs.
template <class Use>
auto with_set(const QuantileSpec& spec, Use&& use) {
  const bool tally = spec.what != QuantileSpec::What::kQuantile;
  if (spec.texts && tally) return use(TextKey{}, empty_set<TallyOf<TextKey>>(spec));
  if (spec.texts) return use(TextKey{}, CountedTreeOf<TextKey>());
  if (tally) return use(std::int64_t{}, empty_set<TallyOf<std::int64_t>>(spec));
  return use(std::int64_t{}, CountedTreeOf<std::int64_t>());
}

// How often values occur, wherever that is counted.
template <class Key>
struct Occurrences {
  std::size_t values = 0, distinct = 0;
  double entropy = 0;
  std::vector<std::pair<Key, std::uint64_t>> most_frequent;
};

// A new reference.
template <class Key>
PyObject* lower_ordered(const CountedTreeOf<Key>& tree, const QuantileSpec& spec);
template <class Key>
PyObject* lower_ordered(const TallyOf<Key>& tally, const QuantileSpec& spec);
// The same from two neighbours and the share of the way between them, and from counts.
template <class Key>
PyObject* lower_between(const Key& low, const Key& high, double share, const QuantileSpec& spec);
template <class Key>
PyObject* lower_counts(const Occurrences<Key>& found, const QuantileSpec& spec);
template <class Key>
OrderedRow<Key> read_ordered(PyObject* value, const QuantileSpec& spec);
template <class Key>
void expect_ordered(const OrderedRow<Key>& row, const QuantileSpec& spec);  // after loading it

// For events in order.
FacePtr make_order_face(const Spec& spec);
// For late events.
TreePtr make_order_tree(const Spec& spec);

}  // namespace slidefold::bindings
