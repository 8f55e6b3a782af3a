// The nodes of an aggregating B-tree: their layout, their store, and what happens inside them.
//
// Layout: a leaf is a head, times and values; an inner node also has, for each child, its index,
//   its up-aggregate and its number of entries. So a node is folded from its own memory, and no
//   node knows its parent. Leaves start at slot `first`: evicting the oldest entry moves
//   nothing. There is room for one entry more than a node may have: it is split after it
//   overflowed.
// Invariants: I1 count <= max_entries() outside an operation. I2 first is 0 in inner nodes. I3
//   slots without an entry hold nothing that owns memory or objects, unless a transaction is
//   open. I4 a deferred subtree is reachable from exactly one frame.
// Cost: defer O(1); a step of reclaiming frees one bottom inner node with its leaves. Deferred
//   nodes are reclaimed a step at a time, with splits, merges and bulks. Where nearly all nodes
//   wait, they are freed at once: O(m) for the m entries that left, which their insertion has paid.
// Paper: fiba-out-of-order, sections 3.1 and 3.2; fiba-bulk, section 6 (deferred free list).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/arena.hpp"

namespace slidefold::fiba {

struct Head {
  std::uint32_t count;
  std::uint32_t first;
};

template <class T>
inline void slide_items(T* from, T* to, std::size_t count) {
  if (count == 0) return;
  if constexpr (std::is_trivially_copyable_v<T>) {
    std::memmove(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(T));
  } else if (to < from) {
    std::move(from, from + count, to);
  } else if (from < to) {
    std::move_backward(from, from + count, to + count);
  }
}

template <class T>
inline void clear_items(T* items, std::size_t count) {
  if constexpr (!std::is_trivially_destructible_v<T>) {
    for (std::size_t i = 0; i < count; ++i) items[i] = T{};
  }
}

template <class Time, class State>
class Slab;

// A node's arrays, from its first entry on.
template <class Time, class State>
struct View {
  Head* head;
  const Slab<Time, State>* slab;
  std::uint32_t size() const { return head->count; }
  Time* times() const { return slab->times(head) + head->first; }
  State* values() const { return slab->values(head) + head->first; }
  // Inner nodes only:
  State* aggs() const { return slab->aggs(head); }
  std::uint64_t* counts() const { return slab->counts(head); }
  NodeId* children() const { return slab->children(head); }
};

template <class Time, class State>
class Slab {
 public:
  static constexpr bool kTrivial =
      std::is_trivially_copyable_v<State> && std::is_trivially_destructible_v<State>;

  Slab(std::size_t entries, bool inner)
      : entries_(static_cast<std::uint32_t>(entries)), inner_(inner) {
    const auto aligned = [](std::size_t at, std::size_t to) { return (at + to - 1) / to * to; };
    values_ = aligned(sizeof(Head) + entries * sizeof(Time), alignof(State));
    std::size_t end = values_ + entries * sizeof(State);
    aggs_ = aligned(end, alignof(State));
    counts_ = aligned(aggs_ + (entries + 1) * sizeof(State), 8);
    children_ = counts_ + (entries + 1) * 8;
    if (inner) end = children_ + (entries + 1) * sizeof(NodeId);
    stride_ = aligned(end, std::max<std::size_t>(alignof(State), 8));
  }

  std::size_t stride() const { return stride_; }
  std::size_t entries() const { return entries_; }

  // A node's arrays, from its first slot on.
  Time* times(Head* node) const { return at<Time>(node, sizeof(Head)); }
  State* values(Head* node) const { return at<State>(node, values_); }
  State* aggs(Head* node) const { return at<State>(node, aggs_); }
  std::uint64_t* counts(Head* node) const { return at<std::uint64_t>(node, counts_); }
  NodeId* children(Head* node) const { return at<NodeId>(node, children_); }

  static Head* head(std::byte* node) { return reinterpret_cast<Head*>(node); }
  static Head* head(const std::byte* node) { return head(const_cast<std::byte*>(node)); }

