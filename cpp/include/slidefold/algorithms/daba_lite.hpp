// DABA Lite: Two-Stacks Lite whose flip is spread over the steps that follow it.
//
// Layout: one queue with cursors F <= L <= R <= A <= B <= E. [F, L) and [A, B) hold suffix
//   aggregates up to B, [L, R) up to R; [R, A) and [B, E) hold lifted values; agg_ra folds [R, B)
//   and agg_b folds [B, E).
// Invariants: I1 the cursors are in order. I2 either the window is empty or
//   |L,R| + |R,A| + |A,B| + 1 = |F,B| - |B,E| and |L,R| = |R,A|. I3..I8 the contents: front, left,
//   right, accumulator, back, and the two folds (agg_ra only while L != R).
// Cost: query 1, insert <= 3, evict <= 2; insert and evict together 3 on average; n+2 states. Worst
//   case constant, also while growing: the default store never copies.
// Paper: daba-in-order, section 6.
#pragma once

#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/chunked_queue.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold {

template <class Op, template <class, bool> class Queue>
struct DabaLiteTypes {
  using Store = Queue<typename Op::State, fallible_v<Op>>;
  struct Marks {
    typename Store::Cursor l{}, r{}, a{}, b{};
    typename Op::State agg_ra{}, agg_b{};
  };
};

template <Monoid Op, template <class, bool> class Queue = ChunkedQueue>
class DabaLite : public Undoable<typename DabaLiteTypes<Op, Queue>::Store,
                                 typename DabaLiteTypes<Op, Queue>::Marks, fallible_v<Op>> {
 public:
  using State = typename Op::State;

  explicit DabaLite(Op op) : op_(std::move(op)) {
    auto& [l, r, a, b, agg_ra, agg_b] = this->marks_;
    l = r = a = b = this->store_.first();
    agg_ra = agg_b = op_.identity();
  }
  DabaLite(const DabaLite& other) : DabaLite(other.op_) {
    this->store_ = other.store_;
    const auto moved = [&](auto at) { return this->store_.at(other.store_.rank(at)); };
    const auto& [l, r, a, b, agg_ra, agg_b] = other.marks_;
    this->marks_ = {moved(l), moved(r), moved(a), moved(b), agg_ra, agg_b};
  }
  DabaLite& operator=(const DabaLite&) = delete;  // the marks point into the store

  std::size_t size() const { return this->store_.size(); }
  std::size_t bytes() const { return this->store_.bytes() + 2 * sizeof(State); }
  void reserve(std::size_t count) { this->store_.reserve(count); }

  State query() const {
    const auto& store = this->store_;
    const auto& marks = this->marks_;
    if (marks.b == store.first()) return op_.identity();
    if (marks.b == store.last()) return store.front();
    return op_.combine(store.front(), marks.agg_b);
  }

  void insert(State value) {
    auto& marks = this->marks_;
    if (marks.b == this->store_.last()) {
      marks.agg_b = value;
    } else {
      absorb(op_, marks.agg_b, value);
    }
    this->store_.push_back(std::move(value));
    fixup();
  }

  void evict() {
    this->store_.pop_front();
    fixup();
  }

  void check(const std::vector<State>* contents) const;

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    this->store_.for_each(visit);
    visit(this->marks_.agg_ra);
    visit(this->marks_.agg_b);
  }

  template <class Archive>
  void archive(Archive& a) {
    auto& marks = this->marks_;
    this->store_.archive(a, [&](auto& value) { archive_state(a, op_, value); });
    for (auto* at : {&marks.l, &marks.r, &marks.a, &marks.b}) {
      archive_cursor(a, this->store_, *at);
    }
    archive_state(a, op_, marks.agg_ra);
    archive_state(a, op_, marks.agg_b);
  }

 private:
  void fixup() {
    auto& store = this->store_;
    auto& [l, r, a, b, agg_ra, agg_b] = this->marks_;
    if (b == store.first()) {  // singleton, or empty
      b = a = r = l = store.last();
      agg_ra = agg_b = op_.identity();
      return;
    }
    if (l == b) {  // flip
      l = store.first();
      a = b = store.last();
      agg_ra = std::exchange(agg_b, op_.identity());
    }
    if (l == r) {  // shift
      a = store.next(a);
      r = store.next(r);
      l = store.next(l);
    } else {  // shrink
      store.set(l, op_.combine(store[l], agg_ra));
      l = store.next(l);
      const auto older = store.prev(a);
      if (a != b) store.set(older, op_.combine(store[older], store[a]));
      a = older;
    }
  }

  Op op_;
};

template <Monoid Op, template <class, bool> class Queue>
void DabaLite<Op, Queue>::check(const std::vector<State>* contents) const {
  const auto& store = this->store_;
  const auto& [cl, cr, ca, cb, agg_ra, agg_b] = this->marks_;
  const std::size_t l = store.rank(cl), r = store.rank(cr), a = store.rank(ca);
  const std::size_t b = store.rank(cb), n = size();
  require(l <= r && r <= a && a <= b && b <= n, "I1: F <= L <= R <= A <= B <= E");
  require(n == 0 || ((b - l) + 1 == b - (n - b) && r - l == a - r),
          "I2: the sublists have their sizes");
  if (contents == nullptr) return;
  const auto& v = *contents;
  require(v.size() == n, "I1: E - F is the window's length");
  const auto fold = [&](std::size_t from, std::size_t to) {
    State result = op_.identity();
    for (std::size_t i = from; i < to; ++i) result = op_.combine(result, v[i]);
    return result;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const State& kept = store[store.at(i)];
    if (i < l) require_same(op_, kept, fold(i, b), "I3: front aggregates up to B");
    if (l <= i && i < r) require_same(op_, kept, fold(i, r), "I4: left aggregates up to R");
    if (r <= i && i < a) require_same(op_, kept, v[i], "I5: right holds lifted values");
    if (a <= i && i < b) require_same(op_, kept, fold(i, b), "I6: accumulator up to B");
    if (b <= i) require_same(op_, kept, v[i], "I7: back holds lifted values");
  }
  if (l != r) require_same(op_, agg_ra, fold(r, b), "I8: agg_ra folds [R, B)");
  require_same(op_, agg_b, fold(b, n), "I8: agg_b folds [B, E)");
}

}  // namespace slidefold
