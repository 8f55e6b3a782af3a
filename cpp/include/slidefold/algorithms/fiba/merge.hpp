// Merging a run of late entries into the finger B-tree.
//
// Layout: that of tree.hpp. While a run goes in, two stacks hold the entries that split nodes send
//   up, each with the new child right of it, and the children that changed. A parent takes off what
//   its children put on.
// Invariants: those of tree.hpp, before and after.
// Cost: amortised O(log d + m (1 + log(1 + d/m))): the entries are dealt out from the lowest spine
//   node that covers them, every node on the way is visited once, split once and folded once.
// Paper: fiba-bulk, section 5. The search runs down, not from leaf to leaf, and visits the same
//   nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/algorithms/fiba/read.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold::fiba {

template <Monoid Op, class Time>
class MergeTree : public ReadTree<Op, Time> {
  using Base = ReadTree<Op, Time>;

 public:
  using State = typename Op::State;
  using Base::Base;

 protected:
  using Base::nodes_;
  using Base::op_;
  using typename Base::Index;
  using typename Base::Marks;
  using typename Base::NodeView;
  using typename Base::Side;

  // Times strictly ascend; the first is before the youngest entry.
  void merge_run(const Time* times, const State* values, std::size_t n) {
    Bulk bulk{times, values, n};
    if constexpr (Base::kCheap) {  // room for most runs, so that little is allocated
      bulk.sent.reserve(nodes_.max_entries());
      bulk.edits.reserve(nodes_.max_entries());
      bulk.node.make_room(4 * nodes_.max_entries(), true);
    }
    nodes_.tidy();
    auto [l, side] = this->join(times[0], times[n - 1]);
    const bool left = side == Side::kLeft;
    NodeId id = left ? this->level(l).left.node : this->level(l).right.node;
    deal(l, id, 0, n, bulk);
    // What the top of the dealing sends up goes on along the spine.
    for (; !bulk.sent.empty(); ++l) {
      if (l == this->top()) this->grow_root();
      id = left ? this->level(l + 1).left.node : this->level(l + 1).right.node;
      const Index at = left ? 0 : nodes_.inner(id).size();
      bulk.edits.push_back({at, 0, bulk.sent.size()});
      nodes_.touch(l + 1, id);
      rebuild_inner(l + 1, id, 0, 0, bulk);
    }
    this->mark(l, id, bulk.marks);
    this->repair_spines(bulk.marks);
  }

 private:
  struct Sent {  // an entry sent up, and the new node right of it
    Time t;
    State value;
    NodeId child;
  };
  struct Edit {  // a child that changed, and what it sent up
    Index at;
    std::size_t begin, end;
  };
  // A node's contents while it is rebuilt: plain arrays that only grow.
  struct Contents {
    std::size_t size = 0;  // entries; in inner nodes there is a child more
    std::vector<Time> times;
    std::vector<State> values, aggs;
    std::vector<std::uint64_t> counts;
    std::vector<NodeId> children;
    void make_room(std::size_t entries, bool inner) {
      size = 0;
      if (times.size() < entries) times.resize(entries), values.resize(entries);
      if (inner && aggs.size() <= entries) {
        aggs.resize(entries + 1), counts.resize(entries + 1), children.resize(entries + 1);
      }
    }
    void add(Time t, State value) {
      times[size] = t;
      values[size++] = std::move(value);
    }
  };
  struct Bulk {
    const Time* times;
    const State* values;
    std::size_t size;
    Marks marks{};
    std::vector<Sent> sent{};
    std::vector<Edit> edits{};
    Contents node{};
    Pacer pace{};
  };

  // Deals the entries [begin, end) out over the subtree of a node. What the node sends up, if it is
  // split, is added to the stack.
  void deal(int l, NodeId id, std::size_t begin, std::size_t end, Bulk& bulk) {
    bulk.pace();
    this->touch(l, id);
    if (l == 0) return rebuild_leaf(id, begin, end, bulk);
    const std::size_t edits = bulk.edits.size(), sent = bulk.sent.size();
    const Index count = nodes_.inner(id).size();
    for (Index i = Base::lower_bound(nodes_.inner(id), bulk.times[begin]); begin < end; ++i) {
      const Time* const last = bulk.times + end;
      const Time* const until =
          i == count ? last
                     : std::lower_bound(bulk.times + begin, last, nodes_.inner(id).times()[i]);
      const auto next = static_cast<std::size_t>(until - bulk.times);
      if (next > begin) {
        const std::size_t before = bulk.sent.size();
        deal(l - 1, nodes_.inner(id).children()[i], begin, next, bulk);
        bulk.edits.push_back({i, before, bulk.sent.size()});
        begin = next;
      }
      if (begin < end && i < count && !(nodes_.inner(id).times()[i] < bulk.times[begin])) {
        absorb(op_, nodes_.inner(id).values()[i], bulk.values[begin++]);
      }
    }
    rebuild_inner(l, id, edits, sent, bulk);
  }

