// The spines of a finger B-tree: search from both ends, and the aggregates that depend on location.
//
// Layout: the fingers are both spines, level by level, each node with its location-sensitive
//   aggregate, the part of it that is the node's own, and the time that bounds what lies beyond;
//   the root's aggregate is with the left one. Nodes off the spines have their up-aggregate and
//   count in their parent. For the left leaf the folds of its suffixes are kept.
// Invariants: I4 to I10 of tree.hpp.
// Cost: a search touches O(log d) nodes. A repair folds the nodes that changed, up to the first
//   on a spine, and from there on combines once per level down the spine.
// Paper: fiba-out-of-order, sections 3.2 and 3.3.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/algorithms/fiba/ops.hpp"
#include "slidefold/algorithms/fiba/save.hpp"

namespace slidefold::fiba {

template <Monoid Op, class Time>
class Spines : protected NodeOps<Op, Time> {
  using Base = NodeOps<Op, Time>;

 public:
  using State = typename Op::State;
  using Base::max_arity;
  using Base::min_arity;

  Spines(Op op, int min_arity, int max_arity) : Base(std::move(op), min_arity, max_arity) {}

  bool empty() const { return levels_.empty(); }
  std::uint64_t size() const { return size_; }
  int height() const { return static_cast<int>(levels_.size()); }

  // A transaction: until commit, every change can be taken back.
  std::size_t touched() const { return nodes_.touched(); }
  void begin() {
    if constexpr (fallible_v<Op>) {
      nodes_.begin();
      saved_levels_ = levels_;
      saved_size_ = size_;
    }
  }
  void commit() {
    nodes_.commit();
    nodes_.release_if_sparse(size_);
    saved_levels_.clear();
  }
  void rollback() {
    if constexpr (fallible_v<Op>) {
      nodes_.rollback();
      levels_.swap(saved_levels_);
      saved_levels_.clear();
      size_ = saved_size_;
      suffixes_from_ = late_ = kNoNode;
      if (!empty()) levels_[0].left.stale = true;
    }
  }

 protected:
  using Base::nodes_;
  using Base::op_;
  using typename Base::Index;
  using typename Base::NodeView;

  enum class Side { kLeft, kRight, kNone };
  // An end of a level: its node, a time that bounds what lies beyond it, its location-sensitive
  // aggregate, and the part of it that is the node's own.
  struct Finger {
    NodeId node = kNoNode;
    bool stale = true;  // part and bound are out of date
    Time bound{};       // left: the node's last time; right: its first
    State agg{}, part{};
  };
  struct Level {
    Finger left, right;
  };
  struct Step {
    NodeId node;
    Index at;
  };
  // From a leaf (or what was found) up to the spine where the search began; higher steps follow the
  // spine and are filled in when they are needed.
  static constexpr int kMaxHeight = 40;
  struct Path {
    std::array<Step, kMaxHeight> steps;
    int known = -1;
    Side side = Side::kLeft;
    Step& operator[](int level) { return steps[static_cast<std::size_t>(level)]; }
  };

  // Which spine aggregates are out of date: those of these levels and all below, and the root's.
  struct Marks {
    int left = -1, right = -1;
    bool root = false;
  };

  int top() const { return height() - 1; }
  Level& level(int l) { return levels_[static_cast<std::size_t>(l)]; }
  const Level& level(int l) const { return levels_[static_cast<std::size_t>(l)]; }
  NodeId root() const { return levels_.back().left.node; }
  bool on_left(int l, NodeId id) const { return level(l).left.node == id; }
  bool on_right(int l, NodeId id) const { return level(l).right.node == id; }

  // Before a node changes. The left leaf's suffixes are void then.
  void touch(int l, NodeId id) {
    nodes_.touch(l, id);
    if (l == 0 && id == suffixes_from_) {
      suffixes_from_ = kNoNode;
      levels_[0].left.stale = true;
    }
  }

  Path spine_path(Side side, Index at) {
    Path path;
    path.side = side;
    path.known = 0;
    path[0] = {side == Side::kLeft ? levels_[0].left.node : levels_[0].right.node, at};
    return path;
  }

  Step& step(Path& path, int l) {
    if (l > path.known) {
      path.known = l;
      if (path.side == Side::kLeft) {
        path[l] = {level(l).left.node, 0};
      } else {
        path[l] = {level(l).right.node, nodes_.inner(level(l).right.node).size()};
      }
    }
    return path[l];
  }

  // The lowest spine node whose subtree has the place of everything in [from, to]: up both spines
  // at once, so O(log d) for the nearer end.
  std::pair<int, Side> join(Time from, Time to) const {
    int l = 0;
    for (; l < top(); ++l) {
      if (!(from < level(l).right.bound)) return {l, Side::kRight};
      if (!(level(l).left.bound < to)) break;
    }
    return {l, Side::kLeft};
  }

