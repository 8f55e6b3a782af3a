// Bulk operations of the finger B-tree: evicting all up to a time, inserting many at once.
//
// Layout: that of tree.hpp.
// Invariants: those of tree.hpp, before and after.
// Cost: bulk_evict amortised O(log m): only the boundary is touched, whole subtrees go to the
//   deferred free list; O(m) where that leaves a small tree of a large one (node.hpp). bulk_insert
//   amortised O(log d + m (1 + log(1 + d/m))): late entries are merged in (merge.hpp), entries
//   younger than all are appended leaf by leaf. A bulk that is not in order is sorted first.
// Paper: fiba-bulk, sections 4 and 5. Boundary nodes are on the left spine afterwards and need only
//   two children, so neighbours that are not siblings never meet: from the top down each node finds
//   a sibling.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/algorithms/fiba/merge.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold::fiba {

template <Monoid Op, class Time>
class BulkTree : public MergeTree<Op, Time> {
  using Base = MergeTree<Op, Time>;

 public:
  using State = typename Op::State;
  using Base::Base;
  using Base::empty;
  using Base::insert;

  // Evicts all entries with time <= until.
  void bulk_evict(Time until) {
    if (empty() || until < this->oldest()) return;
    if (this->height() > 1 && until < this->levels_[0].left.bound) return this->evict_oldest(until);
    if (!(until < this->youngest())) return this->clear();
    nodes_.tidy();
    auto [j, side] = this->join(until, until);
    const bool rightmost = side == Side::kRight;
    if (rightmost) this->size_ = 0;
    Marks marks;
    Path path;
    const int stop = cut(j, rightmost, until, path, marks);
    if (rightmost) {
      for (int l = j + 1; l <= this->top(); ++l) nodes_.defer(l, this->level(l).right.node, false);
      this->levels_.resize(static_cast<std::size_t>(j) + 1);
    }
    for (int l = j; l >= 0; --l) {
      this->level(l).left.node =
          l >= stop ? path[l].node : nodes_.inner(this->level(l + 1).left.node).children()[0];
      this->level(l).left.stale = true;
    }
    this->suffixes_from_ = kNoNode;
    if (rightmost || j == this->top()) marks.root = true;
    if (rightmost) marks.right = this->top() - 1;
    while (this->top() > 0 && nodes_.inner(this->root()).size() == 0) this->shrink_root(marks);
    marks.left = std::max(marks.left, j);
    for (int l = std::min(j, this->top() - 1); l >= 0; --l) {
      if (l >= this->top() || nodes_.at(l, this->level(l).left.node).size() > 0) continue;
      path.known = l;
      path.side = Side::kLeft;
      path[l] = {this->level(l).left.node, 0};
      const int changed = this->rebalance(path, l, marks);
      if (changed >= 0) this->mark(changed, path[changed].node, marks);
    }
    this->repair_spines(marks);
    nodes_.release_if_sparse(this->size_);
  }

  // Inserts n entries; equal times combine, in the order in which they come. May be stopped by
  // poll(): in a transaction that can be taken back, else the tree is lost.
  void bulk_insert(const Time* times, const State* values, std::size_t n) {
    if (n == 0) return;
    bool ascending = true;
    for (std::size_t i = 1; i < n && ascending; ++i) ascending = times[i - 1] < times[i];
    if (ascending && (n >= kFew || empty() || this->youngest() < times[0])) {
      return insert_run(times, values, n);
    }
    if (n < (ascending ? kFew : kFewUnsorted)) {
      for (std::size_t i = 0; i < n; ++i) insert(times[i], values[i]);
      return;
    }
    // Those behind an earlier entry are sorted, unless a steady delay left them in order, and
    // merged with what is not younger. Of equal times the one ahead came first.
    struct Place {
      Time t;
      std::size_t at;
    };
    Run ahead(n);
    std::vector<Place> behind;
    behind.reserve(n / 2);
    bool sorted = true;
    Pacer pace;
    for (std::size_t i = 0; i < n; ++i) {
      pace();
      if (i > 0 && times[i] < ahead.times.back()) {
        sorted = sorted && (behind.empty() || !(times[i] < behind.back().t));
        behind.push_back({times[i], i});
      } else {
        ahead.add(op_, times[i], values[i]);
      }
    }
    if (!sorted) {
      std::stable_sort(behind.begin(), behind.end(), [&](const Place& a, const Place& b) {
        pace();
        return a.t < b.t;
      });
    }
    Run old(n);
    std::size_t a = 0;
    for (const auto& [t, at] : behind) {
      pace();
      for (; a < ahead.times.size() && !(t < ahead.times[a]); ++a) {
        old.push(ahead.times[a], ahead.values[a]);
      }
      old.add(op_, t, values[at]);
    }
    insert_run(old.times.data(), old.values.data(), old.times.size());
    insert_run(ahead.times.data() + a, ahead.values.data() + a, ahead.times.size() - a);
  }

