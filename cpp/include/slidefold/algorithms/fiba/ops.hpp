// What an aggregating B-tree does inside one or two nodes: fold, search, put, take, split, merge,
// move.
//
// Layout: the store of nodes and the operator; shared by the finger B-tree and the classic one.
// Invariants: those of node.hpp. Children's aggregates and counts travel with them; whoever
//   calls refreshes those of the nodes themselves in their parent.
// Cost: O(arity) each. Folds of cheap states run in four independent chains, which the processor
//   overlaps; the number of combines is the same.
// Paper: fiba-out-of-order, sections 3.1 and 3.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "slidefold/algorithms/fiba/node.hpp"
#include "slidefold/operator.hpp"

namespace slidefold::fiba {

// Folds what it is given, oldest first; nothing is combined with the identity.
template <class Op>
class Folder {
 public:
  using State = typename Op::State;
  explicit Folder(const Op& op) : op_(op) {}
  void add(const State& newer) {
    if (any_) {
      absorb(op_, state_, newer);
    } else {
      state_ = newer;
      any_ = true;
    }
  }
  bool any() const { return any_; }
  const State& peek() const { return state_; }  // of what was added, if anything was
  void clear() { any_ = false; }
  State take() { return any_ ? std::move(state_) : State(op_.identity()); }

 private:
  const Op& op_;
  bool any_ = false;
  State state_{};
};

template <Monoid Op, class Time>
class NodeOps {
 public:
  using State = typename Op::State;

  NodeOps(Op op, int min_arity, int max_arity)
      : op_(std::move(op)), nodes_(checked(min_arity, 2), checked(max_arity, 2 * min_arity)) {}

  int min_arity() const { return static_cast<int>(nodes_.min_entries()) + 1; }
  int max_arity() const { return static_cast<int>(nodes_.max_entries()) + 1; }

 protected:
  using NodeView = View<Time, State>;
  using Index = std::uint32_t;
  static constexpr bool kCheap = std::is_trivially_copyable_v<State> && sizeof(State) <= 32;
  // An aggregate takes a late entry in with one combine, wherever in it the entry lies.
  static constexpr bool kCommutes = kCheap && requires { requires Op::commutative; };

  static std::uint32_t checked(int arity, int least) {
    if (arity < least || arity > 1024) {
      throw std::invalid_argument(
          "min_arity must be at least 2, max_arity from twice that to 1024");
    }
    return static_cast<std::uint32_t>(arity);
  }

  // The first entry whose time is not before t.
  static Index lower_bound(const NodeView& node, Time t) {
    const Time* const times = node.times();
    const Index count = node.size();
    if (count == 0) return 0;
    // Halves without a branch that depends on the times.
    const Time* from = times;
    for (Index length = count; length > 1;) {
      const Index half = length / 2;
      from += from[half - 1] < t ? half : 0;
      length -= half;
    }
    return static_cast<Index>(from - times) + (*from < t ? 1u : 0u);
  }
  static Index upper_bound(const NodeView& node, Time t) {
    const Index at = lower_bound(node, t);
    return at < node.size() && !(t < node.times()[at]) ? at + 1 : at;
  }

  // v0 * .. * v_{n-1}, n > 0.
  State fold(const State* v, std::size_t n) const {
    if constexpr (kCheap) {
      return fold_items(n, [v](std::size_t i) { return v[i]; });
    } else {
      State fold = v[0];
      for (std::size_t i = 1; i < n; ++i) absorb(op_, fold, v[i]);
      return fold;
    }
  }

  // x0 * y0 * x1 * y1 * .. * y_{n-1}, n > 0.
  State fold_pairs(const State* x, const State* y, std::size_t n) const {
    if constexpr (kCheap) {
      return fold_items(n, [this, x, y](std::size_t i) { return op_.combine(x[i], y[i]); });
    } else {
      State fold = x[0];
      absorb(op_, fold, y[0]);
      for (std::size_t i = 1; i < n; ++i) {
        absorb(op_, fold, x[i]);
        absorb(op_, fold, y[i]);
      }
      return fold;
    }
  }

