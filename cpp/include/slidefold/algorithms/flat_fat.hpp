// FlatFat: the Reactive Aggregator, a ring of values in the slots of a Fat tree.
//
// Layout: the ring occupies `span` slots from `front` on; a value evicted from within leaves a
// hole.
//   Each value has a running position, kept beside its slot; in ring order the positions rise,
//   holes included, so a position finds its slot by binary search, wherever compaction or resizing
//   moved it. The ring is inverted when it runs past the last slot: then the window is the suffix
//   from `front`, then the prefix up to the back.
// Invariants: I1..I3 those of the tree. I4 the tree is as large as it should be: for a fixed
//   capacity the next power of two, else at least 4 slots, a quarter of them in use unless it
//   has 4. I5 the ring begins and ends with a value; outside it there are none; `count` are inside.
//   I6 the positions rise along the ring, below `next`. I7 no node is stale, unless batched. I8 the
//   values along the ring are the window's contents.
// Cost (c slots): query 0, or <= 2 log2 c - 1 when inverted; prefix and suffix likewise, log2 c
// when
//   not inverted; insert and evict log2 c; m updated values, or m batched events brought in by a
//   trigger, m(1 + ceil(log2(c/m))). A full ring is compacted if n <= 3c/4, else doubled; it is
//   halved when n < c/4: c combines then, amortised O(1). With a fixed capacity a full ring is
//   compacted whatever it costs. 2c-1 states, c positions.
// Paper: reactive-aggregator-flatfat, section 5.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/algorithms/fat.hpp"
#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/slots.hpp"

namespace slidefold {

// An insert into a window of fixed capacity that is full.
struct CapacityFull : std::length_error {
  explicit CapacityFull(std::size_t capacity)
      : std::length_error("FlatFat holds at most " + std::to_string(capacity) +
                          (capacity == 1 ? " value" : " values") +
                          " (capacity=" + std::to_string(capacity) + "); evict first") {}
};

template <Monoid Op>
class FlatFat {
 public:
  using State = typename Op::State;
  using Position = std::uint64_t;

  // Capacity 0 grows and shrinks with the window. With `batch`, events only write slots.
  explicit FlatFat(Op op, std::size_t capacity = 0, bool batch = false)
      : fixed_(capacity),
        batch_(batch),
        tree_(std::move(op), slots_for(capacity)),
        positions_(tree_.slots()) {}

  std::size_t size() const { return marks_.count; }
  std::size_t capacity() const { return fixed_ != 0 ? fixed_ : tree_.slots(); }
  std::size_t bytes() const { return tree_.bytes() + positions_.bytes(); }
  void reserve(std::size_t) {}  // the policy owns the capacity

  // The position of the oldest value; size() > 0.
  Position oldest() const { return positions_[marks_.front]; }

  Position insert(State value) {
    auto& [front, span, count, next] = marks_;
    if (fixed_ != 0 && count == fixed_) throw CapacityFull(fixed_);
    if (span == tree_.slots()) make_room();
    const std::size_t slot = slot_at(span);
    tree_.write(slot, std::move(value));
    positions_.set(slot, next);
    ++span, ++count;
    settle(slot);
    return next++;
  }

  // How many values are older than the one at this position.
  std::size_t rank(Position position) const {
    const std::size_t slot = slot_of(position);
    std::size_t older = 0;
    for (std::size_t i = 0; slot_at(i) != slot; ++i) older += tree_.filled(slot_at(i)) ? 1 : 0;
    return older;
  }

  void evict() { evict_slot(marks_.front); }
  void evict_at(Position position) { evict_slot(slot_of(position)); }

  // Replaces the values at these positions, each given once.
  void update(const std::vector<std::pair<Position, State>>& changes);

  // Brings batched events into the tree, all at once.
  void trigger() { tree_.repair(); }

  State query() {
    trigger();
    if (marks_.count == 0) return tree_.op().identity();
    return inverted() ? fold(marks_.front, back()) : tree_.root();
  }

  // The window up to and including the value at this position. Where the ring is not inverted, the
  // slots before it are empty and cost nothing.
  State prefix(Position position) {
    const std::size_t slot = slot_of(position);
    trigger();
    return fold(inverted() ? marks_.front : 0, slot);
  }

  // The window from the value at this position on.
  State suffix(Position position) {
    const std::size_t slot = slot_of(position);
    trigger();
    return fold(slot, inverted() ? back() : tree_.slots() - 1);
  }

  void begin() {
    if constexpr (kUndo) saved_ = marks_, tree_.begin(), positions_.begin();
  }
  void commit() {
    if constexpr (kUndo) tree_.commit(), positions_.commit();
  }
  void rollback() {
    if constexpr (kUndo) marks_ = saved_, tree_.rollback(), positions_.rollback();
  }

  void check(const std::vector<State>* contents) const;

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    tree_.for_states(visit);
  }

  template <class Archive>
  void archive(Archive& a) {
    auto& [front, span, count, next] = marks_;
    tree_.archive(a);
    a(front, span, count, next);
    const std::size_t slots = tree_.slots();
    if constexpr (Archive::kLoading) {
      expect(front < slots && span <= slots && count <= span, "the ring is larger than its tree");
      expect_position(next);
      positions_.replace(std::vector<Position>(slots));
    }
    for (std::size_t rank = 0; rank < span; ++rank) {
      Position position = positions_[slot_at(rank)];
      a(position);
      if constexpr (Archive::kLoading) positions_.set(slot_at(rank), position);
    }
  }

 private:
  static constexpr bool kUndo = fallible_v<Op>;
  static constexpr std::size_t kSmallest = 4;

  struct Marks {
    std::size_t front = 0, span = 0, count = 0;
    Position next = 0;
  };

