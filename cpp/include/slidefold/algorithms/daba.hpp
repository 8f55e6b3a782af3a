// DABA: Two-Stacks whose flip is spread over the steps that follow it.
//
// Layout: one queue of {val, agg} with cursors F <= L <= R <= A <= B <= E. The agg fields of [F, L)
//   and [A, B) reach up to B, of [L, R) up to R; of [R, A) they reach back to R, of [B, E) to B.
// Invariants: I1 the cursors are in order. I2 either the window is empty or
//   |L,R| + |R,A| + |A,B| + 1 = |F,B| - |B,E| and |L,R| = |R,A|. I3 val fields hold the window's
//   contents. I4..I8 the agg fields: front, left, right, accumulator, back.
// Cost: query 1, insert <= 4, evict <= 3; insert and evict together 4 on average; 2n states. Worst
//   case constant, also while growing: the store never copies.
// Paper: daba-in-order, section 5.
#pragma once

#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/chunked_queue.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold {

template <class Op, template <class, bool> class Queue>
struct DabaTypes {
  struct Entry {
    typename Op::State val{}, agg{};
  };
  using Store = Queue<Entry, fallible_v<Op>>;
  struct Marks {
    typename Store::Cursor l{}, r{}, a{}, b{};
  };
};

template <Monoid Op, template <class, bool> class Queue = ChunkedQueue>
class Daba : public Undoable<typename DabaTypes<Op, Queue>::Store,
                             typename DabaTypes<Op, Queue>::Marks, fallible_v<Op>> {
 public:
  using State = typename Op::State;
  using Entry = typename DabaTypes<Op, Queue>::Entry;

  explicit Daba(Op op) : op_(std::move(op)) {
    auto& [l, r, a, b] = this->marks_;
    l = r = a = b = this->store_.first();
  }
  Daba(const Daba& other) : Daba(other.op_) {
    this->store_ = other.store_;
    const auto moved = [&](auto at) { return this->store_.at(other.store_.rank(at)); };
    const auto& [l, r, a, b] = other.marks_;
    this->marks_ = {moved(l), moved(r), moved(a), moved(b)};
  }
  Daba& operator=(const Daba&) = delete;  // the marks point into the store

  std::size_t size() const { return this->store_.size(); }
  std::size_t bytes() const { return this->store_.bytes(); }
  void reserve(std::size_t count) { this->store_.reserve(count); }

  State query() const {
    const auto& store = this->store_;
    const auto& marks = this->marks_;
    if (marks.b == store.first()) return op_.identity();
    if (marks.b == store.last()) return store.front().agg;
    return op_.combine(store.front().agg, store.back().agg);
  }

  void insert(State value) {
    auto& store = this->store_;
    State agg = this->marks_.b == store.last() ? value : op_.combine(store.back().agg, value);
    store.push_back({std::move(value), std::move(agg)});
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
    this->store_.for_each([&](const Entry& entry) { visit(entry.val), visit(entry.agg); });
  }

  template <class Archive>
  void archive(Archive& a) {
    auto& marks = this->marks_;
    this->store_.archive(a, [&](auto& entry) {
      archive_state(a, op_, entry.val);
      archive_state(a, op_, entry.agg);
    });
    for (auto* at : {&marks.l, &marks.r, &marks.a, &marks.b}) {
      archive_cursor(a, this->store_, *at);
    }
  }

 private:
  void fixup() {
    auto& store = this->store_;
    auto& [l, r, a, b] = this->marks_;
    if (b == store.first()) {  // singleton, or empty
      b = a = r = l = store.last();
      return;
    }
    if (l == b) {  // flip
      l = store.first();
      a = b = store.last();
    }
    if (l == r) {  // shift
      a = store.next(a);
      r = store.next(r);
      l = store.next(l);
    } else {  // shrink
      const auto older = store.prev(a);
      State left = op_.combine(store[l].agg, store[older].agg);
      if (a != b) left = op_.combine(left, store[a].agg);
      store.set(l, {store[l].val, std::move(left)});
      l = store.next(l);
      State value = store[older].val;
      State agg = a == b ? value : op_.combine(value, store[a].agg);
      store.set(older, {std::move(value), std::move(agg)});
      a = older;
    }
  }

  Op op_;
};

template <Monoid Op, template <class, bool> class Queue>
void Daba<Op, Queue>::check(const std::vector<State>* contents) const {
  const auto& store = this->store_;
  const auto& [cl, cr, ca, cb] = this->marks_;
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
    const auto& [val, agg] = store[store.at(i)];
    require_same(op_, val, v[i], "I3: val fields hold the window's contents");
    if (i < l) require_same(op_, agg, fold(i, b), "I4: front aggregates up to B");
    if (l <= i && i < r) require_same(op_, agg, fold(i, r), "I5: left aggregates up to R");
    if (r <= i && i < a) require_same(op_, agg, fold(r, i + 1), "I6: right aggregates from R");
    if (a <= i && i < b) require_same(op_, agg, fold(i, b), "I7: accumulator up to B");
    if (b <= i) require_same(op_, agg, fold(b, i + 1), "I8: back aggregates from B");
  }
}

}  // namespace slidefold