  void rebuild_leaf(NodeId id, std::size_t begin, std::size_t end, Bulk& bulk) {
    const NodeView leaf = nodes_.leaf(id);
    const Index count = leaf.size();
    const Time* const old = leaf.times();
    State* const kept = leaf.values();
    Contents& all = bulk.node;
    all.make_room(count + (end - begin), false);
    Index i = 0;
    for (; begin < end; ++begin) {
      const Time t = bulk.times[begin];
      for (; i < count && old[i] < t; ++i) all.add(old[i], std::move(kept[i]));
      if (i < count && !(t < old[i])) {
        all.add(t, op_.combine(kept[i++], bulk.values[begin]));
      } else {
        all.add(t, bulk.values[begin]);
      }
    }
    const std::size_t grown = end == bulk.size ? all.size : 0;
    for (; i < count; ++i) all.add(old[i], std::move(kept[i]));
    this->size_ += all.size - count;
    clear_items(kept, count);
    leaf.head->first = 0;
    deal_back(0, id, grown, bulk);
  }

  // Puts what the children sent up into their parent, with their aggregates. Its edits and what was
  // sent begin at these places of the stacks.
  void rebuild_inner(int l, NodeId id, std::size_t edits, std::size_t sent, Bulk& bulk) {
    if (bulk.sent.size() == sent) {
      for (std::size_t e = edits; e < bulk.edits.size(); ++e) {
        this->refresh(l - 1, id, bulk.edits[e].at, bulk.marks);
      }
      bulk.edits.resize(edits);
      return;
    }
    const NodeView node = nodes_.inner(id);
    const Index count = node.size();
    Contents& all = bulk.node;
    all.make_room(count + (bulk.sent.size() - sent), true);
    const auto keep = [&](Index i) {
      all.children[all.size] = node.children()[i];
      all.aggs[all.size] = std::move(node.aggs()[i]);
      all.counts[all.size] = node.counts()[i];
    };
    const auto renew = [&](NodeId child) {
      all.children[all.size] = child;
      if (this->on_left(l - 1, child) || this->on_right(l - 1, child)) {
        this->mark(l - 1, child, bulk.marks);
        all.aggs[all.size] = State{};
        all.counts[all.size] = 0;
      } else {
        const NodeView below = nodes_.at(l - 1, child);
        all.aggs[all.size] = this->up(l - 1, below);
        all.counts[all.size] = this->entries_below(l - 1, below);
      }
    };
    std::size_t e = edits;
    for (Index i = 0; i <= count; ++i) {
      if (e < bulk.edits.size() && bulk.edits[e].at == i) {
        renew(node.children()[i]);
        for (std::size_t s = bulk.edits[e].begin; s < bulk.edits[e].end; ++s) {
          all.add(bulk.sent[s].t, std::move(bulk.sent[s].value));
          renew(bulk.sent[s].child);
        }
        ++e;
      } else {
        keep(i);
      }
      if (i < count) all.add(node.times()[i], std::move(node.values()[i]));
    }
    bulk.edits.resize(edits);
    bulk.sent.erase(bulk.sent.begin() + offset(sent), bulk.sent.end());
    clear_items(node.values(), count);
    clear_items(node.aggs(), count + 1);
    deal_back(l, id, 0, bulk);
  }

  // Writes the rebuilt contents to the node and, if they are too many, to new ones right of it, all
  // equally full: at least mu children each, as there are more than 2 mu together. If they are two,
  // the left one takes up to `grown`, where the bulk ended: the next one is likely to go on there.
  void deal_back(int l, NodeId id, std::size_t grown, Bulk& bulk) {
    Contents& all = bulk.node;
    const std::size_t arity = all.size + 1, most = nodes_.max_entries() + 1;
    const std::size_t pieces = (arity + most - 1) / most;
    const std::size_t first = std::min({most, arity - nodes_.min_entries() - 1, grown + 1});
    std::size_t from = 0;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      std::size_t n = arity / pieces + (piece < arity % pieces ? 1 : 0);
      if (pieces == 2) n = piece == 0 ? std::max(n, first) : arity - from;
      const NodeId to = piece == 0 ? id : nodes_.make(l);
      const NodeView node = nodes_.at(l, to);
      if (piece > 0) {
        bulk.sent.push_back({all.times[from - 1], std::move(all.values[from - 1]), to});
        if (piece + 1 == pieces && this->on_right(l, id)) this->level(l).right.node = to;
      }
      std::copy_n(all.times.begin() + offset(from), n - 1, node.times());
      std::move(all.values.begin() + offset(from), all.values.begin() + offset(from + n - 1),
                node.values());
      if (l > 0) {
        std::copy_n(all.children.begin() + offset(from), n, node.children());
        std::copy_n(all.counts.begin() + offset(from), n, node.counts());
        std::move(all.aggs.begin() + offset(from), all.aggs.begin() + offset(from + n),
                  node.aggs());
      }
      node.head->count = static_cast<Index>(n - 1);
      from += n;
    }
  }
  static std::ptrdiff_t offset(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }
};

}  // namespace slidefold::fiba
