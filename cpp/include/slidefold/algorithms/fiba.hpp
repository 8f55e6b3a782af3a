// FiBA: windows that take late data. See fiba/tree.hpp (single operations), fiba/read.hpp (range
// queries, check) and fiba/bulk.hpp and merge.hpp (bulk operations) for layout, invariants, cost
// and paper.
#pragma once

#include "slidefold/algorithms/fiba/bulk.hpp"

namespace slidefold {

template <Monoid Op, class Time = std::int64_t>
class Fiba : public fiba::BulkTree<Op, Time> {
 public:
  static constexpr int kMinArity = 4;
  // Nodes four times as large as the smallest: late entries that come in order leave them 3/4 full,
  // not half.
  explicit Fiba(Op op, int min_arity = kMinArity) : Fiba(std::move(op), min_arity, 4 * min_arity) {}
  Fiba(Op op, int min_arity, int max_arity)
      : fiba::BulkTree<Op, Time>(std::move(op), min_arity, max_arity) {}

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    this->visit_late(visit);
    this->visit_spines(visit);
  }

  // Loads into an empty tree.
  template <class Archive>
  void archive(Archive& a) {
    this->archive_spines(a);
    this->archive_late(a);
  }
};

}  // namespace slidefold
