// Reading a finger B-tree: range queries, iteration, and the check of all its invariants.
//
// Layout: that of tree.hpp; nothing is kept here.
// Invariants: those of tree.hpp; check() verifies each.
// Cost: query(since, until) O(log d_from + log d_to + log n_sub). for_each O(n). next O(log d).
// Paper: fiba-out-of-order, section 4. Its figure 10 tests i + 1 < arity - 2 in line 20, which
//   leaves out a child; i + 1 < arity - 1 is meant. Its i_from is the smallest such index, i_to
//   the largest.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "slidefold/algorithms/fiba/tree.hpp"

namespace slidefold::fiba {

template <Monoid Op, class Time>
class ReadTree : public Tree<Op, Time> {
  using Base = Tree<Op, Time>;

 public:
  using State = typename Op::State;
  using Base::Base;
  using Base::empty;
  using Base::height;
  using Base::query;

  // The fold of the entries with since <= time <= until.
  State query(Time since, Time until) const {
    Folder<Op> result(op_);
    add_range(since, until, result);
    return result.take();
  }

  // Adds the entries with since <= time <= until to a fold.
  void add_range(Time since, Time until, Folder<Op>& result) const {
    if (empty() || until < since) return;
    const auto [l, id] = cover(since, until);
    add(l, id, &since, &until, result);
  }

  // Calls visit(time, state) in time order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (!empty()) walk(this->top(), this->root(), visit);
  }

  // The first entry after t.
  std::optional<std::pair<Time, State>> next(Time t) const {
    if (empty() || !(t < this->youngest())) return std::nullopt;
    auto [l, side] = this->join(t, t);
    // In the left subtree it may be the entry after it: one level more has it, if it is not there.
    std::optional<std::pair<Time, State>> found;
    for (int from = l; !found && from <= this->top(); ++from) {
      NodeId id =
          side == Base::Side::kLeft ? this->level(from).left.node : this->level(from).right.node;
      for (int at = from;; --at) {
        const NodeView node = nodes_.at(at, id);
        const Index i = Base::upper_bound(node, t);
        if (i < node.size()) found.emplace(node.times()[i], node.values()[i]);
        if (at == 0) break;
        id = node.children()[i];
      }
    }
    return found;
  }

  // Throws BrokenInvariant. With the true contents, in time order, also compares those.
  void check(const std::vector<std::pair<Time, State>>* contents = nullptr) const {
    if (contents != nullptr) {
      std::size_t i = 0;
      for_each([&](Time t, const State& value) {
        require(i < contents->size() && (*contents)[i].first == t,
                "I2: the times are the window's");
        require_same(op_, value, (*contents)[i].second, "I2: the values are the window's");
        ++i;
      });
      require(i == contents->size(), "I9: no entry is missing");
    }
    if (empty()) {
      require(this->size_ == 0, "I9: an empty tree has no entries");
      return nodes_.check(0);
    }
    std::size_t reached = 0;
    const auto [fold, count] = check_node(this->top(), this->root(), nullptr, nullptr, reached);
    require(count == this->size_, "I9: size is the number of entries");
    nodes_.check(reached);
    require(this->levels_.back().left.node == this->levels_.back().right.node,
            "I8: there is one root");
    check_spine(true);
    check_spine(false);
    check_suffixes();
    this->check_late();
    require_same(op_, query(), fold, "I5-I7: query is the fold of all entries");
  }

 protected:
  using Base::nodes_;
  using Base::op_;
  using typename Base::Index;
  using typename Base::NodeView;

 private:
  // The lowest spine node below which all times of a range lie, and its level.
  std::pair<int, NodeId> cover(Time since, Time until) const {
    const auto [l, side] = this->join(since, until);
    const auto& level = this->level(l);
    return {l, side == Base::Side::kLeft ? level.left.node : level.right.node};
  }

  // Adds what lies in the range, at least one bound given, or a spine node's whole subtree. A bound
  // that the subtree cannot reach is null: it is not looked at again.
  void add(int l, NodeId id, const Time* since, const Time* until, Folder<Op>& result) const {
    const NodeView node = nodes_.at(l, id);
    const Index begin = since == nullptr ? 0 : Base::lower_bound(node, *since);
    const Index end = until == nullptr ? node.size() : Base::upper_bound(node, *until);
    for (Index i = begin; i <= end; ++i) {
      if (l > 0)
        add_child(l, node, i, i == begin ? since : nullptr, i == end ? until : nullptr, result);
      if (i < end) result.add(node.values()[i]);
    }
  }

