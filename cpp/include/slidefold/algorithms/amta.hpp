// Amta: perfect binary trees over the window, which lose nodes at the old end and gain them at the
// young one.
//
// Layout: values have absolute positions, F the oldest and E the end. Node (k, j) folds the 2^k
//   values from j*2^k on; it exists while all of them are in the window. All nodes lie in one ring
//   in their in-order numbering: value p at 2p, node (k, j) at (2j+1)*2^k - 1, so the ring is
//   [2F, 2E). Beside it the window is split at T: a stack holds folds from some positions, the
//   oldest on top, up to T; `back` is the running fold from T on. An evict only takes from the
//   stack what begins too early; the next query fills the gap below the top with the fewest nodes.
// Invariants: I1 the ring is [2F, 2E). I2 an existing node holds its fold. I3 the positions of the
//   stack fall towards its top and lie in [F, T]; each entry folds from there up to T. I4 F <= T <=
//   E, and back folds [T, E); or T < F: all was evicted that was folded, and the stack is empty.
// Cost: insert amortised < 2, at most 1 + log2 n. evict 0 and bulk_evict 0 combines, the latter in
//   O(log n) steps for states that own nothing. query at most 1 + 2 log2 n, amortised 1 + 1 an
//   evict
//   + 1/2 an insert. 2n states in nodes, at most 2 log2 n + 1 beside them.
// Paper: described in daba-in-order, section 8.1, and fiba-bulk, section 2.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold {

template <class Op>
struct AmtaTypes {
  using State = typename Op::State;
  struct Entry {
    std::uint64_t start{};
    State agg{};
  };
  struct Store {
    Ring<State, fallible_v<Op>> nodes;
    Ring<Entry, fallible_v<Op>> stack;
    void begin() { nodes.begin(), stack.begin(); }
    void commit() { nodes.commit(), stack.commit(); }
    void rollback() { nodes.rollback(), stack.rollback(); }
  };
  struct Marks {
    std::uint64_t split = 0;
    State back{};
  };
};

