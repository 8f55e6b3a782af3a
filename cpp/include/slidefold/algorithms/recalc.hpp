// Recalc: the oracle. Keeps the values and folds them again for every query.
//
// Layout: a queue of lifted values, oldest first.
// Invariants: I1 the queue holds the window's contents.
// Cost: insert 0, evict 0, query n-1 combines; n states.
// Paper: the baseline of all five.
#pragma once

#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold {

struct NoMarks {};

template <Monoid Op>
class Recalc : public Undoable<Ring<typename Op::State, fallible_v<Op>>, NoMarks, fallible_v<Op>> {
 public:
  using State = typename Op::State;

  explicit Recalc(Op op) : op_(std::move(op)) {}

  std::size_t size() const { return this->store_.size(); }
  std::size_t bytes() const { return this->store_.bytes(); }
  void reserve(std::size_t count) { this->store_.reserve(count); }
  void insert(State value) { this->store_.push_back(std::move(value)); }
  void evict() { this->store_.pop_front(); }

  State query() const {
    const auto& store = this->store_;
    if (store.empty()) return op_.identity();
    auto at = store.first();
    State result = store[at];
    for (at = store.next(at); at != store.last(); at = store.next(at)) {
      absorb(op_, result, store[at]);
    }
    return result;
  }

  void check(const std::vector<State>* contents) const {
    if (contents == nullptr) return;
    require(contents->size() == size(), "I1: the queue has the window's length");
    auto at = this->store_.first();
    for (const State& value : *contents) {
      require_same(op_, this->store_[at], value, "I1: the queue holds the window's contents");
      at = this->store_.next(at);
    }
  }

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    this->store_.for_each(visit);
  }

  template <class Archive>
  void archive(Archive& a) {
    this->store_.archive(a, [&](auto& value) { archive_state(a, op_, value); });
  }

 private:
  Op op_;
};

}  // namespace slidefold