  void construct(std::byte* node) const {
    ::new (node) Head{0, 0};
    if constexpr (!kTrivial) {
      std::uninitialized_value_construct_n(values(head(node)), entries_);
      if (inner_) std::uninitialized_value_construct_n(aggs(head(node)), entries_ + 1);
    }
  }
  void destroy(std::byte* node) const {
    if constexpr (!kTrivial) {
      std::destroy_n(values(head(node)), entries_);
      if (inner_) std::destroy_n(aggs(head(node)), entries_ + 1);
    }
    (void)node;
  }
  void reset(std::byte* node) const {
    if constexpr (!kTrivial) {
      clear_items(values(head(node)), entries_);
      if (inner_) clear_items(aggs(head(node)), entries_ + 1);
    }
    (void)node;
  }
  template <class Visit>
  void for_states(std::byte* node, Visit& visit) const {
    std::for_each_n(values(head(node)), entries_, std::ref(visit));
    if (inner_) std::for_each_n(aggs(head(node)), entries_ + 1, std::ref(visit));
  }
  // Copies into raw memory.
  void copy(std::byte* to, const std::byte* from) const {
    if constexpr (kTrivial) {
      std::memcpy(to, from, stride_);
    } else {
      construct(to);
      try {
        assign(to, from);
      } catch (...) {
        destroy(to);
        throw;
      }
    }
  }
  void assign(std::byte* to, const std::byte* from) const {
    if constexpr (kTrivial) {
      std::memcpy(to, from, stride_);
    } else {
      Head *const t = head(to), *const f = head(from);
      std::copy_n(times(f), entries_, times(t));
      std::copy_n(values(f), entries_, values(t));
      if (inner_) {
        std::copy_n(aggs(f), entries_ + 1, aggs(t));
        std::copy_n(counts(f), entries_ + 1, counts(t));
        std::copy_n(children(f), entries_ + 1, children(t));
      }
      *t = *f;
    }
  }

 private:
  template <class T>
  static T* at(Head* node, std::size_t offset) {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(node) + offset);
  }

  std::uint32_t entries_;  // narrow: no copy of them can overflow
  bool inner_;
  std::size_t values_, aggs_, counts_, children_, stride_;
};

// The store of a tree's nodes. Level 0 are the leaves. kUndo: changes can be taken back.
template <class Time, class State, bool kUndo>
class Nodes {
 public:
  using NodeView = View<Time, State>;

  Nodes(std::uint32_t min_arity, std::uint32_t max_arity)
      : least_(min_arity - 1),
        most_(max_arity - 1),
        leaf_slab_(max_arity, false),
        inner_slab_(max_arity, true),
        leaves_(leaf_slab_),
        inners_(inner_slab_) {}

  std::uint32_t max_entries() const { return most_; }
  std::uint32_t min_entries() const { return least_; }

  [[gnu::always_inline]] NodeView leaf(NodeId id) const {
    return {Slab<Time, State>::head(leaves_[id]), &leaf_slab_};
  }
  [[gnu::always_inline]] NodeView inner(NodeId id) const {
    return {Slab<Time, State>::head(inners_[id]), &inner_slab_};
  }
  [[gnu::always_inline]] NodeView at(int level, NodeId id) const {
    return level == 0 ? leaf(id) : inner(id);
  }

  // A new empty node. Views of nodes of the same kind are void afterwards.
  NodeId make(int level) {
    // At most a walk down to the next bottom node that waits.
    auto& arena = level == 0 ? leaves_ : inners_;
    while (arena.full() && !deferred_.empty() && !open_) reclaim();
    const NodeId id = arena.make();
    *at(level, id).head = {0, 0};
    if constexpr (kUndo) {
      if (open_) made_.push_back({level, id});
    }
    return id;
  }

  void drop(int level, NodeId id) {
    if constexpr (kUndo) {
      if (open_) {
        dropped_.push_back({level, id});
        return;
      }
    }
    free(level, id);
  }

  // Hands a subtree to the free list in O(1); with `last` false without that of its last child.
  void defer(int level, NodeId id, bool last = true) {
    const std::uint32_t end = level == 0 ? 0 : last ? kAll : inner(id).size();
    deferred_.push_back({id, 0, end, level});
  }
  std::size_t deferred() const { return deferred_.size(); }

  // One bounded step of reclaiming what was deferred.
  void tidy() {
    if (!deferred_.empty() && !open_) reclaim();
  }

  // Reclaims everything if a tree of so many entries needs few of the nodes: about 1 in 16.
  void release_if_sparse(std::uint64_t entries) {
    if (deferred_.empty() || open_ || used() <= kFewNodes) return;
    if (32 * entries > std::uint64_t{used()} * max_entries()) return;
    while (!deferred_.empty()) reclaim();
    deferred_ = std::vector<Frame>();  // {} would keep its memory
  }

  // To be called before a node changes.
  void touch(int level, NodeId id) {
    if constexpr (kUndo) {
      if (open_) save(level, id);
    }
    (void)level, (void)id;
  }

  void begin() {
    if constexpr (kUndo) {
      open_ = true;
      saved_deferred_ = deferred_.size();
    }
  }
  void commit() {
    if constexpr (kUndo) {
      open_ = false;
      for (const auto& [level, id] : dropped_) free(level, id);
      close();
    }
  }
  void rollback() {
    if constexpr (kUndo) {
      open_ = false;
      for (auto entry = journal_.rbegin(); entry != journal_.rend(); ++entry) {
        std::byte* node = entry->level == 0 ? leaves_[entry->id] : inners_[entry->id];
        slab(entry->level).assign(node, entry->copy.get());
      }
      deferred_.resize(saved_deferred_);
      for (const auto& [level, id] : made_) free(level, id);
      close();
    }
  }

