// A third finger: the leaf where late entries keep arriving.
//
// Layout: the path to the place after the last late entry, in a leaf off the spines, and, for each
//   of its nodes up to the first on a spine, the folds of what lies before and after. A late entry
//   whose predecessor came into the same leaf or the one before it sets the finger; any other
//   change that could touch these folds voids it, but for appends at the right end, which are
//   folded in.
// Invariants: I11 while the finger is set: its path leads to its leaf, which is off the spines, the
//   folds before and after are those of the nodes, and the leaf has the place of all between its
//   bounds.
// Cost: an entry at the finger takes no search from the ends and two combines for each level; one a
//   little further on in the leaf also folds the rest of the leaf. Setting it folds each node of
//   the path.
// Paper: none; the fingers of fiba-out-of-order are the ends of the window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "slidefold/algorithms/fiba/spines.hpp"

namespace slidefold::fiba {

template <Monoid Op, class Time>
class LateFinger : public Spines<Op, Time> {
  using Base = Spines<Op, Time>;

 public:
  using State = typename Op::State;
  using Base::Base;

 protected:
  using Base::late_;
  using Base::late_side_;
  using Base::nodes_;
  using Base::op_;
  using typename Base::Index;
  using typename Base::NodeView;
  using typename Base::Path;
  using typename Base::Side;

  struct Around {
    bool has_before = false, has_after = false;
    State before{}, after{};
  };

  std::size_t late_bytes() const { return around_.capacity() * sizeof(Around); }

  // Inserts into the finger's leaf, if t belongs there and there is room.
  bool insert_late(Time t, State& value) {
    if (late_ == kNoNode || !(low_ < t)) return false;
    if (!(t < high_) && (!Base::kCommutes || !next_leaf(t))) return false;
    const NodeView leaf = nodes_.leaf(late_);
    if (leaf.size() >= nodes_.max_entries()) return false;
    const Index place = Base::lower_bound(leaf, t);
    if (place < leaf.size() && !(t < leaf.times()[place])) return false;  // there is one already
    this->touch(0, late_);
    ++this->size_;
    last_ = t;
    if constexpr (Base::kCommutes) {
      for (int l = 1; l <= summit_; ++l) this->absorb_below(l, path_[l], value);
      this->absorb_spine(summit_, late_side_, value);
      this->put_leaf(leaf, place, t, value);
      path_[0].at = place + 1;
      return true;
    }
    Around& beside = around_[0];
    if (place != path_[0].at) move_to(leaf, place);
    State fold = wrapped(beside, value);
    if (beside.has_before) {
      absorb(op_, beside.before, value);
    } else {
      beside.before = value;
      beside.has_before = true;
    }
    this->put_leaf(leaf, place, t, std::move(value));
    path_[0].at = place + 1;
    for (int l = 1; l <= summit_; ++l) {
      const auto [id, at] = path_[l];
      nodes_.touch(l, id);
      const NodeView node = nodes_.inner(id);
      node.aggs()[at] = fold;
      ++node.counts()[at];
      fold = wrapped(around_[static_cast<std::size_t>(l)], fold);
    }
    if (summit_ == this->top()) {
      this->levels_.back().left.agg = std::move(fold);
      return true;
    }
    const bool right = late_side_ == Side::kRight;
    auto& finger = right ? this->level(summit_).right : this->level(summit_).left;
    finger.part = std::move(fold);
    finger.stale = false;
    for (int l = summit_; l >= 0; --l) right ? this->repair_right(l) : this->repair_left(l);
    return true;
  }

  // An entry at t was put into the leaf of the path, nothing was split. Sets the finger there, if
  // the late entry before came into the same leaf or the one before it.
  void follow(Path& path, Time t) {
    const Time last = std::exchange(last_, t);
    const NodeId id = path[0].node;
    if (this->on_left(0, id) || this->on_right(0, id)) return;
    const NodeView leaf = nodes_.leaf(id), parent = nodes_.inner(this->step(path, 1).node);
    const Index at = path[1].at;
    if (leaf.size() + 2 > nodes_.max_entries()) return;  // it would soon be split: not worth it
    if (leaf.times()[leaf.size() - 1] < last) return;
    if (last < leaf.times()[0]) {
      if (at == 0 || last < nodes_.leaf(parent.children()[at - 1]).times()[0]) return;
    }
    set(path);
  }

  // The same, where the leaf was split, but not its parent: the path leads to the left half.
  void follow_split(Path& path, Time t) {
    auto& [id, at] = path[1];
    const NodeView parent = nodes_.inner(id);
    const Time between = parent.times()[at];
    if (between < t) path[0].node = parent.children()[++at];
    path[0].at = Base::lower_bound(nodes_.leaf(path[0].node), t);
    if (between < t || t < between) return follow(path, t);
    last_ = t;  // the entry itself went up
  }