  void add_child(int l, const NodeView& node, Index i, const Time* since, const Time* until,
                 Folder<Op>& result) const {
    const NodeId child = node.children()[i];
    // The entry before the child, or after it, may be the bound itself: then nothing lies beyond
    // it.
    if (since != nullptr && i < node.size() && !(*since < node.times()[i])) return;
    if (until != nullptr && i > 0 && !(node.times()[i - 1] < *until)) return;
    const bool spine = this->on_left(l - 1, child) || this->on_right(l - 1, child);
    if (since == nullptr && until == nullptr && !spine) return result.add(node.aggs()[i]);
    add(l - 1, child, since, until, result);
  }

  template <class Visit>
  void walk(int l, NodeId id, Visit& visit) const {
    const NodeView node = nodes_.at(l, id);
    for (Index i = 0; i < node.size(); ++i) {
      if (l > 0) walk(l - 1, node.children()[i], visit);
      visit(node.times()[i], static_cast<const State&>(node.values()[i]));
    }
    if (l > 0) walk(l - 1, node.children()[node.size()], visit);
  }

  // The fold and number of all entries below.
  std::pair<State, std::uint64_t> check_node(int l, NodeId id, const Time* after,
                                             const Time* before, std::size_t& reached) const {
    ++reached;
    require(nodes_.live(l, id), "I4: no node of the tree is on the free list");
    const NodeView node = nodes_.at(l, id);
    const Index count = node.size();
    const bool spine = this->on_left(l, id) || this->on_right(l, id);
    require(count <= nodes_.max_entries(), "I3: a node has at most 2 mu children");
    require(count >= (spine ? 1 : this->min_entries()), "I3: a node has enough children");
    require(l == 0 || node.head->first == 0, "nodes I2: an inner node starts at its first slot");
    require(node.head->first + count <= nodes_.max_entries() + 1,
            "nodes I1: entries are in their node");
    for (Index i = 0; i < count; ++i) {
      const Time t = node.times()[i];
      require(i == 0 ? after == nullptr || *after < t : node.times()[i - 1] < t,
              "I2: times ascend");
      require(before == nullptr || t < *before, "I2: times ascend");
    }
    Folder<Op> fold(op_);
    std::uint64_t total = count;
    for (Index i = 0; i <= count; ++i) {
      if (l > 0) {
        const auto [below, number] =
            check_node(l - 1, node.children()[i], i == 0 ? after : node.times() + i - 1,
                       i == count ? before : node.times() + i, reached);
        const NodeId child = node.children()[i];
        if (!this->on_left(l - 1, child) && !this->on_right(l - 1, child)) {
          require_same(op_, node.aggs()[i], below, "I4: up-aggregates are the folds of subtrees");
          require(node.counts()[i] == number, "I9: counts are the numbers of entries below");
        }
        fold.add(below);
        total += number;
      }
      if (i < count) fold.add(node.values()[i]);
    }
    return {fold.take(), total};
  }

  void check_spine(bool left) const {
    NodeId id = this->root();
    std::vector<State> above;  // the fold of the spine aggregates so far, if any
    for (int l = this->top(); l >= 0; --l) {
      const auto& level = this->level(l);
      require(id == (left ? level.left.node : level.right.node),
              "I8: fingers are the ends of their levels");
      const NodeView node = nodes_.at(l, id);
      const Index count = node.size();
      const bool root = l == this->top();
      Folder<Op> fold(op_);
      if (!left && !root && !above.empty()) fold.add(above[0]);
      for (Index i = 0; i < count; ++i) {
        if (l > 0 && !left && !root) fold.add(node.aggs()[i]);
        fold.add(node.values()[i]);
        if (l > 0 && (root ? i + 1 < count : left)) fold.add(node.aggs()[i + 1]);
      }
      if (left && !root && !above.empty()) fold.add(above[0]);
      const State truth = fold.take();
      if (root) {
        require_same(op_, level.left.agg, truth, "I5: the root has the inner aggregate");
      } else {
        require_same(op_, left ? level.left.agg : level.right.agg, truth,
                     left ? "I6: left spine nodes have left aggregates"
                          : "I7: right spine nodes have right aggregates");
        above.assign(1, truth);
      }
      if (l > 0) id = node.children()[left ? 0 : count];
    }
  }

  void check_suffixes() const {
    if (this->suffixes_from_ == kNoNode) return;
    require(this->suffixes_from_ == this->level(0).left.node, "I10: suffixes are the left leaf's");
    const NodeView leaf = nodes_.leaf(this->level(0).left.node);
    for (Index i = 0; i < leaf.size(); ++i) {
      require_same(op_, this->suffixes_[leaf.head->first + i],
                   this->fold(leaf.values() + i, leaf.size() - i), "I10: suffixes are folds");
    }
  }
};

}  // namespace slidefold::fiba