  // In four chains that do not wait for one another.
  template <class Item>
  State fold_items(std::size_t n, const Item& item) const {
    const std::size_t part = n / 4;
    State a = item(0);
    if (part == 0) {
      for (std::size_t i = 1; i < n; ++i) a = op_.combine(a, item(i));
      return a;
    }
    const std::size_t second = part, third = 2 * part, fourth = 3 * part;
    State b = item(second), c = item(third), d = item(fourth);
    for (std::size_t i = 1; i < part; ++i) {
      a = op_.combine(a, item(i));
      b = op_.combine(b, item(second + i));
      c = op_.combine(c, item(third + i));
      d = op_.combine(d, item(fourth + i));
    }
    for (std::size_t i = 4 * part; i < n; ++i) d = op_.combine(d, item(i));
    return op_.combine(op_.combine(a, b), op_.combine(c, d));
  }

  // The up-aggregate: the whole subtree.
  State up(int level, const NodeView& node) const {
    const Index count = node.size();
    if (level == 0) return fold(node.values(), count);
    State result = fold_pairs(node.aggs(), node.values(), count);
    absorb(op_, result, node.aggs()[count]);
    return result;
  }

  static std::uint64_t entries_below(int level, const NodeView& node) {
    std::uint64_t total = node.size();
    if (level > 0) {
      for (Index i = 0; i <= node.size(); ++i) total += node.counts()[i];
    }
    return total;
  }

  void put_leaf(const NodeView& node, Index at, Time t, State value) const {
    const Index count = node.size();
    if (node.head->first + count > nodes_.max_entries()) straighten(node);
    if (node.head->first > 0 && at < count / 2) {
      slide_items(node.times(), node.times() - 1, at);
      slide_items(node.values(), node.values() - 1, at);
      --node.head->first;
    } else {
      slide_items(node.times() + at, node.times() + at + 1, count - at);
      slide_items(node.values() + at, node.values() + at + 1, count - at);
    }
    node.times()[at] = t;
    node.values()[at] = std::move(value);
    node.head->count = count + 1;
  }

  // Puts an entry and the child right of it.
  static void put_inner(const NodeView& node, Index at, Time t, State value, NodeId child) {
    const Index count = node.size();
    slide_items(node.times() + at, node.times() + at + 1, count - at);
    slide_items(node.values() + at, node.values() + at + 1, count - at);
    slide_items(node.children() + at + 1, node.children() + at + 2, count - at);
    slide_items(node.aggs() + at + 1, node.aggs() + at + 2, count - at);
    slide_items(node.counts() + at + 1, node.counts() + at + 2, count - at);
    node.times()[at] = t;
    node.values()[at] = std::move(value);
    node.children()[at + 1] = child;
    node.head->count = count + 1;
  }

  static void take_leaf(const NodeView& node, Index at) {
    const Index count = node.size();
    if (at == 0) {
      clear_items(node.values(), 1);
      node.head->first = count == 1 ? 0 : node.head->first + 1;
    } else {
      slide_items(node.times() + at + 1, node.times() + at, count - at - 1);
      slide_items(node.values() + at + 1, node.values() + at, count - at - 1);
      clear_items(node.values() + count - 1, 1);
    }
    node.head->count = count - 1;
  }

  // Takes an entry and the child right of it.
  static void take_inner(const NodeView& node, Index at) {
    const Index count = node.size();
    slide_items(node.times() + at + 1, node.times() + at, count - at - 1);
    slide_items(node.values() + at + 1, node.values() + at, count - at - 1);
    slide_items(node.children() + at + 2, node.children() + at + 1, count - at - 1);
    slide_items(node.aggs() + at + 2, node.aggs() + at + 1, count - at - 1);
    slide_items(node.counts() + at + 2, node.counts() + at + 1, count - at - 1);
    clear_items(node.values() + count - 1, 1);
    clear_items(node.aggs() + count, 1);
    node.head->count = count - 1;
  }

  // Drops the first n entries, and in an inner node the n children left of them.
  static void take_front(int level, const NodeView& node, Index n) {
    const Index left = node.size() - n;
    if (level == 0) {
      clear_items(node.values(), n);
      node.head->first = left == 0 ? 0 : node.head->first + n;
    } else {
      slide_items(node.times() + n, node.times(), left);
      slide_items(node.values() + n, node.values(), left);
      slide_items(node.children() + n, node.children(), left + 1);
      slide_items(node.aggs() + n, node.aggs(), left + 1);
      slide_items(node.counts() + n, node.counts(), left + 1);
      clear_items(node.values() + left, n);
      clear_items(node.aggs() + left + 1, n);
    }
    node.head->count = left;
  }

  // Moves a leaf's entries to its first slots.
  static void straighten(const NodeView& node) {
    const Index first = node.head->first, count = node.size();
    if (first == 0) return;
    State* const values = node.values();
    slide_items(node.times(), node.times() - first, count);
    slide_items(values, values - first, count);
    const Index kept = count < first ? 0 : count - first;  // of the old places
    clear_items(values + kept, count - kept);
    node.head->first = 0;
  }

