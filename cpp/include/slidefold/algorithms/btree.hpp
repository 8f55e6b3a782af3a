// The classic B-tree augmented with aggregates: the baseline that FiBA is measured against.
//
// Layout: the nodes of fiba/node.hpp, without fingers; each node's up-aggregate is in its parent,
// the
//   root's in agg_.
// Invariants: I1 all leaves have the same depth. I2 times ascend. I3 a node has mu to 2 mu
// children,
//   the root at least 2. I4 up-aggregates are the folds of subtrees. I5 counts.
// Cost: query 0 combines; insert and evict O(log n), wherever they are.
// Paper: fiba-out-of-order, section 3.1.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/algorithms/fiba/ops.hpp"
#include "slidefold/algorithms/fiba/save.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold {

template <Monoid Op, class Time = std::int64_t>
class BTree : private fiba::NodeOps<Op, Time> {
  using Base = fiba::NodeOps<Op, Time>;
  using typename Base::Index;
  using typename Base::NodeView;

 public:
  using State = typename Op::State;
  using Base::min_arity;

  explicit BTree(Op op, int min_arity = 8) : Base(std::move(op), min_arity, 2 * min_arity) {}

  bool empty() const { return height_ == 0; }
  std::uint64_t size() const { return size_; }
  int height() const { return height_; }
  std::size_t bytes() const { return nodes_.bytes(); }
  Time oldest() const { return end(false); }
  Time youngest() const { return end(true); }

  State query() const { return empty() ? State(op_.identity()) : agg_; }

  // The fold of the entries with since <= time <= until.
  State query(Time since, Time until) const {
    fiba::Folder<Op> result(op_);
    add_range(since, until, result);
    return result.take();
  }

  // Adds the entries with since <= time <= until to a fold.
  void add_range(Time since, Time until, fiba::Folder<Op>& result) const {
    if (!empty() && !(until < since)) add(height_ - 1, root_, &since, &until, result);
  }

  // Evicts all entries with time <= until, one by one.
  void bulk_evict(Time until) {
    Pacer pace;
    while (!empty() && !(until < oldest())) {
      pace();
      evict(oldest());
    }
  }

  // Inserts n entries, one by one; equal times combine, in the order in which they come. May be
  // stopped by poll().
  void bulk_insert(const Time* times, const State* values, std::size_t n) {
    Pacer pace;
    for (std::size_t i = 0; i < n; ++i) {
      pace();
      insert(times[i], values[i]);
    }
  }

  void insert(Time t, State value) {
    if (empty()) {
      root_ = nodes_.make(0);
      height_ = 1;
      this->put_leaf(nodes_.leaf(root_), 0, t, std::move(value));
      size_ = 1;
      return repair_root();
    }
    Path path;
    const auto [l, found] = search(t, path);
    const auto [id, at] = path[l];
    nodes_.touch(l, id);
    if (found) {
      absorb(op_, nodes_.at(l, id).values()[at], value);
      return repair(path, l);
    }
    this->put_leaf(nodes_.leaf(id), at, t, std::move(value));
    ++size_;
    split_up(path);
  }

  // Says whether there was an entry at t.
  bool evict(Time t) {
    if (empty()) return false;
    Path path;
    const auto [found, there] = search(t, path);
    if (!there) return false;
    if (found > 0) take_neighbour(path, found);
    nodes_.touch(0, path[0].node);
    Base::take_leaf(nodes_.leaf(path[0].node), path[0].at);
    --size_;
    merge_up(path);
    return true;
  }

