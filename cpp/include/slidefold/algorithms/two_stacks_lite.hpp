// Two-Stacks Lite: one queue, its front part aggregated for eviction, its back part raw.
//
// Layout: F ... B ... E. The front list [F, B) holds suffix aggregates up to B, the back list
//   [B, E) lifted values, agg_b their fold.
// Invariants: I1 F <= B <= E. I2 front: *(F+i) = v_i * .. * v_{B-F-1}. I3 back: *(F+i) = v_i.
//   I4 agg_b = the fold of the back list.
// Cost: query 1, insert 1, evict amortised 1 and at most n (the flip); n+1 states.
// Paper: daba-in-order, section 4.
#pragma once

#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold {

template <class Op>
struct TwoStacksLiteTypes {
  using Store = Ring<typename Op::State, fallible_v<Op>>;
  struct Marks {
    typename Store::Cursor b{};
    typename Op::State agg_b{};
  };
};

template <Monoid Op>
class TwoStacksLite : public Undoable<typename TwoStacksLiteTypes<Op>::Store,
                                      typename TwoStacksLiteTypes<Op>::Marks, fallible_v<Op>> {
 public:
  using State = typename Op::State;

  explicit TwoStacksLite(Op op) : op_(std::move(op)) { this->marks_.agg_b = op_.identity(); }

  std::size_t size() const { return this->store_.size(); }
  std::size_t bytes() const { return this->store_.bytes() + sizeof(State); }
  void reserve(std::size_t count) { this->store_.reserve(count); }

  State query() const {
    const auto& store = this->store_;
    const auto& [b, agg_b] = this->marks_;
    if (b == store.first()) return agg_b;
    if (b == store.last()) return store.front();
    return op_.combine(store.front(), agg_b);
  }

  void insert(State value) {
    auto& [b, agg_b] = this->marks_;
    if (b == this->store_.last()) {
      agg_b = value;
    } else {
      absorb(op_, agg_b, value);
    }
    this->store_.push_back(std::move(value));
  }

  void evict() {
    if (this->marks_.b == this->store_.first()) flip();
    this->store_.pop_front();
  }

  void check(const std::vector<State>* contents) const {
    const auto& store = this->store_;
    const auto& [b, agg_b] = this->marks_;
    const std::size_t front = store.rank(b);
    require(front <= size(), "I1: F <= B <= E");
    if (contents == nullptr) return;
    const auto& v = *contents;
    require(v.size() == size(), "I1: E - F is the window's length");
    State fold = op_.identity();
    for (std::size_t i = front; i-- > 0;) {
      fold = op_.combine(v[i], fold);
      require_same(op_, store[store.at(i)], fold, "I2: front holds suffix aggregates");
    }
    fold = op_.identity();
    for (std::size_t i = front; i < size(); ++i) {
      require_same(op_, store[store.at(i)], v[i], "I3: back holds lifted values");
      fold = op_.combine(fold, v[i]);
    }
    require_same(op_, agg_b, fold, "I4: agg_b is the fold of the back list");
  }

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    this->store_.for_each(visit);
    visit(this->marks_.agg_b);
  }

  template <class Archive>
  void archive(Archive& a) {
    this->store_.archive(a, [&](auto& value) { archive_state(a, op_, value); });
    archive_cursor(a, this->store_, this->marks_.b);
    archive_state(a, op_, this->marks_.agg_b);
  }

 private:
  void flip() {
    auto& store = this->store_;
    for (auto at = store.prev(store.last()); at != store.first();) {
      const auto newer = at;
      at = store.prev(at);
      store.set(at, op_.combine(store[at], store[newer]));
    }
    this->marks_.b = store.last();
    this->marks_.agg_b = op_.identity();
  }

  Op op_;
};

}  // namespace slidefold
