// Bulk operations of the finger B-tree: evicting all up to a time, inserting many at once.
//
// Layout: that of tree.hpp. While a bulk goes in, each level has a list of entries that its
//   split nodes send up (each with the new child right of it) and of the children they came
//   from.
// Invariants: those of tree.hpp, before and after.
// Cost: bulk_evict amortised O(log m): only the boundary is touched, whole subtrees go to the
//   deferred free list; O(m) where that leaves a small tree of a large one (node.hpp). bulk_insert
//   amortised O(log d + m (1 + log(1 + d/m))): the entries are dealt out from the lowest spine node
//   that covers them, every node on the way is visited once, split once and folded once. Entries
//   younger than all are appended leaf by leaf.
// Paper: fiba-bulk, sections 4 and 5. The search runs down, not from leaf to leaf, and visits
//   the same nodes. Boundary nodes are on the left spine afterwards and need only two children,
//   so neighbours that are not siblings never meet: from the top down each node finds a sibling.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "slidefold/algorithms/fiba/read.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold::fiba {

template <Monoid Op, class Time>
class BulkTree : public ReadTree<Op, Time> {
  using Base = ReadTree<Op, Time>;

 public:
  using State = typename Op::State;
  using Base::Base;
  using Base::empty;
  using Base::insert;