 protected:
  using Base::nodes_;
  using Base::op_;
  using typename Base::Index;
  using typename Base::Marks;
  using typename Base::NodeView;
  using typename Base::Path;
  using typename Base::Side;

 private:
  // Fewer late entries than this go in one by one: next to each other, that is as fast. Those that
  // would have to be sorted first pay for it later. Where combines commute, the late finger makes
  // single inserts faster (benchmarks/figures/late_data.py).
  static constexpr std::size_t kFew = Base::kCommutes ? 48 : 12, kFewUnsorted = 2 * kFew;

  // ---- bulk_evict

  // Cuts the nodes on the boundary, from the spine node at level l down, and defers what goes. The
  // size loses what goes or, from zero, gains what stays. Returns the lowest level that was cut.
  int cut(int l, bool rightmost, Time until, Path& path, Marks& marks) {
    NodeId id = rightmost ? this->level(l).right.node : this->level(l).left.node;
    for (;; --l) {
      const NodeView node = nodes_.at(l, id);
      const Index at = Base::upper_bound(node, until);
      const bool exact = at > 0 && !(node.times()[at - 1] < until);
      path[l] = {id, at};
      if (rightmost) {
        const Index from = l > 0 && !exact ? at + 1 : at;
        this->size_ += node.size() - at;
        for (Index i = from; l > 0 && i <= node.size(); ++i) this->size_ += below(l, node, i);
      } else {
        this->size_ -= at;
        for (Index i = 0; l > 0 && i < at; ++i) this->size_ -= below(l, node, i);
      }
      if (this->on_right(l, id) && l < this->top()) {
        this->level(l).right.stale = true;
        marks.right = std::max(marks.right, l);
      }
      this->touch(l, id);
      for (Index i = 0; l > 0 && i < at; ++i) nodes_.defer(l - 1, node.children()[i]);
      Base::take_front(l, node, at);
      if (l == 0 || exact) return l;
      id = node.children()[0];
    }
  }

  // The number of entries below a child, also if it is on a spine.
  std::uint64_t below(int l, const NodeView& node, Index i) const {
    const NodeId child = node.children()[i];
    const bool left = this->on_left(l - 1, child), right = this->on_right(l - 1, child);
    if (!left && !right) return node.counts()[i];
    std::uint64_t total = 0;
    for (int k = l - 1; k >= 0; --k) {
      const NodeView spine =
          nodes_.at(k, left ? this->level(k).left.node : this->level(k).right.node);
      total += spine.size();
      for (Index c = left ? 1 : 0; k > 0 && c < spine.size() + (left ? 1 : 0); ++c) {
        total += spine.counts()[c];
      }
    }
    return total;
  }

  // ---- bulk_insert

  struct Run {
    std::vector<Time> times;
    std::vector<State> values;
    explicit Run(std::size_t room) { times.reserve(room), values.reserve(room); }
    // An entry at the same time as the last one is combined with it.
    void add(const Op& op, Time t, const State& value) {
      if (!times.empty() && !(times.back() < t) && !(t < times.back())) {
        return absorb(op, values.back(), value);
      }
      push(t, value);
    }
    void push(Time t, const State& value) {
      times.push_back(t);
      values.push_back(value);
    }
  };

  // Times strictly ascend.
  void insert_run(const Time* times, const State* values, std::size_t n) {
    if (n == 0) return;
    std::size_t old = 0;
    if (empty()) {
      insert(times[0], values[0]);
      old = 1;
    } else if (!(this->youngest() < times[0])) {
      old = static_cast<std::size_t>(std::upper_bound(times, times + n, this->youngest()) - times);
      if (old < kFew) {
        for (std::size_t i = 0; i < old; ++i) insert(times[i], values[i]);
      } else {
        this->merge_run(times, values, old);
      }
    }
    append_run(times + old, values + old, n - old);
  }

  // All are younger than the youngest: leaf by leaf, full ones.
  void append_run(const Time* times, const State* values, std::size_t n) {
    Pacer pace;
    while (n > 0) {
      pace();
      auto& finger = this->levels_[0].right;
      const NodeView leaf = nodes_.leaf(finger.node);
      const Index count = leaf.size();
      const std::size_t fits = std::min<std::size_t>(n, nodes_.max_entries() - count);
      if (fits < 2) {
        insert(*times++, *values++);
        --n;
        continue;
      }
      nodes_.touch(0, finger.node);
      if (leaf.head->first + count + fits > nodes_.max_entries() + 1) Base::straighten(leaf);
      State part = this->fold(values, fits);
      absorb(op_, this->height() == 1 ? this->levels_[0].left.agg : finger.agg, part);
      if constexpr (Base::kCheap) {
        finger.part = op_.combine(finger.part, part);
      } else {
        finger.stale = true;
      }
      std::copy_n(times, fits, leaf.times() + count);
      std::copy_n(values, fits, leaf.values() + count);
      leaf.head->count = count + static_cast<Index>(fits);
      this->size_ += fits;
      times += fits;
      values += fits;
      n -= fits;
    }
  }
};

}  // namespace slidefold::fiba
