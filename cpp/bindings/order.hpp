// Windows over order statistics: median and quantile, which are no monoids.
#pragma once

#include "codec.hpp"
#include "face.hpp"
#include "slidefold/operators/quantile.hpp"
#include "slidefold/storage/counted_tree.hpp"
#include "tree_face.hpp"

namespace slidefold::bindings {

inline constexpr const char* kOrderStatistics = "order_statistics";

// What the operator asks for.
struct QuantileSpec {
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

template <class Key>
PyObject* lower_ordered(const CountedTreeOf<Key>& tree, const QuantileSpec& spec);  // new reference
template <class Key>
OrderedRow<Key> read_ordered(PyObject* value, const QuantileSpec& spec);
template <class Key>
void expect_ordered(const OrderedRow<Key>& row, const QuantileSpec& spec);  // after loading it

// For events in order.
FacePtr make_order_face(const Spec& spec);
// For late events.
TreePtr make_order_tree(const Spec& spec);

}  // namespace slidefold::bindings
