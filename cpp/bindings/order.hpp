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
  CodecPtr codec, result;  // null for numbers as they are
  bool whole = false;      // what lies between two values is one too: times
  bool reals = false;      // what lies between two values is a float, as they come back: decimals
};
QuantileSpec quantile_from(const Spec& spec);
Between between_from(const std::string& word);

// A value in order, or a null that only takes its place.
struct OrderedRow {
  std::int64_t key = 0;
  bool null = false;
  template <class Archive>
  void archive(Archive& a) {
    a(null);
    if (!null) a(key);
  }
};

PyObject* lower_ordered(const CountedTree& tree, const QuantileSpec& spec);  // a new reference
OrderedRow read_ordered(PyObject* value, const QuantileSpec& spec);
void expect_ordered(const OrderedRow& row, const QuantileSpec& spec);  // after loading it

// For events in order.
FacePtr make_order_face(const Spec& spec);
// For late events.
TreePtr make_order_tree(const Spec& spec);

}  // namespace slidefold::bindings