  // A child and an entry were appended to the right spine's node of level l, which was not full.
  void appended(int l) {
    if (late_ == kNoNode || late_side_ == Side::kLeft || summit_ > l) return;
    if (summit_ < l) {  // its spine node was split, and is on the spine no more
      late_ = kNoNode;
      return;
    }
    if constexpr (Base::kCommutes) return;
    const NodeView node = nodes_.inner(path_[l].node);
    const Index at = node.size() - 1;
    Around& around = around_[static_cast<std::size_t>(l)];
    State more = op_.combine(node.aggs()[at], node.values()[at]);
    if (around.has_after) {
      absorb(op_, around.after, more);
    } else {
      around.after = std::move(more);
      around.has_after = true;
    }
  }

  // Calls visit(state) for the folds around the finger's path.
  template <class Visit>
  void visit_late(Visit& visit) const {
    for (const Around& around : around_) visit(around.before), visit(around.after);
  }

  // Saves the finger, or loads it into a tree that has been loaded. Its path runs down from the
  // spine, so the places in the nodes say it all.
  template <class Archive>
  void archive_late(Archive& a) {
    a(last_);
    bool set = late_ != kNoNode;
    a(set);
    if (!set) return;
    auto side = static_cast<std::uint8_t>(late_side_);
    auto summit = static_cast<std::uint32_t>(summit_);
    a(side, summit);
    NodeId id = kNoNode;
    if constexpr (Archive::kLoading) {
      expect(summit < static_cast<std::uint32_t>(this->height()) && side <= 2,
             "the late finger is outside of the tree");
      summit_ = static_cast<int>(summit);
      late_side_ = static_cast<Side>(side);
      expect((summit_ == this->top()) == (late_side_ == Side::kNone),
             "the late finger is beside its spine");
      const auto& level = this->level(summit_);
      id = late_side_ == Side::kRight ? level.right.node : level.left.node;
      around_.resize(summit + 1);
    }
    for (int l = summit_; l >= 0; --l) {
      Index at = path_[l].at;
      a(at);
      if constexpr (Archive::kLoading) {
        const NodeView node = nodes_.at(l, id);
        expect(at <= node.size(), "the late finger is outside of its node");
        path_[l] = {id, at};
        if (l > 0) id = node.children()[at];
      }
      Around& beside = around_[static_cast<std::size_t>(l)];
      if constexpr (Base::kCommutes && !Archive::kLoading) {  // the format has the folds
        beside = around(l, nodes_.at(l, path_[l].node), at);
      }
      a(beside.has_before, beside.has_after);
      if (beside.has_before) archive_state(a, op_, beside.before);
      if (beside.has_after) archive_state(a, op_, beside.after);
    }
    if constexpr (Archive::kLoading) find_bounds(id);
  }

  Time last_{};  // of the last late entry

  void check_late() const {
    if (late_ == kNoNode) return;
    Path path = path_;
    require(path[0].node == late_ && summit_ > 0, "I11: the path leads to the finger's leaf");
    require(!this->on_left(0, late_) && !this->on_right(0, late_),
            "I11: the finger's leaf is off the spines");
    for (int l = 0; l <= summit_; ++l) {
      const auto [id, at] = path[l];
      require(l == 0 || nodes_.inner(id).children()[at] == path[l - 1].node,
              "I11: the path of the late finger is one");
      if constexpr (Base::kCommutes) continue;
      const Around truth = around(l, nodes_.at(l, id), at),
                   &kept = around_[static_cast<std::size_t>(l)];
      require(truth.has_before == kept.has_before && truth.has_after == kept.has_after,
              "I11: the late finger knows on which sides something lies");
      if (truth.has_before) require_same(op_, kept.before, truth.before, "I11: the folds before");
      if (truth.has_after) require_same(op_, kept.after, truth.after, "I11: the folds after");
    }
    const NodeView leaf = nodes_.leaf(late_);
    require(!(leaf.times()[0] < low_) && !(high_ < leaf.times()[leaf.size() - 1]),
            "I11: the entries of the leaf are between the bounds");
    const auto [low, high] = bounds(path);
    require(!(low_ < low) && !(high < high_), "I11: the leaf has the place of all between them");
  }

 private:
  State wrapped(const Around& around, const State& inside) const {
    State fold = around.has_before ? State(op_.combine(around.before, inside)) : inside;
    if (around.has_after) absorb(op_, fold, around.after);
    return fold;
  }

