// Subtract-on-Evict: a running total from which the oldest value is taken away again.
//
// Layout: a queue of lifted values, oldest first, and their total.
// Invariants: I1 the queue holds the window's contents. I2 total = the fold of the queue, and the
//   identity when it is empty.
// Cost: insert 1 combine, evict 1 remove, query 0; n+1 states. Invertible operators only.
// Paper: daba-in-order, section 8 (subtract-on-evict).
#pragma once

#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold {

template <Invertible Op>
class SubtractOnEvict : public Undoable<Ring<typename Op::State, fallible_v<Op>>,
                                        typename Op::State, fallible_v<Op>> {
 public:
  using State = typename Op::State;

  explicit SubtractOnEvict(Op op) : op_(std::move(op)) { this->marks_ = op_.identity(); }

  std::size_t size() const { return this->store_.size(); }
  std::size_t bytes() const { return this->store_.bytes() + sizeof(State); }
  void reserve(std::size_t count) { this->store_.reserve(count); }
  const State& query() const { return this->marks_; }

  void insert(State value) {
    if (this->store_.empty()) {
      this->marks_ = value;
    } else {
      absorb(op_, this->marks_, value);
    }
    this->store_.push_back(std::move(value));
  }

  void evict() {
    this->marks_ = size() == 1 ? op_.identity() : op_.remove(this->marks_, this->store_.front());
    this->store_.pop_front();
  }

  void check(const std::vector<State>* contents) const {
    if (size() == 0) require_same(op_, this->marks_, op_.identity(), "I2: empty, so identity");
    if (contents == nullptr) return;
    require(contents->size() == size(), "I1: the queue has the window's length");
    State total = op_.identity();
    auto at = this->store_.first();
    for (const State& value : *contents) {
      require_same(op_, this->store_[at], value, "I1: the queue holds the window's contents");
      total = op_.combine(total, value);
      at = this->store_.next(at);
    }
    require_same(op_, this->marks_, total, "I2: total is the fold of the queue");
  }

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    this->store_.for_each(visit);
    visit(this->marks_);
  }

  template <class Archive>
  void archive(Archive& a) {
    this->store_.archive(a, [&](auto& value) { archive_state(a, op_, value); });
    archive_state(a, op_, this->marks_);
  }

 private:
  Op op_;
};

}  // namespace slidefold