  // Copies n entries, and in inner nodes the children left of them, to another node's end; its
  // last child, if it has one, must have been put before the entry that follows it.
  static void append(int level, const NodeView& from, Index begin, Index n, const NodeView& to,
                     Index at) {
    slide_items(from.times() + begin, to.times() + at, n);
    slide_items(from.values() + begin, to.values() + at, n);
    if (level > 0) append_children(from, begin, n + 1, to, at);
  }
  static void append_children(const NodeView& from, Index begin, Index n, const NodeView& to,
                              Index at) {
    slide_items(from.children() + begin, to.children() + at, n);
    slide_items(from.aggs() + begin, to.aggs() + at, n);
    slide_items(from.counts() + begin, to.counts() + at, n);
  }

  // Splits an overflowing node: it keeps `keep` entries, the next one is returned, the rest goes to
  // the empty node `right`.
  std::pair<Time, State> split(int level, const NodeView& left, const NodeView& right,
                               Index keep) const {
    const Index count = left.size();
    append(level, left, keep + 1, count - keep - 1, right, 0);
    right.head->count = count - keep - 1;
    std::pair<Time, State> middle{left.times()[keep], std::move(left.values()[keep])};
    clear_items(left.values() + keep, count - keep);
    if (level > 0) clear_items(left.aggs() + keep + 1, count - keep);
    left.head->count = keep;
    return middle;
  }

  // Children `at` and `at` + 1 of `parent`, and the entry between them, become one: the left one.
  void merge(int level, NodeId above, Index at) {
    const NodeView parent = nodes_.inner(above);
    const NodeId gone = parent.children()[at + 1];
    nodes_.touch(level, parent.children()[at]);
    nodes_.touch(level, gone);
    nodes_.touch(level + 1, above);
    NodeView left = nodes_.at(level, parent.children()[at]);
    const NodeView right = nodes_.at(level, gone);
    if (level == 0) straighten(left);
    const Index count = left.size();
    left.times()[count] = parent.times()[at];
    left.values()[count] = std::move(parent.values()[at]);
    append(level, right, 0, right.size(), left, count + 1);
    left.head->count = count + 1 + right.size();
    take_inner(parent, at);
    nodes_.drop(level, gone);
  }

  // Moves n entries (and children) between the children `at` and `at` + 1 of `parent`.
  void move(int level, NodeId above, Index at, Index n, bool leftwards) {
    const NodeView parent = nodes_.inner(above);
    nodes_.touch(level, parent.children()[at]);
    nodes_.touch(level, parent.children()[at + 1]);
    nodes_.touch(level + 1, above);
    NodeView left = nodes_.at(level, parent.children()[at]);
    NodeView right = nodes_.at(level, parent.children()[at + 1]);
    if (level == 0) straighten(left);
    const Index l = left.size(), r = right.size();
    if (leftwards) {
      left.times()[l] = parent.times()[at];
      left.values()[l] = std::move(parent.values()[at]);
      append(level, right, 0, n - 1, left, l + 1);
      parent.times()[at] = right.times()[n - 1];
      parent.values()[at] = std::move(right.values()[n - 1]);
      left.head->count = l + n;
      take_front(level, right, n);
    } else {
      if (level == 0) straighten(right);
      slide_items(right.times(), right.times() + n, r);
      slide_items(right.values(), right.values() + n, r);
      if (level > 0) {
        slide_items(right.children(), right.children() + n, r + 1);
        slide_items(right.aggs(), right.aggs() + n, r + 1);
        slide_items(right.counts(), right.counts() + n, r + 1);
        append_children(left, l - n + 1, n, right, 0);
      }
      right.times()[n - 1] = parent.times()[at];
      right.values()[n - 1] = std::move(parent.values()[at]);
      slide_items(left.times() + l - n + 1, right.times(), n - 1);
      slide_items(left.values() + l - n + 1, right.values(), n - 1);
      parent.times()[at] = left.times()[l - n];
      parent.values()[at] = std::move(left.values()[l - n]);
      clear_items(left.values() + l - n, n);
      if (level > 0) clear_items(left.aggs() + l - n + 1, n);
      left.head->count = l - n;
      right.head->count = r + n;
    }
  }

  Op op_;
  Nodes<Time, State, fallible_v<Op>> nodes_;
};

}  // namespace slidefold::fiba
