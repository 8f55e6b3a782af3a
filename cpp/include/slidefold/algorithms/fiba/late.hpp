// A third finger: where late entries keep arriving.
//
// Layout: the path to the place after the last late entry and, for each of its nodes up to the
//   first on a spine, the folds of what lies before and after the path. Two late entries in a
//   row, one next to the other, set it; any other change that could touch these folds voids it.
// Invariants: I11 while the finger is set: its path leads to its place, the folds before and
//   after are those of the nodes, and nothing lies between its bounds.
// Cost: an entry at the finger takes no search and two combines for each level, so a source with
//   a steady delay costs little more than one in order. Setting it folds each node of the path.
// Paper: none; the fingers of fiba-out-of-order are the ends of the window.
#pragma once

#include <cstdint>
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

  // Inserts at the finger, if t belongs there.
  bool insert_late(Time t, State& value) {
    if (late_ == kNoNode || !(low_ < t) || !(t < high_)) return false;
    const NodeView leaf = nodes_.leaf(late_);
    if (leaf.size() >= nodes_.max_entries()) return false;
    this->touch(0, late_);
    State fold = wrapped(around_[0], value);
    absorb(op_, around_[0].before, value);
    this->put_leaf(leaf, path_[0].at++, t, std::move(value));
    low_ = last_ = t;
    ++this->size_;
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

  // An entry at t was put into the leaf of the path, nothing was split. Sets the finger after it,
  // if the late entry before came next to it.
  void follow(const Path& path, Time t) {
    const Time last = std::exchange(last_, t);
    const auto [id, at] = path.steps[0];
    if (at == 0 || nodes_.leaf(id).times()[at - 1] != last) return;
    late_ = kNoNode;
    path_ = path;
    ++path_[0].at;
    low_ = t;
    bool bounded = false;
    for (int l = 0;; ++l) {
      const auto [node_id, place] = this->step(path_, l);
      const NodeView node = nodes_.at(l, node_id);
      if (!bounded && place < node.size()) {
        high_ = node.times()[place];
        bounded = true;
      }
      if (around_.size() <= static_cast<std::size_t>(l)) around_.emplace_back();
      around_[static_cast<std::size_t>(l)] = around(l, node, place);
      const bool left = this->on_left(l, node_id), right = this->on_right(l, node_id);
      if (!left && !right) continue;
      // Beyond the last entry of a spine node the bound is not known here; at the ends of a spine
      // leaf its own bounds would move.
      if (!bounded) return;
      summit_ = l;
      late_side_ = l == this->top() ? Side::kNone : right ? Side::kRight : Side::kLeft;
      late_ = id;
      return;
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
        expect(at <= node.size() && (l > 0 || at > 0), "the late finger is outside of its node");
        path_[l] = {id, at};
        if (l > 0) id = node.children()[at];
      }
      Around& around = around_[static_cast<std::size_t>(l)];
      a(around.has_before, around.has_after);
      if (around.has_before) archive_state(a, op_, around.before);
      if (around.has_after) archive_state(a, op_, around.after);
    }
    if constexpr (Archive::kLoading) find_bounds(id);
  }

  Time last_{};  // of the last late entry

  void check_late() const {
    if (late_ == kNoNode) return;
    Path path = path_;
    for (int l = 0; l <= summit_; ++l) {
      const auto [id, at] = path[l];
      require(l == 0 || nodes_.inner(id).children()[at] == path[l - 1].node,
              "I11: the path of the late finger is one");
      const Around truth = around(l, nodes_.at(l, id), at),
                   &kept = around_[static_cast<std::size_t>(l)];
      require(truth.has_before == kept.has_before && truth.has_after == kept.has_after,
              "I11: the late finger knows on which sides something lies");
      if (truth.has_before) require_same(op_, kept.before, truth.before, "I11: the folds before");
      if (truth.has_after) require_same(op_, kept.after, truth.after, "I11: the folds after");
    }
    const NodeView leaf = nodes_.leaf(late_);
    require(path[0].node == late_ && leaf.times()[path[0].at - 1] == low_, "I11: the lower bound");
    require(path[0].at == leaf.size() || leaf.times()[path[0].at] == high_, "I11: the upper bound");
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
    } else {
      const Index skip = at > 0 && this->on_left(l - 1, node.children()[0]) ? 1 : 0;
      if (skip == 1) before.add(node.values()[0]);
      if (at > skip)
        before.add(this->fold_pairs(node.aggs() + skip, node.values() + skip, at - skip));
      const Index end =
          at < count && this->on_right(l - 1, node.children()[count]) ? count - 1 : count;
      if (at < end) after.add(this->fold_pairs(node.values() + at, node.aggs() + at + 1, end - at));
      if (end < count) after.add(node.values()[end]);
    }
    Around result;
    if ((result.has_before = before.any())) result.before = before.take();
    if ((result.has_after = after.any())) result.after = after.take();
    return result;
  }

  // The bounds of a finger that was loaded.
  void find_bounds(NodeId leaf) {
    late_ = leaf;
    low_ = nodes_.leaf(leaf).times()[path_[0].at - 1];
    for (int l = 0; l <= summit_; ++l) {
      const NodeView node = nodes_.at(l, path_[l].node);
      if (path_[l].at == node.size()) continue;
      high_ = node.times()[path_[l].at];
      return;
    }
    throw BadState("the late finger has no end");
  }

  Path path_;
  int summit_ = 0;  // the first level of the path that is on a spine
  std::vector<Around> around_;
  Time low_{}, high_{};
};

}  // namespace slidefold::fiba