  // Evicts all entries with time <= until.
  void bulk_evict(Time until) {
    if (empty() || until < this->oldest()) return;
    if (!(until < this->youngest())) return this->clear();
    if (this->height() > 1 && until < this->levels_[0].left.bound) return this->evict_oldest(until);
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
    // merged into the rest. Of equal times the one in the rest came first.
    struct Place {
      Time t;
      std::size_t at;
    };
    std::vector<Place> ahead, behind;
    ahead.reserve(n);
    Pacer pace;
    for (std::size_t i = 0; i < n; ++i) {
      pace();
      const bool late = i > 0 && times[i] < ahead.back().t;
      (late ? behind : ahead).push_back({times[i], i});
    }
    const auto before = [&](const Place& a, const Place& b) {
      pace();
      return a.t < b.t;
    };
    if (!std::is_sorted(behind.begin(), behind.end(), before)) {
      std::stable_sort(behind.begin(), behind.end(), before);
    }
    std::vector<Time> sorted;
    std::vector<State> states;
    sorted.reserve(n);
    states.reserve(n);
    for (auto a = ahead.begin(), b = behind.begin(); a != ahead.end() || b != behind.end();) {
      const bool late = a == ahead.end() || (b != behind.end() && before(*b, *a));
      const Place next = late ? *b++ : *a++;
      if (!sorted.empty() && !(sorted.back() < next.t)) {
        absorb(op_, states.back(), values[next.at]);
      } else {
        sorted.push_back(next.t);
        states.push_back(values[next.at]);
      }
    }
    insert_run(sorted.data(), states.data(), sorted.size());
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
  // would have to be sorted first pay for it later.
  static constexpr std::size_t kFew = 24, kFewUnsorted = 48;

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

  struct Sent {  // an entry sent up, and the new node right of it
    Time t;
    State value;
    NodeId child;
  };
  struct Edit {  // a child that changed, and what it sent up
    Index at;
    std::size_t begin, end;
  };
  struct Bulk {
    const Time* times;
    const State* values;
    Marks marks;
    std::array<std::vector<Sent>, Base::kMaxHeight> sent;  // by the level of the sender
    std::array<std::vector<Edit>, Base::kMaxHeight> edits;
    // A node's contents while it is rebuilt:
    std::vector<Time> new_times;
    std::vector<State> new_values, new_aggs;
    std::vector<std::uint64_t> new_counts;
    std::vector<NodeId> new_children;
    Pacer pace;
    std::vector<Sent>& sent_from(int l) { return sent[static_cast<std::size_t>(l)]; }
    std::vector<Edit>& edits_of(int l) { return edits[static_cast<std::size_t>(l)]; }
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
        merge_run(times, values, old);
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

  void merge_run(const Time* times, const State* values, std::size_t n) {
    Bulk bulk{times, values, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    nodes_.tidy();
    auto [l, side] = this->join(times[0], times[n - 1]);
    const bool left = side == Side::kLeft;
    NodeId id = left ? this->level(l).left.node : this->level(l).right.node;
    deal(l, id, 0, n, bulk);
    // What the top of the dealing sends up goes on along the spine.
    for (; !bulk.sent_from(l).empty(); ++l) {
      if (l == this->top()) this->grow_root();
      id = left ? this->level(l + 1).left.node : this->level(l + 1).right.node;
      const Index at = left ? 0 : nodes_.inner(id).size();
      bulk.edits_of(l + 1).push_back({at, 0, bulk.sent_from(l).size()});
      nodes_.touch(l + 1, id);
      rebuild_inner(l + 1, id, bulk);
    }
    this->mark(l, id, bulk.marks);
    this->repair_spines(bulk.marks);
  }

  // Deals the entries [begin, end) out over the subtree of a node. What the node sends up, if it is
  // split, is added to the level's list.
  void deal(int l, NodeId id, std::size_t begin, std::size_t end, Bulk& bulk) {
    bulk.pace();
    this->touch(l, id);
    if (l == 0) return rebuild_leaf(id, begin, end, bulk);
    const Index count = nodes_.inner(id).size();
    for (Index i = Base::lower_bound(nodes_.inner(id), bulk.times[begin]); begin < end; ++i) {
      const Time* const last = bulk.times + end;
      const Time* const until =
          i == count ? last
                     : std::lower_bound(bulk.times + begin, last, nodes_.inner(id).times()[i]);
      const auto next = static_cast<std::size_t>(until - bulk.times);
      if (next > begin) {
        const std::size_t sent = bulk.sent_from(l - 1).size();
        deal(l - 1, nodes_.inner(id).children()[i], begin, next, bulk);
        bulk.edits_of(l).push_back({i, sent, bulk.sent_from(l - 1).size()});
        begin = next;
      }
      if (begin < end && i < count && !(nodes_.inner(id).times()[i] < bulk.times[begin])) {
        absorb(op_, nodes_.inner(id).values()[i], bulk.values[begin++]);
      }
    }
    rebuild_inner(l, id, bulk);
  }

  void rebuild_leaf(NodeId id, std::size_t begin, std::size_t end, Bulk& bulk) {
    const NodeView leaf = nodes_.leaf(id);
    const Index count = leaf.size();
    const Time* const old = leaf.times();
    State* const kept = leaf.values();
    bulk.new_times.clear();
    bulk.new_values.clear();
    Index i = 0;
    for (; begin < end; ++begin) {
      const Time t = bulk.times[begin];
      for (; i < count && old[i] < t; ++i) {
        bulk.new_times.push_back(old[i]);
        bulk.new_values.push_back(std::move(kept[i]));
      }
      bulk.new_times.push_back(t);
      if (i < count && !(t < old[i])) {
        bulk.new_values.push_back(op_.combine(kept[i++], bulk.values[begin]));
      } else {
        bulk.new_values.push_back(bulk.values[begin]);
      }
    }
    for (; i < count; ++i) {
      bulk.new_times.push_back(old[i]);
      bulk.new_values.push_back(std::move(kept[i]));
    }
    this->size_ += bulk.new_times.size() - count;
    clear_items(kept, count);
    leaf.head->first = 0;
    deal_back(0, id, bulk);
  }

  // Puts what the children sent up into their parent, with their aggregates.
  void rebuild_inner(int l, NodeId id, Bulk& bulk) {
    auto& edits = bulk.edits_of(l);
    auto& sent = bulk.sent_from(l - 1);
    if (sent.empty()) {
      for (const Edit& edit : edits) this->refresh(l - 1, id, edit.at, bulk.marks);
      return edits.clear();
    }
    const NodeView node = nodes_.inner(id);
    const Index count = node.size();
    bulk.new_times.clear();
    bulk.new_values.clear();
    bulk.new_children.clear();
    bulk.new_aggs.clear();
    bulk.new_counts.clear();
    const auto keep = [&](Index i) {
      bulk.new_children.push_back(node.children()[i]);
      bulk.new_aggs.push_back(std::move(node.aggs()[i]));
      bulk.new_counts.push_back(node.counts()[i]);
    };
    const auto renew = [&](NodeId child) {
      bulk.new_children.push_back(child);
      if (this->on_left(l - 1, child) || this->on_right(l - 1, child)) {
        this->mark(l - 1, child, bulk.marks);
        bulk.new_aggs.emplace_back();
        bulk.new_counts.push_back(0);
      } else {
        const NodeView below = nodes_.at(l - 1, child);
        bulk.new_aggs.push_back(this->up(l - 1, below));
        bulk.new_counts.push_back(this->entries_below(l - 1, below));
      }
    };
    auto edit = edits.begin();
    for (Index i = 0; i <= count; ++i) {
      if (edit != edits.end() && edit->at == i) {
        renew(node.children()[i]);
        for (std::size_t s = edit->begin; s < edit->end; ++s) {
          bulk.new_times.push_back(sent[s].t);
          bulk.new_values.push_back(std::move(sent[s].value));
          renew(sent[s].child);
        }
        ++edit;
      } else {
        keep(i);
      }
      if (i < count) {
        bulk.new_times.push_back(node.times()[i]);
        bulk.new_values.push_back(std::move(node.values()[i]));
      }
    }
    edits.clear();
    sent.clear();
    clear_items(node.values(), count);
    clear_items(node.aggs(), count + 1);
    deal_back(l, id, bulk);
  }

  // Writes the rebuilt contents to the node and, if they are too many, to new ones right of it, all
  // equally full: at least mu children each, as there are more than 2 mu together.
  void deal_back(int l, NodeId id, Bulk& bulk) {
    const std::size_t arity = bulk.new_times.size() + 1, most = nodes_.max_entries() + 1;
    const std::size_t pieces = (arity + most - 1) / most;
    std::size_t from = 0;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const std::size_t n = arity / pieces + (piece < arity % pieces ? 1 : 0);
      const NodeId to = piece == 0 ? id : nodes_.make(l);
      const NodeView node = nodes_.at(l, to);
      if (piece > 0) {
        bulk.sent_from(l).push_back(
            {bulk.new_times[from - 1], std::move(bulk.new_values[from - 1]), to});
        if (piece + 1 == pieces && this->on_right(l, id)) this->level(l).right.node = to;
      }
      std::copy_n(bulk.new_times.begin() + offset(from), n - 1, node.times());
      std::move(bulk.new_values.begin() + offset(from),
                bulk.new_values.begin() + offset(from + n - 1), node.values());
      if (l > 0) {
        std::copy_n(bulk.new_children.begin() + offset(from), n, node.children());
        std::copy_n(bulk.new_counts.begin() + offset(from), n, node.counts());
        std::move(bulk.new_aggs.begin() + offset(from), bulk.new_aggs.begin() + offset(from + n),
                  node.aggs());
      }
      node.head->count = static_cast<Index>(n - 1);
      from += n;
    }
  }
  static std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }
};

}  // namespace slidefold::fiba