template <Monoid Op>
class Amta : public Undoable<typename AmtaTypes<Op>::Store, typename AmtaTypes<Op>::Marks,
                             fallible_v<Op>> {
 public:
  using State = typename Op::State;
  using Position = std::uint64_t;

  explicit Amta(Op op) : op_(std::move(op)) {}

  std::size_t size() const { return static_cast<std::size_t>(end() - front()); }
  std::size_t bytes() const {
    return this->store_.nodes.bytes() + this->store_.stack.bytes() + sizeof(State);
  }
  void reserve(std::size_t count) { this->store_.nodes.reserve(2 * count); }

  void insert(State value) {
    auto& [split, back] = this->marks_;
    auto& nodes = this->store_.nodes;
    const Position at = end();
    if (split == at) {
      back = value;
    } else if (front() <= split) {
      absorb(op_, back, value);
    }
    nodes.push_back(std::move(value));
    nodes.push_back(State{});  // the place of an inner node that a later value completes
    for (unsigned level = 0; (at >> level) % 2 == 1; ++level) {
      const Position right = at >> level;
      if ((right - 1) << level < front()) break;
      nodes.set(index(level + 1, right / 2),
                op_.combine(nodes[index(level, right - 1)], nodes[index(level, right)]));
    }
  }

  void evict() { bulk_evict(1); }

  // Drops the `count` oldest values; count <= size().
  void bulk_evict(std::size_t count) {
    auto& [nodes, stack] = this->store_;
    auto& [split, back] = this->marks_;
    const Position from = front() + count;
    if constexpr (!std::is_trivially_destructible_v<State>) release(from);
    nodes.drop_front(2 * count);
    while (!stack.empty() && stack.back().start < from) stack.pop_back();
    if (from == end()) split = from;
    if (split < from || from == end()) back = State{};
  }

  State query() {
    auto& [nodes, stack] = this->store_;
    auto& [split, back] = this->marks_;
    if (split < front()) split = end();
    cover();
    if (stack.empty()) return split == end() ? op_.identity() : back;
    if (split == end()) return stack.back().agg;
    return op_.combine(stack.back().agg, back);
  }

  void check(const std::vector<State>* contents) const;

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    this->store_.nodes.for_each(visit);
    this->store_.stack.for_each([&](const auto& entry) { visit(entry.agg); });
    visit(this->marks_.back);
  }

  // Only nodes that exist are saved: where they lie says which do.
  template <class Archive>
  void archive(Archive& a) {
    auto& [nodes, stack] = this->store_;
    auto& [split, back] = this->marks_;
    const auto state = [&](auto& visited) { archive_state(a, op_, visited); };
    const std::size_t count = a.length(size());
    Position from = front();
    a(from);
    if constexpr (Archive::kLoading) {
      expect_position(from);
      nodes.restart(2 * from);
    }
    const Position to = from + count;
    for (Position at = 2 * from; at < 2 * to; ++at) {
      const bool there = exists(at, from, to);
      if constexpr (Archive::kLoading) {
        State node{};
        if (there) state(node);
        nodes.push_back(std::move(node));
      } else {
        if (there) state(nodes[at]);
      }
    }
    stack.archive(a, [&](auto& entry) {
      a(entry.start);
      state(entry.agg);
    });
    a(split);
    if constexpr (Archive::kLoading) {
      expect(split <= to, "the window is split beyond its end");
      back = State{};
    }
    if (from <= split && split < to) state(back);
  }

 private:
  static Position index(unsigned level, Position node) { return ((2 * node + 1) << level) - 1; }
  // Whether the node at a place of the ring has all its values in [from, to).
  static bool exists(Position at, Position from, Position to) {
    const int level = std::countr_one(at);
    const Position node = at >> level >> 1;
    return from <= node << level && (node + 1) << level <= to;
  }
  Position front() const { return this->store_.nodes.first() / 2; }
  Position end() const { return this->store_.nodes.last() / 2; }

  // Completes the stack down to the oldest value, youngest node first.
  void cover() {
    auto& [nodes, stack] = this->store_;
    Position at = stack.empty() ? this->marks_.split : stack.back().start;
    while (at > front()) {
      const Position aligned = at & (~at + 1);
      const Position width = std::min(aligned, std::bit_floor(at - front()));
      const auto level = static_cast<unsigned>(std::countr_zero(width));
      at -= width;
      const State& node = nodes[index(level, at >> level)];
      stack.push_back({at, stack.empty() ? node : op_.combine(node, stack.back().agg)});
    }
  }

  // Empties the nodes that begin before `from` but lie behind it in the ring.
  void release(Position from) {
    auto& nodes = this->store_.nodes;
    for (unsigned level = 1; size() >> level > 0; ++level) {
      const Position start = from >> level << level;
      if (start < front()) return;
      const Position at = index(level, from >> level);
      if (start < from && 2 * from <= at && at < nodes.last()) nodes.set(at, State{});
    }
  }

  Op op_;
};

template <Monoid Op>
void Amta<Op>::check(const std::vector<State>* contents) const {
  const auto& [nodes, stack] = this->store_;
  const auto& [split, back] = this->marks_;
  const Position from = front(), to = end();
  require(nodes.first() % 2 == 0 && nodes.last() % 2 == 0, "I1: the ring is [2F, 2E)");
  require(split <= to && (from <= split || stack.empty()), "I4: F <= T <= E, or nothing is folded");
  for (auto at = stack.first(); at != stack.last(); ++at) {
    const Position older = at == stack.first() ? split : stack[stack.prev(at)].start;
    require(from <= stack[at].start && stack[at].start < older, "I3: positions fall");
  }
  if (contents == nullptr) return;
  const auto& v = *contents;
  require(v.size() == size(), "I1: E - F is the window's length");
  const auto same = [&](const State& kept, Position first, Position last, const char* invariant) {
    State fold = v[first - from];
    for (Position p = first + 1; p < last; ++p) fold = op_.combine(fold, v[p - from]);
    require_same(op_, kept, fold, invariant);
  };
  for (unsigned level = 0; v.size() >> level > 0; ++level) {
    const Position width = Position{1} << level;
    for (Position p = (from + width - 1) / width * width; p + width <= to; p += width) {
      same(nodes[index(level, p / width)], p, p + width, "I2: a node holds its fold");
    }
  }
  for (auto at = stack.first(); at != stack.last(); ++at) {
    same(stack[at].agg, stack[at].start, split, "I3: an entry folds up to T");
  }
  if (from <= split && split < to) same(back, split, to, "I4: back folds [T, E)");
}

}  // namespace slidefold