  // What lies in a node before and after an entry's place or, in inner nodes, a child; children on
  // a spine do not count.
  Around around(int l, const NodeView& node, Index at) const {
    const Index count = node.size();
    Folder<Op> before(op_), after(op_);
    if (l == 0) {
      if (at > 0) before.add(this->fold(node.values(), at));
      if (at < count) after.add(this->fold(node.values() + at, count - at));
      return taken(before, after);
    }
    const Index skip = at > 0 && this->on_left(l - 1, node.children()[0]) ? 1 : 0;
    if (skip == 1) before.add(node.values()[0]);
    if (at > skip)
      before.add(this->fold_pairs(node.aggs() + skip, node.values() + skip, at - skip));
    const Index end =
        at < count && this->on_right(l - 1, node.children()[count]) ? count - 1 : count;
    if (at < end) after.add(this->fold_pairs(node.values() + at, node.aggs() + at + 1, end - at));
    if (end < count) after.add(node.values()[end]);
    return taken(before, after);
  }

  static Around taken(Folder<Op>& before, Folder<Op>& after) {
    Around result;
    if ((result.has_before = before.any())) result.before = before.take();
    if ((result.has_after = after.any())) result.after = after.take();
    return result;
  }

  // Moves the finger to the next leaf below the same node, if t belongs there. Combines commute, so
  // there are no folds to make anew.
  bool next_leaf(Time t) {
    auto& [id, at] = path_[1];
    const NodeView node = nodes_.inner(id);
    if (at + 1 >= node.size()) return false;
    if (!(node.times()[at] < t) || !(t < node.times()[at + 1])) return false;
    ++at;
    late_ = node.children()[at];
    path_[0] = {late_, 0};
    low_ = node.times()[at - 1];
    high_ = node.times()[at];
    return true;
  }

  // The next entry comes to another place of the leaf: usually a little further on.
  void move_to(const NodeView& leaf, Index place) {
    const Index from = std::exchange(path_[0].at, place);
    if (place < from) {
      around_[0] = around(0, leaf, place);
      return;
    }
    Around& beside = around_[0];
    State passed = this->fold(leaf.values() + from, place - from);
    if (beside.has_before) {
      absorb(op_, beside.before, passed);
    } else {
      beside.before = std::move(passed);
      beside.has_before = true;
    }
    beside.has_after = place < leaf.size();
    if (beside.has_after) beside.after = this->fold(leaf.values() + place, leaf.size() - place);
  }

  // Sets the finger at the leaf of a path.
  void set(Path& path) {
    late_ = kNoNode;
    const NodeId id = path[0].node;
    ++path[0].at;  // behind the entry that came
    for (int l = 0;; ++l) {
      const auto [node_id, at] = this->step(path, l);
      const NodeView node = nodes_.at(l, node_id);
      if (around_.size() <= static_cast<std::size_t>(l)) {
        around_.resize(static_cast<std::size_t>(l) + 1);
      }
      if constexpr (!Base::kCommutes) around_[static_cast<std::size_t>(l)] = around(l, node, at);
      const bool left = this->on_left(l, node_id), right = this->on_right(l, node_id);
      if (!left && !right) continue;
      summit_ = l;
      late_side_ = l == this->top() ? Side::kNone : right ? Side::kRight : Side::kLeft;
      break;
    }
    std::copy_n(path.steps.begin(), summit_ + 1, path_.steps.begin());
    std::tie(low_, high_) = bounds(path_);
    late_ = id;
  }

  // The times between which a new entry belongs into the leaf: of the entries next to it in the
  // nodes above, or else its own.
  std::pair<Time, Time> bounds(const Path& path) const {
    const NodeView leaf = nodes_.leaf(path.steps[0].node);
    Time low = leaf.times()[0], high = leaf.times()[leaf.size() - 1];
    bool above = false, below = false;
    for (std::size_t l = 1; l <= static_cast<std::size_t>(summit_); ++l) {
      const auto [id, at] = path.steps[l];
      const NodeView node = nodes_.inner(id);
      if (!below && at > 0) low = node.times()[at - 1], below = true;
      if (!above && at < node.size()) high = node.times()[at], above = true;
    }
    return {low, high};
  }

  // A finger that was loaded: states of earlier versions may have one on a spine's leaf.
  void find_bounds(NodeId leaf) {
    if (summit_ == 0 || this->on_left(0, leaf) || this->on_right(0, leaf)) return;
    late_ = leaf;
    std::tie(low_, high_) = bounds(path_);
  }

  Path path_;
  int summit_ = 0;  // the first level of the path that is on a spine
  std::vector<Around> around_;
  Time low_{}, high_{};
};

}  // namespace slidefold::fiba
