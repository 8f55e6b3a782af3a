// The finger B-tree aggregator: single inserts and evictions anywhere, in O(log d).
//
// Layout: a B-tree with entries in all nodes (node.hpp), a finger on each node of both spines
//   (spines.hpp) and one where late entries keep arriving (late.hpp).
// Invariants: I1 all leaves have the same depth. I2 times ascend. I3 a node has at most max_arity
//   children; off the spines at least mu, on them and at the root at least 2. I4 up: a node's
//   subtree. I5 inner: the root without its first and last child. I6 left: a left spine node
//   without its first child, then the left aggregate above it. I7 right: mirrored. I8 the fingers
//   are the first and last nodes of their levels. I9 counts. I10 suffixes of the left leaf. I11
//   the late finger. Neither spine flags nor parent links are stored: nothing can break there.
// Cost: query at most 2 combines; insert, evict amortised O(log d), worst O(log n). In order: O(1),
//   evicting the oldest two combines amortised and not an arity's, thanks to the suffixes.
// Paper: fiba-out-of-order, with liberties. Nodes on the spines need only two children, so in-order
//   appends leave full nodes behind (a split at the right end leaves one entry right, or so many
//   that late entries fill the left half) and bulk evictions rebalance little; the child of y_i
//   that is off the spine still has mu^(i-1) entries, so d bounds the search as before. max_arity
//   may be more than 2 mu. Moves even out. Paths take the place of parent links. Figure 7, line 61
//   forgets a sibling on the left spine; refresh() marks whatever spine a changed child is on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/algorithms/fiba/late.hpp"

namespace slidefold::fiba {

template <Monoid Op, class Time>
class Tree : public LateFinger<Op, Time> {
  using Base = LateFinger<Op, Time>;

 public:
  using State = typename Op::State;
  using Base::Base;
  using Base::empty;
  using Base::height;

  std::size_t bytes() const {
    return nodes_.bytes() + levels_.capacity() * sizeof(Level) +
           suffixes_.capacity() * sizeof(State) + this->late_bytes();
  }

  // Precondition of both: not empty.
  Time oldest() const { return nodes_.leaf(levels_[0].left.node).times()[0]; }
  Time youngest() const {
    const NodeView leaf = nodes_.leaf(levels_[0].right.node);
    return leaf.times()[leaf.size() - 1];
  }

  State query() const {
    if (empty()) return op_.identity();
    const State& inner = levels_.back().left.agg;
    if (height() == 1) return inner;
    State result = op_.combine(levels_[0].left.agg, inner);
    absorb(op_, result, levels_[0].right.agg);
    return result;
  }

  void insert(Time t, State value) {
    if (empty()) return plant(t, std::move(value));
    Finger& finger = levels_[0].right;
    const NodeView leaf = nodes_.leaf(finger.node);
    const Index count = leaf.size();
    const Index end = leaf.head->first + count;  // there is a slot more than entries may be
    if (!(leaf.times()[count - 1] < t)) return insert_behind(leaf, t, std::move(value));
    if (end > nodes_.max_entries() || count == nodes_.max_entries()) [[unlikely]] {
      return append_full(leaf, t, std::move(value));
    }
    nodes_.touch(0, finger.node);
    absorb(op_, height() == 1 ? levels_[0].left.agg : finger.agg, value);
    if constexpr (Base::kCheap) {
      finger.part = op_.combine(finger.part, value);
    } else {
      finger.stale = true;
    }
    leaf.times()[count] = t;
    leaf.values()[count] = std::move(value);
    leaf.head->count = count + 1;
    ++size_;
  }

  // Says whether there was an entry at t.
  bool evict(Time t) {
    if (empty()) return false;
    const NodeView leaf = nodes_.leaf(levels_[0].left.node);
    const Time oldest = leaf.times()[0];
    if (t < oldest) return false;
    if (oldest < t || leaf.size() == 1 || height() == 1) return evict_other(t);
    return evict_oldest(t), true;
  }