  // A capacity that no memory holds is refused where the memory is asked for.
  static std::size_t slots_for(std::size_t capacity) {
    return capacity == 0 ? kSmallest : std::bit_ceil(std::min(capacity, std::size_t{1} << 62));
  }

  std::size_t slot_at(std::size_t rank) const {
    return (marks_.front + rank) & (tree_.slots() - 1);
  }
  std::size_t back() const { return slot_at(marks_.span - 1); }
  bool inverted() const { return marks_.front + marks_.span > tree_.slots(); }

  std::size_t slot_of(Position position) const {
    std::size_t rank = 0;
    for (std::size_t end = marks_.span; rank < end;) {
      const std::size_t middle = rank + (end - rank) / 2;
      positions_[slot_at(middle)] < position ? rank = middle + 1 : end = middle;
    }
    const std::size_t slot = slot_at(rank);
    if (rank == marks_.span || positions_[slot] != position || !tree_.filled(slot)) {
      throw std::out_of_range("no value at position " + std::to_string(position));
    }
    return slot;
  }

  // The window's values from one slot to another, in ring order.
  State fold(std::size_t first, std::size_t last) const {
    typename Fat<Op>::Part whole;
    if (first > last) tree_.fold(whole, std::exchange(first, 0), tree_.slots() - 1);
    tree_.fold(whole, first, last);
    return *std::move(whole);
  }

  // Brings one written slot into the tree, with what a move has left stale.
  void settle(std::size_t slot) {
    if (!batch_ && !tree_.stale()) return tree_.climb(slot);
    tree_.mark(slot);
    if (!batch_) tree_.repair();
  }

  void evict_slot(std::size_t slot) {
    auto& [front, span, count, next] = marks_;
    tree_.clear(slot);
    if (--count == 0) front = span = 0;
    while (span > 0 && !tree_.filled(front)) front = slot_at(1), --span;
    while (span > 0 && !tree_.filled(back())) --span;
    const std::size_t slots = tree_.slots();
    if (fixed_ != 0 || slots == kSmallest || 4 * count >= slots) return settle(slot);
    resize(slots / 2);
    if (!batch_) tree_.repair();
  }

  void make_room() {
    const std::size_t slots = tree_.slots();
    fixed_ != 0 || 4 * marks_.count <= 3 * slots ? compact() : resize(2 * slots);
  }

  // Shifts the values towards the front until there are no holes.
  void compact() {
    std::size_t kept = 0;
    for (std::size_t rank = 0; rank < marks_.span; ++rank) {
      const std::size_t from = slot_at(rank);
      if (!tree_.filled(from)) continue;
      const std::size_t to = slot_at(kept++);
      if (from == to) continue;
      tree_.write(to, tree_.take(from));
      tree_.clear(from);
      tree_.mark(to);
      tree_.mark(from);
      positions_.set(to, positions_[from]);
    }
    marks_.span = kept;
  }

  void resize(std::size_t slots) {
    std::vector<State> values;
    std::vector<Position> positions;
    values.reserve(marks_.count);
    positions.reserve(slots);
    for (std::size_t rank = 0; rank < marks_.span; ++rank) {
      const std::size_t slot = slot_at(rank);
      if (!tree_.filled(slot)) continue;
      values.push_back(tree_.take(slot));
      positions.push_back(positions_[slot]);
    }
    positions.resize(slots);
    tree_.rebuild(slots, std::move(values));
    positions_.replace(std::move(positions));
    marks_.front = 0;
    marks_.span = marks_.count;
  }

  std::size_t fixed_;
  bool batch_;
  Fat<Op> tree_;
  Slots<Position, kUndo> positions_;
  Marks marks_;
  struct Nothing {};
  std::conditional_t<kUndo, Marks, Nothing> saved_{};
};

template <Monoid Op>
void FlatFat<Op>::update(const std::vector<std::pair<Position, State>>& changes) {
  std::vector<std::size_t> slots;
  for (const auto& [position, state] : changes) slots.push_back(slot_of(position));
  std::vector<std::size_t> sorted = slots;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    throw std::invalid_argument("position " + std::to_string(positions_[*twice]) +
                                " is given twice");
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    tree_.write(slots[i], changes[i].second);
    tree_.mark(slots[i]);
  }
  if (!batch_) tree_.repair();
}

template <Monoid Op>
void FlatFat<Op>::check(const std::vector<State>* contents) const {
  tree_.check();
  const std::size_t slots = tree_.slots();
  const auto& [front, span, count, next] = marks_;
  require(fixed_ == 0 ? slots == kSmallest || (slots > kSmallest && 4 * count >= slots)
                      : slots == slots_for(fixed_) && count <= fixed_,
          "I4: the tree has its size");
  require(span <= slots && count <= span && (count == 0) == (span == 0), "I5: the ring's size");
  require(span == 0 || (tree_.filled(front) && tree_.filled(back())), "I5: ends with values");
  require(batch_ || !tree_.stale(), "I7: no node is stale");
  std::size_t found = 0;
  for (std::size_t rank = 0; rank < slots; ++rank) {
    const std::size_t slot = slot_at(rank);
    if (rank >= span) {
      require(!tree_.filled(slot), "I5: no values outside the ring");
      continue;
    }
    require(positions_[slot] < next, "I6: positions are below next");
    if (rank > 0) require(positions_[slot_at(rank - 1)] < positions_[slot], "I6: they rise");
    if (!tree_.filled(slot)) continue;
    if (contents != nullptr) {
      require(found < contents->size(), "I8: no more values than the window has");
      require_same(tree_.op(), tree_[slot], (*contents)[found], "I8: the window's contents");
    }
    ++found;
  }
  require(found == count, "I5: count values are in the ring");
  require(contents == nullptr || count == contents->size(), "I8: the window's length");
}

}  // namespace slidefold