  // Calls visit(time, state) in time order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (!empty()) walk(height_ - 1, root_, visit);
  }

  // Throws BrokenInvariant. With the true contents, in time order, also compares those.
  void check(const std::vector<std::pair<Time, State>>* contents = nullptr) const {
    std::size_t i = 0, reached = 0;
    const Time* last = nullptr;
    Time seen{};
    for_each([&](Time t, const State& value) {
      require(last == nullptr || *last < t, "I2: times ascend");
      if (contents != nullptr) {
        require(i < contents->size() && (*contents)[i].first == t, "I2: the window's times");
        require_same(op_, value, (*contents)[i].second, "I2: the window's values");
      }
      seen = t;
      last = &seen;
      ++i;
    });
    require(i == size_ && (contents == nullptr || i == contents->size()), "I5: size");
    if (!empty()) {
      const auto [fold, count] = check_node(height_ - 1, root_, reached);
      require_same(op_, agg_, fold, "I4: the root's aggregate is the fold of all");
      require(count == size_, "I5: size is the number of entries");
    }
    nodes_.check(reached);
  }

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    nodes_.for_states(visit);
    visit(agg_);
  }

  // Loads into an empty tree.
  template <class Archive>
  void archive(Archive& a) {
    auto levels = static_cast<std::uint32_t>(height_);
    a(levels);
    expect(levels <= kMaxHeight, "a tree is higher than any");
    height_ = static_cast<int>(levels);
    if (empty()) return;
    size_ = fiba::archive_subtree(a, op_, nodes_, height_ - 1, root_, false, false);
    archive_state(a, op_, agg_);
  }

  void begin() {
    if constexpr (fallible_v<Op>) {
      nodes_.begin();
      saved_ = {root_, height_, size_, agg_};
    }
  }
  void commit() {
    nodes_.commit();
    saved_.agg = State{};
  }
  void rollback() {
    if constexpr (fallible_v<Op>) {
      nodes_.rollback();
      root_ = saved_.root;
      height_ = saved_.height;
      size_ = saved_.size;
      agg_ = std::move(saved_.agg);
    }
  }

 private:
  using Base::nodes_;
  using Base::op_;
  struct Step {
    NodeId node;
    Index at;
  };
  static constexpr int kMaxHeight = 40;
  struct Path {
    std::array<Step, kMaxHeight> steps;
    Step& operator[](int l) { return steps[static_cast<std::size_t>(l)]; }
  };
  struct Saved {
    NodeId root = kNoNode;
    int height = 0;
    std::uint64_t size = 0;
    State agg{};
  };

  Time end(bool last) const {
    NodeId id = root_;
    for (int l = height_ - 1; l > 0; --l) {
      id = nodes_.inner(id).children()[last ? nodes_.inner(id).size() : 0];
    }
    const NodeView leaf = nodes_.leaf(id);
    return leaf.times()[last ? leaf.size() - 1 : 0];
  }

  std::pair<int, bool> search(Time t, Path& path) const {
    NodeId id = root_;
    for (int l = height_ - 1;; --l) {
      const NodeView node = nodes_.at(l, id);
      const Index at = Base::lower_bound(node, t);
      path[l] = {id, at};
      if (at < node.size() && !(t < node.times()[at])) return {l, true};
      if (l == 0) return {0, false};
      id = node.children()[at];
    }
  }

  void refresh(int l, NodeId parent, Index at) {
    const NodeView above = nodes_.inner(parent);
    const NodeView node = nodes_.at(l, above.children()[at]);
    above.aggs()[at] = this->up(l, node);
    above.counts()[at] = Base::entries_below(l, node);
  }

  void repair_root() { agg_ = this->up(height_ - 1, nodes_.at(height_ - 1, root_)); }

  void repair(Path& path, int l) {
    for (; l + 1 < height_; ++l) {
      nodes_.touch(l + 1, path[l + 1].node);
      refresh(l, path[l + 1].node, path[l + 1].at);
    }
    repair_root();
  }

  void split_up(Path& path) {
    int l = 0;
    for (; nodes_.at(l, path[l].node).size() > nodes_.max_entries(); ++l) {
      const NodeId id = path[l].node;
      if (l + 1 == height_) {
        root_ = nodes_.make(height_++);
        nodes_.inner(root_).children()[0] = id;
        path[l + 1] = {root_, 0};
      }
      const auto [parent, at] = path[l + 1];
      const NodeId made = nodes_.make(l);
      nodes_.touch(l, id);
      nodes_.touch(l + 1, parent);
      const NodeView node = nodes_.at(l, id);
      auto [t, value] = this->split(l, node, nodes_.at(l, made), node.size() / 2);
      Base::put_inner(nodes_.inner(parent), at, t, std::move(value), made);
      refresh(l, parent, at);
      refresh(l, parent, at + 1);
    }
    repair(path, l);
  }

  // An inner entry to be evicted is replaced by the oldest entry right of it or the youngest left.
  void take_neighbour(Path& path, int found) {
    const auto [id, at] = path[found];
    const NodeView node = nodes_.inner(id);
    nodes_.touch(found, id);
    const bool from_right =
        nodes_.at(found - 1, node.children()[at + 1]).size() > nodes_.min_entries();
    if (from_right) path[found].at = at + 1;
    for (int l = found - 1; l >= 0; --l) {
      const NodeId child = nodes_.inner(path[l + 1].node).children()[path[l + 1].at];
      path[l] = {child, from_right ? 0 : nodes_.at(l, child).size()};
    }
    if (!from_right) --path[0].at;
    nodes_.touch(0, path[0].node);
    const NodeView leaf = nodes_.leaf(path[0].node);
    node.times()[at] = leaf.times()[path[0].at];
    node.values()[at] = std::move(leaf.values()[path[0].at]);
  }

  void merge_up(Path& path) {
    int l = 0;
    for (; l + 1 < height_; ++l) {
      if (nodes_.at(l, path[l].node).size() >= nodes_.min_entries()) return repair(path, l);
      auto& [parent, place] = path[l + 1];
      const NodeView above = nodes_.inner(parent);
      const bool leftwards = place < above.size();
      const Index at = leftwards ? place : place - 1;
      const Index a = nodes_.at(l, above.children()[at]).size();
      const Index b = nodes_.at(l, above.children()[at + 1]).size();
      if (a + b + 1 > nodes_.max_entries() - 1) {
        this->move(l, parent, at, 1, leftwards);
        refresh(l, parent, at);
        refresh(l, parent, at + 1);
        return repair(path, l + 1);
      }
      this->merge(l, parent, at);
      refresh(l, parent, at);
      place = at;
    }
    if (nodes_.at(l, root_).size() > 0) return repair_root();
    const NodeId old = root_;
    if (l > 0) root_ = nodes_.inner(old).children()[0];
    nodes_.drop(l, old);
    if (--height_ > 0) repair_root();
  }

  void add(int l, NodeId id, const Time* since, const Time* until, fiba::Folder<Op>& result) const {
    const NodeView node = nodes_.at(l, id);
    const Index begin = since == nullptr ? 0 : Base::lower_bound(node, *since);
    const Index end = until == nullptr ? node.size() : Base::upper_bound(node, *until);
    for (Index i = begin; i <= end; ++i) {
      if (l > 0) {
        const Time* const from = i == begin ? since : nullptr;
        const Time* const to = i == end ? until : nullptr;
        if (from == nullptr && to == nullptr) {
          result.add(node.aggs()[i]);
        } else {
          add(l - 1, node.children()[i], from, to, result);
        }
      }
      if (i < end) result.add(node.values()[i]);
    }
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

  std::pair<State, std::uint64_t> check_node(int l, NodeId id, std::size_t& reached) const {
    ++reached;
    const NodeView node = nodes_.at(l, id);
    require(nodes_.live(l, id), "I4: no node of the tree is on the free list");
    require(node.size() <= nodes_.max_entries(), "I3: a node has at most 2 mu children");
    require(node.size() >= (id == root_ ? 1 : nodes_.min_entries()), "I3: and at least mu");
    fiba::Folder<Op> fold(op_);
    std::uint64_t total = node.size();
    for (Index i = 0; i <= node.size(); ++i) {
      if (l > 0) {
        const auto [below, count] = check_node(l - 1, node.children()[i], reached);
        require_same(op_, node.aggs()[i], below, "I4: up-aggregates are the folds of subtrees");
        require(node.counts()[i] == count, "I5: counts are the numbers of entries below");
        fold.add(below);
        total += count;
      }
      if (i < node.size()) fold.add(node.values()[i]);
    }
    return {fold.take(), total};
  }

  NodeId root_ = kNoNode;
  int height_ = 0;
  std::uint64_t size_ = 0;
  State agg_{};
  Saved saved_;
};

}  // namespace slidefold