 protected:
  using Base::late_;
  using Base::level;
  using Base::levels_;
  using Base::mark;
  using Base::min_entries;
  using Base::nodes_;
  using Base::on_left;
  using Base::on_right;
  using Base::op_;
  using Base::refresh;
  using Base::repair;
  using Base::repair_spines;
  using Base::root;
  using Base::search;
  using Base::size_;
  using Base::step;
  using Base::suffixes_;
  using Base::suffixes_from_;
  using Base::top;
  using Base::touch;
  using typename Base::Finger;
  using typename Base::Index;
  using typename Base::Level;
  using typename Base::Marks;
  using typename Base::NodeView;
  using typename Base::Path;
  using typename Base::Side;

  // Appends where the right leaf has no slot left: it may begin with free ones, or be full.
  [[gnu::noinline]] void append_full(const NodeView& leaf, Time t, State value) {
    nodes_.touch(0, levels_[0].right.node);
    this->straighten(leaf);
    if (leaf.size() < nodes_.max_entries()) return insert(t, std::move(value));
    const Index count = leaf.size();
    this->put_leaf(leaf, count, t, std::move(value));
    Path path = this->spine_path(Side::kRight, count);
    inserted(path, true);
  }

  // Inserts an entry that is not younger than all; `leaf` is the right one.
  [[gnu::noinline]] void insert_behind(const NodeView& leaf, Time t, State value) {
    if constexpr (Base::kCommutes) {
      if (insert_right(leaf, t, value)) return;
    }
    if (this->insert_late(t, value)) return;
    Path path;
    const auto [level, found] = search(t, path);
    const auto [node, at] = path[level];
    touch(level, node);
    if (found) {
      absorb(op_, nodes_.at(level, node).values()[at], value);
      return repair(path, level, level, 0);
    }
    if constexpr (Base::kCommutes) {
      const NodeView into = nodes_.leaf(node);
      if (!on_left(0, node) && into.size() < nodes_.max_entries()) {
        ++size_;
        if (late_ == node) late_ = kNoNode;  // t is beyond its bounds
        this->absorb_upwards(path, value);
        this->put_leaf(into, at, t, value);
        if (on_right(0, node)) {
          levels_[0].right.bound = into.times()[0];
          this->last_ = t;
          return;
        }
        return this->follow(path, t);
      }
    }
    this->put_leaf(nodes_.leaf(node), at, t, std::move(value));
    const int splits = inserted(path, false);
    if (splits == 0) return this->follow(path, t);
    if (Base::kCommutes && splits == 1) return this->follow_split(path, t);
    this->last_ = t;
  }

  // Inserts into the right leaf, if t belongs there and there is room. Combines commute.
  bool insert_right(const NodeView& leaf, Time t, const State& value) {
    if (leaf.size() >= nodes_.max_entries() || height() == 1) return false;
    Finger& finger = levels_[0].right;
    Index at = 0;
    if (leaf.times()[0] < t) {
      at = Base::lower_bound(leaf, t);
      if (!(t < leaf.times()[at])) return false;  // there is one already
    } else {
      const NodeView parent = nodes_.inner(levels_[1].right.node);
      if (!(parent.times()[parent.size() - 1] < t) || !(t < leaf.times()[0])) return false;
      finger.bound = t;
    }
    nodes_.touch(0, finger.node);
    this->put_leaf(leaf, at, t, value);
    if (!finger.stale) absorb(op_, finger.part, value);
    absorb(op_, finger.agg, value);
    ++size_;
    this->last_ = t;
    return true;
  }

  // Evicts the entry at t, which is not before the oldest.
  [[gnu::noinline]] bool evict_other(Time t) {
    Path path;
    const auto [level, found] = search(t, path);
    if (found) evict_found(path, level);
    return found;
  }

  void plant(Time t, State value) {
    levels_.reserve(1);
    const NodeId id = nodes_.make(0);
    const NodeView leaf = nodes_.leaf(id);
    leaf.times()[0] = t;
    leaf.values()[0] = value;
    leaf.head->count = 1;
    levels_.push_back({{id, true, t, std::move(value), State{}}, {id, true, t, State{}, State{}}});
    size_ = 1;
  }