  // Finger search: the level and whether t is there; if not, path[0] is where it would be.
  std::pair<int, bool> search(Time t, Path& path) const {
    auto [l, side] = join(t, t);
    path.known = l;
    path.side = side;
    NodeId id = side == Side::kLeft ? level(l).left.node : level(l).right.node;
    for (;; --l) {
      const NodeView node = nodes_.at(l, id);
      const Index at = Base::lower_bound(node, t);
      path[l] = {id, at};
      if (at < node.size() && !(t < node.times()[at])) return {l, true};
      if (l == 0) return {0, false};
      id = node.children()[at];
    }
  }

  // The root is full, or was split in bulk: a new one above it.
  void grow_root() {
    const NodeId old = root();
    const NodeId id = nodes_.make(height());
    nodes_.inner(id).children()[0] = old;
    Finger finger;
    finger.node = id;
    levels_.push_back({finger, finger});
  }

  // The root has a single child, which takes its place.
  void shrink_root(Marks& marks) {
    nodes_.drop(top(), root());
    levels_.pop_back();
    marks = {top() - 1, top() - 1, true};
  }

  Index min_entries() const { return nodes_.min_entries(); }

  void mark(int l, NodeId id, Marks& marks) {
    if (l == top()) {
      marks.root = true;
    } else if (on_left(l, id)) {
      level(l).left.stale = true;
      marks.left = std::max(marks.left, l);
    } else {
      level(l).right.stale = true;
      marks.right = std::max(marks.right, l);
    }
  }

  // Child `at` of `parent` changed: its aggregate and count, wherever they are kept.
  void refresh(int l, NodeId parent, Index at, Marks& marks) {
    const NodeView above = nodes_.inner(parent);
    const NodeId id = above.children()[at];
    if (on_left(l, id) || on_right(l, id)) return mark(l, id, marks);
    const NodeView node = nodes_.at(l, id);
    above.aggs()[at] = this->up(l, node);
    above.counts()[at] = this->entries_below(l, node);
  }

  void repair(Path& path, int l, int must, int added) { repair(path, l, must, added, Marks{}); }

  // Repairs aggregates from the path's node at level l upwards to the spine, at least to level
  // `must`, then down the spines. `added` entries came below.
  void repair(Path& path, int l, int must, int added, Marks marks) {
    for (;; ++l) {
      const NodeId id = path[l].node;
      if (l == top() || on_left(l, id) || on_right(l, id)) {
        mark(l, id, marks);
        if (l >= must) break;
        continue;
      }
      const auto [parent, at] = step(path, l + 1);
      nodes_.touch(l + 1, parent);
      const NodeView above = nodes_.inner(parent);
      above.aggs()[at] = this->up(l, nodes_.at(l, id));
      above.counts()[at] += static_cast<std::uint64_t>(static_cast<std::int64_t>(added));
    }
    repair_spines(marks);
  }

  // An entry came into the leaf of the path and combines commute: each aggregate that covers it
  // takes it in, up to the first node that is on a spine, and that spine's.
  void absorb_upwards(Path& path, const State& value)
    requires Base::kCommutes
  {
    int l = 0;
    for (; l < top() && !on_left(l, path[l].node) && !on_right(l, path[l].node); ++l) {
      absorb_below(l + 1, step(path, l + 1), value);
    }
    absorb_spine(l,
                 l == top()                  ? Side::kNone
                 : on_right(l, path[l].node) ? Side::kRight
                                             : Side::kLeft,
                 value);
  }
  void absorb_below(int l, const Step& step, const State& value) {
    nodes_.touch(l, step.node);
    const NodeView node = nodes_.inner(step.node);
    absorb(op_, node.aggs()[step.at], value);
    ++node.counts()[step.at];
  }
  void absorb_spine(int l, Side side, const State& value) {
    if (side == Side::kNone) return absorb(op_, levels_.back().left.agg, value);
    const bool right = side == Side::kRight;
    Finger& finger = right ? level(l).right : level(l).left;
    if (!finger.stale) absorb(op_, finger.part, value);
    for (; l >= 0; --l) absorb(op_, right ? level(l).right.agg : level(l).left.agg, value);
  }

  void repair_spines(const Marks& marks) {
    const int beside = late_side_ == Side::kRight  ? marks.right
                       : late_side_ == Side::kLeft ? marks.left
                                                   : -1;
    if (marks.root || beside >= 0) late_ = kNoNode;
    repair_marked(marks);
  }

  // The same, where the late finger is known to be right.
  void repair_marked(const Marks& marks) {
    if (marks.root) repair_root();
    for (int l = std::min(marks.left, top() - 1); l >= 0; --l) repair_left(l);
    for (int l = std::min(marks.right, top() - 1); l >= 0; --l) repair_right(l);
  }

