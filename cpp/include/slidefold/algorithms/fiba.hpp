// FiBA: windows that take late data. See fiba/tree.hpp (single operations), fiba/read.hpp (range
// queries, check) and fiba/bulk.hpp (bulk operations) for layout, invariants, cost and paper.
#pragma once

#include "slidefold/algorithms/fiba/bulk.hpp"

namespace slidefold {

template <Monoid Op, class Time = std::int64_t>
class Fiba : public fiba::BulkTree<Op, Time> {
 public:
  static constexpr int kMinArity = 8;
  explicit Fiba(Op op, int min_arity = kMinArity)
      : fiba::BulkTree<Op, Time>(std::move(op), min_arity) {}
};

}  // namespace slidefold