  // The leaf of the path has one entry more: splits what overflows, repairs what changed. Returns
  // on how many levels there was a split.
  int inserted(Path& path, const bool at_end) {
    ++size_;
    int l = 0;
    bool appended = at_end;
    Marks marks;
    for (; nodes_.at(l, path[l].node).size() > nodes_.max_entries(); ++l) {
      if (l == top()) {
        this->grow_root();
        path.known = l + 1;
        path[l + 1] = {root(), 0};
        appended = false;
      }
      const auto [parent, at] = step(path, l + 1);
      split_below(l, parent, at, path[l].at);
      refresh(l, parent, at, marks);
      refresh(l, parent, at + 1, marks);
    }
    if (l > 0) nodes_.tidy();
    if (!appended) {
      repair(path, l, l, 1, marks);
      return l;
    }
    // One child and one entry more at the right end: the aggregate above grows with them.
    const auto [id, at] = path[l];
    const NodeView node = nodes_.inner(id);
    Finger& finger = level(l).right;
    State& agg = l == top() ? level(l).left.agg : finger.agg;
    absorb(op_, agg, node.aggs()[at]);
    absorb(op_, agg, node.values()[at]);
    if constexpr (Base::kCheap) {
      finger.part = op_.combine(finger.part, op_.combine(node.aggs()[at], node.values()[at]));
    } else {
      finger.stale = true;
    }
    this->appended(l);
    marks.right = l - 1;
    this->repair_marked(marks);
    return l;
  }

  // Splits child `at` of `parent`, where `grown` is new, and gives the parent the middle entry.
  void split_below(int l, NodeId parent, Index at, Index grown) {
    const NodeId id = nodes_.inner(parent).children()[at];
    const NodeId made = nodes_.make(l);
    touch(l, id);
    nodes_.touch(l + 1, parent);
    const NodeView node = nodes_.at(l, id);
    const bool right = on_right(l, id);
    const Index keep = l == 0 && right ? right_split_place(node, grown)
                                       : split_place(node.size(), grown, on_left(l, id), right);
    auto [t, value] = this->split(l, node, nodes_.at(l, made), keep);
    this->put_inner(nodes_.inner(parent), at, t, std::move(value), made);
    if (on_right(l, id)) level(l).right.node = made;
  }

  // How many entries the left half of a split keeps. Where the new one came last or first, more are
  // likely to follow there, so the other half is left as full as may be.
  Index split_place(Index count, Index grown, bool left, bool right) const {
    const Index least = min_entries();
    if (right ? 2 * grown >= count : grown + 2 >= count) {
      return std::min(grown, count - 1 - (right ? 1 : least));
    }
    if (left ? 2 * grown < count : grown < 2) return std::max(grown, left ? 1 : least);
    return count / 2;
  }

  // The same for the right leaf. After a late entry, the next ones are likely to come behind it,
  // about as many as there are entries: the left half keeps room for them, and ends one short of
  // full, as those that appends leave behind.
  Index right_split_place(const NodeView& leaf, Index grown) const {
    const Index count = leaf.size();
    const bool append = grown + 1 == count;
    if (append && !(leaf.times()[0] < this->last_)) return count - 2;
    const Index late = append ? Base::upper_bound(leaf, this->last_) : grown + 1;
    return std::min((count + late) / 2 - 1, count - 2);
  }

  // Evicts the oldest entries, up to a time in the left leaf before its last. It is not the root.
  void evict_oldest(Time until) {
    const NodeId id = levels_[0].left.node;
    nodes_.touch(0, id);
    const NodeView leaf = nodes_.leaf(id);
    if (suffixes_from_ != id) keep_suffixes(id);
    do {
      Base::take_leaf(leaf, 0);
      --size_;
    } while (!(until < leaf.times()[0]));
    const State& rest = suffixes_[leaf.head->first];
    levels_[0].left.agg = height() == 2 ? rest : State(op_.combine(rest, levels_[1].left.agg));
  }