  void repair_root() {
    const NodeView node = nodes_.at(top(), root());
    State& agg = levels_.back().left.agg;
    const Index count = node.size();
    if (height() == 1) {
      agg = this->fold(node.values(), count);
    } else if (count == 1) {
      agg = node.values()[0];
    } else if constexpr (Base::kCheap) {
      agg = op_.combine(node.values()[0],
                        this->fold_pairs(node.aggs() + 1, node.values() + 1, count - 1));
    } else {
      agg = this->fold_pairs(node.values(), node.aggs() + 1, count - 1);
      absorb(op_, agg, node.values()[count - 1]);
    }
  }

  void repair_left(int l) {
    Finger& finger = level(l).left;
    if (finger.stale) {
      const NodeView node = nodes_.at(l, finger.node);
      const Index count = node.size();
      finger.bound = node.times()[count - 1];
      finger.part = l > 0 ? this->fold_pairs(node.values(), node.aggs() + 1, count)
                          : this->fold(node.values(), count);
      finger.stale = false;
    }
    const bool kept = l == 0 && suffixes_from_ == finger.node;
    const State& part = kept ? suffixes_[nodes_.leaf(finger.node).head->first] : finger.part;
    finger.agg = l + 1 < top() ? State(op_.combine(part, level(l + 1).left.agg)) : part;
  }

  void repair_right(int l) {
    Finger& finger = level(l).right;
    if (finger.stale) {
      const NodeView node = nodes_.at(l, finger.node);
      finger.bound = node.times()[0];
      finger.part = l > 0 ? this->fold_pairs(node.aggs(), node.values(), node.size())
                          : this->fold(node.values(), node.size());
      finger.stale = false;
    }
    finger.agg =
        l + 1 < top() ? State(op_.combine(level(l + 1).right.agg, finger.part)) : finger.part;
  }

  // Calls visit(state) for the states of the nodes and of the spines.
  template <class Visit>
  void visit_spines(Visit& visit) const {
    nodes_.for_states(visit);
    for (const Level& level : levels_) {
      for (const Finger* finger : {&level.left, &level.right})
        visit(finger->agg), visit(finger->part);
    }
    for (const State& suffix : suffixes_) visit(suffix);
  }

  // Saves the tree with its fingers, or loads it into an empty one. The root's own part is made
  // anew whenever it stops being the root.
  template <class Archive>
  void archive_spines(Archive& a) {
    const auto state = [&](State& visited) { archive_state(a, op_, visited); };
    auto levels = static_cast<std::uint32_t>(height());
    a(levels);
    expect(levels <= kMaxHeight, "a tree is higher than any");
    if (levels == 0) return;
    NodeId id = Archive::kLoading ? kNoNode : root();
    size_ = archive_subtree(a, op_, nodes_, static_cast<int>(levels) - 1, id, true, true);
    if constexpr (Archive::kLoading) find_spines(levels, id);
    for (int l = 0; l < top(); ++l) {
      for (Finger* finger : {&level(l).left, &level(l).right}) {
        state(finger->agg);
        a(finger->stale);
        if (!finger->stale) state(finger->part);
      }
    }
    state(levels_.back().left.agg);
    const NodeId leaf = levels_[0].left.node;
    bool kept = !Archive::kLoading && suffixes_from_ == leaf;
    a(kept);
    if (!kept) return;
    suffixes_from_ = leaf;
    suffixes_.resize(nodes_.max_entries() + 1);
    const Head& head = *nodes_.leaf(leaf).head;
    for (Index i = 0; i < head.count; ++i) state(suffixes_[head.first + i]);
  }

  // The fingers of a tree that was loaded, from the root down.
  void find_spines(std::size_t levels, NodeId left) {
    levels_.resize(levels);
    NodeId right = left;
    for (int l = top();; --l) {
      const NodeView first = nodes_.at(l, left), last = nodes_.at(l, right);
      level(l).left.node = left;
      level(l).left.bound = first.times()[first.size() - 1];
      level(l).right.node = right;
      level(l).right.bound = last.times()[0];
      if (l == 0) return;
      left = first.children()[0];
      right = last.children()[last.size()];
    }
  }

  std::vector<Level> levels_;  // from the leaves to the root
  std::uint64_t size_ = 0;
  NodeId suffixes_from_ = kNoNode;  // the left leaf, while the suffixes are its
  std::vector<State> suffixes_;     // by slot
  NodeId late_ = kNoNode;           // the leaf of the late finger (late.hpp), while it is set
  Side late_side_ = Side::kNone;    // the spine that its path meets, unless that is the root
  std::vector<Level> saved_levels_;
  std::uint64_t saved_size_ = 0;
};

}  // namespace slidefold::fiba
