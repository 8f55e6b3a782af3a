// Two-Stacks: a queue of two stacks, each entry with its value and an aggregate.
//
// Layout: the front stack (top = oldest) and the back stack (top = youngest); an entry is
//   {val, agg}.
// Invariants: I1 val fields hold the window's contents. I2 front: agg = this value and all younger
//   ones in the front stack. I3 back: agg = all older ones in the back stack and this value.
// Cost: query 1, insert 1, evict amortised 1 and at most n (the flip); 2n states.
// Paper: daba-in-order, section 3.
#pragma once

#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/ring.hpp"

namespace slidefold {

template <Monoid Op>
class TwoStacks {
 public:
  using State = typename Op::State;

  explicit TwoStacks(Op op) : op_(std::move(op)) {}

  std::size_t size() const { return front_.size() + back_.size(); }
  std::size_t bytes() const { return front_.bytes() + back_.bytes(); }
  void reserve(std::size_t count) { front_.reserve(count), back_.reserve(count); }

  State query() const {
    if (front_.empty()) return back_.empty() ? op_.identity() : back_.back().agg;
    if (back_.empty()) return front_.back().agg;
    return op_.combine(front_.back().agg, back_.back().agg);
  }

  void insert(State value) {
    State agg = back_.empty() ? value : op_.combine(back_.back().agg, value);
    back_.push_back({std::move(value), std::move(agg)});
  }

  void evict() {
    if (front_.empty()) flip();
    front_.pop_back();
    shrink();
  }

  void begin() {
    if constexpr (fallible_v<Op>) front_.begin(), back_.begin();
  }
  void commit() {
    if constexpr (fallible_v<Op>) front_.commit(size()), back_.commit(size());
  }
  void rollback() {
    if constexpr (fallible_v<Op>) front_.rollback(), back_.rollback();
  }

  void check(const std::vector<State>* contents) const {
    if (contents == nullptr) return;
    const auto& v = *contents;
    const std::size_t front = front_.size();
    require(v.size() == size(), "I1: both stacks together have the window's length");
    State fold = op_.identity();
    for (std::size_t i = front; i-- > 0;) {
      const Entry& entry = front_[front_.at(front - 1 - i)];
      fold = op_.combine(v[i], fold);
      require_same(op_, entry.val, v[i], "I1: val fields hold the window's contents");
      require_same(op_, entry.agg, fold, "I2: front aggregates reach to the stack's bottom");
    }
    fold = op_.identity();
    for (std::size_t i = front; i < size(); ++i) {
      const Entry& entry = back_[back_.at(i - front)];
      fold = op_.combine(fold, v[i]);
      require_same(op_, entry.val, v[i], "I1: val fields hold the window's contents");
      require_same(op_, entry.agg, fold, "I3: back aggregates reach to the stack's bottom");
    }
  }

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    for (const auto* stack : {&front_, &back_}) {
      stack->for_each([&](const Entry& entry) { visit(entry.val), visit(entry.agg); });
    }
  }

  template <class Archive>
  void archive(Archive& a) {
    for (auto* stack : {&front_, &back_}) {
      stack->archive(a, [&](auto& entry) {
        archive_state(a, op_, entry.val);
        archive_state(a, op_, entry.agg);
      });
    }
  }

 private:
  struct Entry {
    State val{};
    State agg{};
  };

  // Either stack may soon hold all.
  void shrink() {
    const std::size_t count = size();
    front_.shrink(count);
    back_.shrink(count);
  }

  void flip() {
    while (!back_.empty()) {
      State value = back_.back().val;
      State agg = front_.empty() ? value : op_.combine(value, front_.back().agg);
      front_.push_back({std::move(value), std::move(agg)});
      back_.pop_back();
    }
  }

  Op op_;
  Ring<Entry, fallible_v<Op>> front_;
  Ring<Entry, fallible_v<Op>> back_;
};

}  // namespace slidefold