  // How often the open transaction changed a node, or made one.
  std::size_t touched() const { return journal_.size() + made_.size(); }

  std::size_t bytes() const {
    return leaves_.bytes() + inners_.bytes() + deferred_.capacity() * sizeof(Frame);
  }
  std::size_t used() const { return leaves_.used() + inners_.used(); }
  std::size_t room() const { return leaves_.room() + inners_.room(); }
  bool live(int level, NodeId id) const { return level == 0 ? leaves_.live(id) : inners_.live(id); }

  // Calls visit(state) for all states of all nodes; free places hold State{}.
  template <class Visit>
  void for_states(Visit& visit) const {
    leaves_.for_each([&](std::byte* node) { leaf_slab_.for_states(node, visit); });
    inners_.for_each([&](std::byte* node) { inner_slab_.for_states(node, visit); });
  }

  // All nodes are in the tree (`reachable` of them) or deferred.
  void check(std::size_t reachable) const {
    leaves_.check();
    inners_.check();
    std::size_t waiting = 0;
    for (const Frame& frame : deferred_) waiting += waiting_below(frame);
    require(used() == reachable + waiting, "nodes I4: a used node is in the tree or deferred once");
  }

 private:
  static constexpr std::uint32_t kAll = ~std::uint32_t{0};  // not looked at yet
  static constexpr std::size_t kFewNodes = 256;
  struct Frame {
    NodeId node;
    std::uint32_t next, end;  // children that still wait
    int level;
  };
  struct Where {
    int level;
    NodeId id;
  };
  struct Release {
    const Slab<Time, State>* slab = nullptr;
    void operator()(std::byte* node) const {
      slab->destroy(node);
      ::operator delete(node, std::align_val_t{64});
    }
  };
  struct Saved {
    int level;
    NodeId id;
    std::unique_ptr<std::byte, Release> copy;
  };
  // What a transaction remembers is not part of a copy.
  struct Journal : std::vector<Saved> {
    Journal() = default;
    Journal(const Journal&) : std::vector<Saved>() {}
    Journal(Journal&&) = default;
    Journal& operator=(const Journal&) { return *this; }
    Journal& operator=(Journal&&) = default;
  };

  const Slab<Time, State>& slab(int level) const { return level == 0 ? leaf_slab_ : inner_slab_; }

  void free(int level, NodeId id) { level == 0 ? leaves_.drop(id) : inners_.drop(id); }

  void reclaim() {
    Frame& top = deferred_.back();
    if (top.end == kAll) top.end = inner(top.node).size() + 1;
    if (top.level > 1 && top.next < top.end) {
      const NodeId child = inner(top.node).children()[top.next++];
      defer(top.level - 1, child);
      return;
    }
    const Frame done = top;
    deferred_.pop_back();
    if (done.level == 1) {
      const auto node = inner(done.node);
      for (std::uint32_t i = done.next; i < done.end; ++i) leaves_.drop(node.children()[i]);
    }
    free(done.level, done.node);
  }

  std::size_t waiting_below(const Frame& frame) const {
    require(live(frame.level, frame.node), "nodes I4: a deferred node is not free");
    std::size_t total = 1;
    const std::uint32_t end = frame.end == kAll ? inner(frame.node).size() + 1 : frame.end;
    for (std::uint32_t i = frame.next; i < end; ++i) {
      const NodeId child = inner(frame.node).children()[i];
      const int level = frame.level - 1;
      total += waiting_below({child, 0, level == 0 ? 0 : kAll, level});
    }
    return total;
  }

  void save(int level, NodeId id) {
    const Slab<Time, State>& kind = slab(level);
    const std::byte* node = level == 0 ? leaves_[id] : inners_[id];
    auto* copy = static_cast<std::byte*>(::operator new(kind.stride(), std::align_val_t{64}));
    try {
      kind.copy(copy, node);
    } catch (...) {
      ::operator delete(copy, std::align_val_t{64});
      throw;
    }
    journal_.push_back({level, id, std::unique_ptr<std::byte, Release>(copy, Release{&kind})});
  }

  void close() {
    journal_.clear();
    made_.clear();
    dropped_.clear();
  }

  std::uint32_t least_, most_;
  Slab<Time, State> leaf_slab_, inner_slab_;
  Arena<Slab<Time, State>> leaves_, inners_;
  std::vector<Frame> deferred_;
  bool open_ = false;
  std::size_t saved_deferred_ = 0;
  Journal journal_;
  std::vector<Where> made_, dropped_;
};

}  // namespace slidefold::fiba
