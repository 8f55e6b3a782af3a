// FlatFit: a query skips what earlier queries have already folded.
//
// Layout: a circular buffer of {agg, end}: the fold of the window from this value up to, and
//   without, the position `end`. A query hops from the oldest value along the ends, remembers its
//   hops on a stack, and on the way back lets each slot it came by reach to the end of the window.
//   Positions are absolute, so doubling and halving the buffer leaves them as they are.
// Invariants: I1 the buffer has the window's length. I2 the stretch at p ends at some q,
//   p < q <= E. I3 stretches are nested: none ends within a younger one. I4 agg = v_p * .. *
//   v_{q-1}.
// Cost: insert 0, evict 0, query at most n-1. Amortised 3 combines per slide when each slide of a
// full
//   window is queried: one query in n+1 walks the whole window, the others take 2. Amortised O(1)
//   a step in any interleaving. n states, n ends and the stack.
// Paper: described in pba-parallel-boundary, section 3.1, and daba-in-order, sections 7 and 8.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold {

template <class Op>
struct FlatFitTypes {
  struct Stretch {
    typename Op::State agg{};
    std::uint64_t end{};
  };
  using Store = Ring<Stretch, fallible_v<Op>>;
  struct Marks {};
};

template <Monoid Op>
class FlatFit : public Undoable<typename FlatFitTypes<Op>::Store, typename FlatFitTypes<Op>::Marks,
                                fallible_v<Op>> {
 public:
  using State = typename Op::State;
  using Cursor = typename FlatFitTypes<Op>::Store::Cursor;

  explicit FlatFit(Op op) : op_(std::move(op)) {}

  std::size_t size() const { return this->store_.size(); }
  std::size_t bytes() const { return this->store_.bytes() + hops_.capacity() * sizeof(Cursor); }
  void reserve(std::size_t count) { this->store_.reserve(count); }

  void insert(State value) { this->store_.push_back({std::move(value), this->store_.last() + 1}); }

  void evict() {
    this->store_.pop_front();
    if (hops_.capacity() > kFewHops && hops_.capacity() > 4 * size()) {
      hops_ = std::vector<Cursor>();  // {} would keep its memory
    }
  }

  State query() {
    auto& store = this->store_;
    if (store.empty()) return op_.identity();
    hops_.clear();  // a query that failed may have left some
    Cursor at = store.first();
    for (; store[at].end != store.last(); at = store[at].end) hops_.push_back(at);
    for (; !hops_.empty(); hops_.pop_back()) {
      const Cursor newer = std::exchange(at, hops_.back());
      store.set(at, {op_.combine(store[at].agg, store[newer].agg), store.last()});
    }
    return store.front().agg;
  }

  void check(const std::vector<State>* contents) const {
    const auto& store = this->store_;
    std::vector<Cursor> ends;  // of the stretches around this one, the innermost last
    for (Cursor at = store.first(); at != store.last(); ++at) {
      const Cursor end = store[at].end;
      require(at < end && end <= store.last(), "I2: a stretch ends after it begins");
      while (!ends.empty() && ends.back() <= at) ends.pop_back();
      require(ends.empty() || end <= ends.back(), "I3: stretches are nested");
      ends.push_back(end);
    }
    if (contents == nullptr) return;
    const auto& v = *contents;
    require(v.size() == size(), "I1: the buffer has the window's length");
    for (std::size_t i = 0; i < v.size(); ++i) {
      State fold = v[i];
      for (std::size_t j = i + 1; j < store.rank(store[store.at(i)].end); ++j) {
        fold = op_.combine(fold, v[j]);
      }
      require_same(op_, store[store.at(i)].agg, fold, "I4: agg folds the stretch");
    }
  }

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    this->store_.for_each([&](const auto& stretch) { visit(stretch.agg); });
  }

  template <class Archive>
  void archive(Archive& a) {
    this->store_.archive(a, [&](auto& stretch) {
      a(stretch.end);
      archive_state(a, op_, stretch.agg);
    });
  }

 private:
  static constexpr std::size_t kFewHops = 64;

  Op op_;
  std::vector<Cursor> hops_;
};

}  // namespace slidefold