  void keep_suffixes(NodeId id) {
    const NodeView leaf = nodes_.leaf(id);
    const std::size_t first = leaf.head->first, count = leaf.size();
    const State* const values = leaf.values();
    suffixes_.resize(nodes_.max_entries() + 1);
    State* const suffixes = suffixes_.data() + first;
    suffixes[count - 1] = values[count - 1];
    for (std::size_t i = count - 1; i-- > 1;) {  // the oldest is about to go
      suffixes[i] = op_.combine(values[i], suffixes[i + 1]);
    }
    suffixes_from_ = id;
  }

  // Evicts what the path leads to. An inner entry is replaced by its neighbour in a leaf.
  void evict_found(Path& path, int found) {
    if (size_ == 1) return clear();
    if (found > 0) {
      const auto [id, at] = path[found];
      const NodeView node = nodes_.inner(id);
      nodes_.touch(found, id);
      const bool from_right =
          nodes_.at(found - 1, node.children()[at + 1]).size() > this->min_entries();
      if (from_right) path[found].at = at + 1;
      for (int l = found - 1; l >= 0; --l) {
        const NodeId child = nodes_.inner(path[l + 1].node).children()[path[l + 1].at];
        path[l] = {child, from_right ? 0 : nodes_.at(l, child).size()};
      }
      if (!from_right) --path[0].at;
      const NodeView leaf = nodes_.leaf(path[0].node);
      touch(0, path[0].node);
      node.times()[at] = leaf.times()[path[0].at];
      node.values()[at] = std::move(leaf.values()[path[0].at]);
    } else {
      touch(0, path[0].node);
    }
    Base::take_leaf(nodes_.leaf(path[0].node), path[0].at);
    --size_;
    Marks marks;
    const int l = rebalance(path, 0, marks);
    if (l < 0) return repair_spines(marks);
    repair(path, l, std::max(l, found), -1, marks);
  }

  // Merges or moves from level l of the path upwards while a node has too few entries. Returns the
  // level from where on aggregates remain to be repaired, or -1 if all those are marked.
  int rebalance(Path& path, int l, Marks& marks) {
    for (;; ++l) {
      const NodeId id = path[l].node;
      const NodeView node = nodes_.at(l, id);
      if (l == top()) {
        if (l > 0 && node.size() == 0) return this->shrink_root(marks), -1;
        return l;
      }
      const bool spine = on_left(l, id) || on_right(l, id);
      if (node.size() >= (spine ? 1 : this->min_entries())) return l;
      nodes_.tidy();
      auto& [parent, place] = step(path, l + 1);
      const NodeView above = nodes_.inner(parent);
      const Index at = place < above.size() ? place : place - 1;  // of the left one of the two
      if (!join_or_share(l, parent, at, place == at, marks)) return l + 1;
      path[l].node = above.children()[at];
      place = at;
    }
  }

  // Makes one of the children `at` and `at` + 1, or evens them out; says whether it is the former.
  bool join_or_share(int l, NodeId parent, Index at, bool leftwards, Marks& marks) {
    const NodeView above = nodes_.inner(parent);
    const NodeId left = above.children()[at], right = above.children()[at + 1];
    const Index a = nodes_.at(l, left).size(), b = nodes_.at(l, right).size();
    touch(l, left);
    // A full node is a good left end: evictions make it smaller. Elsewhere some room keeps merges
    // and splits apart.
    const Index most = nodes_.max_entries();
    const Index fits =
        leftwards && on_left(l, left) ? most : std::max(2 * min_entries(), 3 * most / 4);
    const bool joined = a + b + 1 <= fits;
    if (joined) {
      this->merge(l, parent, at);
      if (on_right(l, right)) level(l).right.node = left;
    } else {
      this->move(l, parent, at, std::max<Index>(1, (leftwards ? b - a : a - b) / 2), leftwards);
      refresh(l, parent, at + 1, marks);
    }
    refresh(l, parent, at, marks);
    return joined;
  }

  void clear() {
    if (empty()) return;
    nodes_.defer(top(), root());
    levels_.clear();
    size_ = 0;
    suffixes_from_ = late_ = kNoNode;
    nodes_.tidy();
    nodes_.release_if_sparse(0);
  }
};

}  // namespace slidefold::fiba
