// Fat: a perfect binary tree over a fixed number of slots, flat in one array.
//
// Layout: c slots, a power of two; node 1 is the root, the children of node h are 2h and 2h+1, slot
//   i is node c+i. A byte per node: filled (else it is the neutral marker, which needs no combine)
//   and stale (a slot below was written and this node not yet repaired).
// Invariants: I1 c is a power of two and there are 2c nodes, node 0 unused. I2 above a stale node
//   all are stale; a slot never is. I3 an inner node that is not stale is filled iff one of its
//   children is, and holds their combine.
// Cost: climb log2 c. Marking m slots and repairing, m(1 + ceil(log2(c/m))): each node above them
//   once. root 0. A fold up to the last slot or from the first one, log2 c; any fold, 2 log2 c.
//   2c-1 states.
// Paper: reactive-aggregator-flatfat, sections 4.2 and 4.3.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/slots.hpp"

namespace slidefold {

template <Monoid Op>
class Fat {
 public:
  using State = typename Op::State;
  using Part = std::optional<State>;

  Fat(Op op, std::size_t slots) : op_(std::move(op)), states_(2 * slots), flags_(2 * slots) {}

  const Op& op() const { return op_; }
  std::size_t slots() const { return flags_.size() / 2; }
  std::size_t bytes() const { return states_.bytes() + flags_.bytes(); }
  bool filled(std::size_t slot) const { return is(slots() + slot, kFilled); }
  bool stale() const { return is(1, kStale); }
  const State& operator[](std::size_t slot) const { return states_[slots() + slot]; }
  const State& root() const { return states_[1]; }

  // These three leave the nodes above as they are: climb, or mark and later repair.
  void write(std::size_t slot, State value) {
    states_.set(slots() + slot, std::move(value));
    flags_.set(slots() + slot, kFilled);
  }
  void clear(std::size_t slot) {
    states_.clear(slots() + slot);
    flags_.set(slots() + slot, 0);
  }
  State take(std::size_t slot) { return states_.take(slots() + slot); }

  // Brings one written slot into a tree without stale nodes.
  void climb(std::size_t slot) {
    for (std::size_t node = (slots() + slot) / 2; node > 0; node /= 2) pull(node);
  }

  // Says that a slot was written. Ends at the first stale node: those above it are stale too.
  void mark(std::size_t slot) {
    for (std::size_t node = (slots() + slot) / 2; node > 0 && !is(node, kStale); node /= 2) {
      flags_.set(node, static_cast<std::uint8_t>(flags_[node] | kStale));
    }
  }

  void repair() { repair(1); }

  // A new tree with these values in its first slots, marked but not yet repaired.
  void rebuild(std::size_t slots, std::vector<State> values) {
    std::vector<State> states(2 * slots);
    std::vector<std::uint8_t> flags(2 * slots);
    for (std::size_t i = 0; i < values.size(); ++i) {
      states[slots + i] = std::move(values[i]);
      flags[slots + i] = kFilled;
    }
    states_.replace(std::move(states));
    flags_.replace(std::move(flags));
    for (std::size_t i = 0; i < values.size(); ++i) mark(i);
  }

  // Adds the slots from first to last, both included, to what is folded already. Goes from left to
  // right in the largest steps that a node covers: no branch on single bits, which nobody predicts.
  void fold(Part& older, std::size_t first, std::size_t last) const {
    for (std::size_t width; first <= last; first += width) {
      const std::size_t place = slots() + first;
      width = std::min(place & (~place + 1), std::bit_floor(last - first + 1));
      append(older, place >> std::countr_zero(width));
    }
  }

  void begin() { states_.begin(), flags_.begin(); }
  void commit() { states_.commit(), flags_.commit(); }
  void rollback() { states_.rollback(), flags_.rollback(); }

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    states_.for_each(visit);
  }

  // Saves or loads all nodes; a stale one only says so, as nobody reads it before its repair.
  template <class Archive>
  void archive(Archive& a) {
    const std::size_t count = 2 * a.length(slots());
    if constexpr (Archive::kLoading) {
      expect(std::has_single_bit(count), "the number of slots of a tree is not a power of two");
      states_.replace(std::vector<State>(count));
      flags_.replace(std::vector<std::uint8_t>(count));
    }
    for (std::size_t node = 1; node < count; ++node) {
      std::uint8_t flag = is(node, kStale) ? kStale : flags_[node];
      a(flag);
      if constexpr (Archive::kLoading) {
        expect(flag <= kStale, "a node is neither empty nor filled nor stale");
        flags_.set(node, flag);
        if (flag != kFilled) continue;
        State state{};
        archive_state(a, op_, state);
        states_.set(node, std::move(state));
      } else {
        if (flag == kFilled) archive_state(a, op_, states_[node]);
      }
    }
  }

  void check() const {
    require(std::has_single_bit(slots()) && states_.size() == flags_.size(), "I1: 2c nodes");
    for (std::size_t node = 1; node < flags_.size(); ++node) {
      const bool leaf = node >= slots();
      if (is(node, kStale)) require(!leaf && (node == 1 || is(node / 2, kStale)), "I2: stale");
      if (leaf || is(node, kStale)) continue;
      Part joined;
      append(joined, 2 * node);
      append(joined, 2 * node + 1);
      require(is(node, kFilled) == joined.has_value(), "I3: filled iff a child is");
      if (joined) require_same(op_, states_[node], *joined, "I3: the combine of the children");
    }
  }

 private:
  static constexpr std::uint8_t kFilled = 1;
  static constexpr std::uint8_t kStale = 2;

  bool is(std::size_t node, std::uint8_t flag) const { return (flags_[node] & flag) != 0; }

  void append(Part& older, std::size_t node) const {
    if (!is(node, kFilled)) return;
    if (older) {
      absorb(op_, *older, states_[node]);
    } else {
      older = states_[node];
    }
  }

  // Computes a node again from its children.
  void pull(std::size_t node) {
    const std::size_t left = 2 * node, right = left + 1;
    const bool older = is(left, kFilled), newer = is(right, kFilled);
    if (older && newer) {
      states_.set(node, op_.combine(states_[left], states_[right]));
    } else if (older || newer) {
      states_.set(node, states_[older ? left : right]);
    } else {
      states_.clear(node);
    }
    flags_.set(node, older || newer ? kFilled : 0);
  }

  void repair(std::size_t node) {
    if (!is(node, kStale)) return;
    repair(2 * node);
    repair(2 * node + 1);
    pull(node);
  }

  Op op_;
  Slots<State, fallible_v<Op>> states_;
  Slots<std::uint8_t, fallible_v<Op>> flags_;
};

}  // namespace slidefold
