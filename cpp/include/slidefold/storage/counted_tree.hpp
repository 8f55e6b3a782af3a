// A multiset of keys that knows ranks: insert, erase, and the k-th smallest.
//
// Layout: a B+ tree. Leaves hold sorted keys. An inner node holds, for each child, its smallest key
//   and how many keys lie below it. Nodes live in two arrays and are named by their index, so that
//   a copy copies; nodes that are empty wait in lists for the next use.
// Invariants: I1 keys are sorted, also from leaf to leaf. I2 an inner node's smallest keys and
// counts
//   are those of its children. I3 all leaves have the same depth. I4 every node but the root is at
//   least a quarter full; an inner root has two children. I5 a node is in the tree or waits, once.
// Cost: insert, erase and select O(log n); 11 to 32 bytes per key of 64 bits. When fewer than an
// eighth
//   of the leaves are used, erase builds the tree anew, at O(n): amortised O(1).
// Paper: none; the order statistics behind median and quantile, which are not monoids.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"

namespace slidefold {

// Keys are cheap to copy and compare with one another; copying one does not fail.
template <class K>
class CountedTreeOf {
 public:
  using Key = K;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t bytes() const {
    return leaves_.size() * sizeof(Leaf) + inners_.size() * sizeof(Inner);
  }
  void clear() { *this = CountedTreeOf(); }

  void insert(const Key& key) {
    make_room();
    if (leaves_.empty()) root_ = fresh(leaves_, free_leaves_);
    const Split split = insert_below(root_, height_, key);
    ++size_;
    if (!split.happened) return;
    const Index root = fresh(inners_, free_inners_);
    Inner& node = inners_[root];
    node.n = 2;
    node.entries[0] = {lowest(root_, height_), size_ - split.count, root_};
    node.entries[1] = {split.lowest, split.count, split.node};
    root_ = root;
    ++height_;
  }

  // Takes one key away that is equal; says whether there was one.
  bool erase(const Key& key) {
    if (size_ == 0 || !erase_below(root_, height_, key)) return false;
    --size_;
    while (height_ > 0 && inners_[root_].n == 1) {
      const Index only = inners_[root_].entries[0].child;
      free_inners_.push_back(root_);
      root_ = only;
      --height_;
    }
    if (leaves_.size() > kFewLeaves &&
        8 * (leaves_.size() - free_leaves_.size()) < leaves_.size()) {
      rebuild();
    }
    return true;
  }

  // The k-th smallest key and the one after it; both are the largest if there is none after.
  struct Neighbours {
    Key at, after;
  };
  Neighbours select(std::size_t k) const {
    Index node = root_;
    Key after{};
    bool known = false;  // the smallest key of the next subtree, in case the leaf ends
    for (unsigned level = height_; level > 0; --level) {
      const Inner& inner = inners_[node];
      std::size_t i = 0;
      while (k >= inner.entries[i].count) k -= inner.entries[i++].count;
      if (i + 1 < inner.n) after = inner.entries[i + 1].lowest, known = true;
      node = inner.entries[i].child;
    }
    const Leaf& leaf = leaves_[node];
    const Key at = leaf.keys[k];
    if (k + 1 < leaf.n) return {at, leaf.keys[k + 1]};
    return {at, known ? after : at};
  }

  // How many keys are smaller, and how many are not larger.
  std::size_t rank(const Key& key) const {
    return count_while([&](const Key& other) { return other < key; });
  }
  std::size_t rank_behind(const Key& key) const {
    return count_while([&](const Key& other) { return !(key < other); });
  }

  void check() const {
    std::vector<int> leaves(leaves_.size(), 0), inners(inners_.size(), 0);
    for (const Index free : free_leaves_) ++leaves[free];
    for (const Index free : free_inners_) ++inners[free];
    if (leaves_.empty()) return require(size_ == 0, "I5: keys without a leaf");
    const Key* last = nullptr;
    require(check_below(root_, height_, true, last, leaves, inners) == size_, "I2: the size");
    const auto once = [](int times) { return times == 1; };
    require(std::all_of(leaves.begin(), leaves.end(), once), "I5: a leaf is used once");
    require(std::all_of(inners.begin(), inners.end(), once), "I5: an inner node is used once");
  }

 private:
  using Index = std::uint32_t;

  // How many keys come before the first for which `before` is false.
  template <class Before>
  std::size_t count_while(Before&& before) const {
    if (size_ == 0) return 0;
    std::size_t count = 0;
    Index node = root_;
    for (unsigned level = height_; level > 0; --level) {
      const Inner& inner = inners_[node];
      std::size_t i = 0;  // the last child that starts before it
      while (i + 1 < inner.n && before(inner.entries[i + 1].lowest)) {
        count += inner.entries[i++].count;
      }
      node = inner.entries[i].child;
    }
    const Leaf& leaf = leaves_[node];
    const auto end = leaf.keys.begin() + leaf.n;
    return count + static_cast<std::size_t>(std::partition_point(leaf.keys.begin(), end, before) -
                                            leaf.keys.begin());
  }

  // Measured at 100k random keys in a rows window: 64 and 32 are the fastest powers of two.
  static constexpr std::size_t kLeaf = 64, kInner = 32;
  static constexpr std::size_t kFewLeaves = 32;
  struct Leaf {
    std::uint32_t n = 0;
    std::array<Key, kLeaf> keys;
  };
  struct Entry {
    Key lowest;
    std::size_t count;
    Index child;
  };
  struct Inner {
    std::uint32_t n = 0;
    std::array<Entry, kInner> entries;
  };
  struct Split {
    bool happened = false;
    Index node = 0;
    Key lowest{};
    std::size_t count = 0;
  };

  // The same keys without the nodes that wait. Where there is no memory for it, nothing changes.
  void rebuild() {
    try {
      CountedTreeOf anew;
      if (size_ > 0) copy_below(root_, height_, anew);
      *this = std::move(anew);
    } catch (const std::bad_alloc&) {
    }
  }
  void copy_below(Index at, unsigned level, CountedTreeOf& into) const {
    for (std::size_t i = 0; i < items(at, level); ++i) {
      level == 0 ? into.insert(leaves_[at].keys[i])
                 : copy_below(inners_[at].entries[i].child, level - 1, into);
    }
  }

  template <class Node>
  static Index fresh(std::vector<Node>& nodes, std::vector<Index>& free) {
    if (free.empty()) {
      nodes.emplace_back();
      return static_cast<Index>(nodes.size() - 1);
    }
    const Index index = free.back();
    free.pop_back();
    nodes[index].n = 0;
    return index;
  }

  Key lowest(Index node, unsigned level) const {
    return level == 0 ? leaves_[node].keys[0] : inners_[node].entries[0].lowest;
  }
  static std::size_t count_of(const Inner& node) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < node.n; ++i) count += node.entries[i].count;
    return count;
  }

  // The child where a key belongs: the last one that starts at or before it.
  static std::size_t place(const Inner& node, const Key& key) {
    std::size_t i = 1;
    while (i < node.n && node.entries[i].lowest <= key) ++i;
    return i - 1;
  }

  // Before anything changes, room for all that one insert may split and all that erases may free:
  // where memory ends, the tree stays as it was.
  void make_room() {
    if (leaves_.size() == leaves_.capacity()) leaves_.reserve(leaves_.size() * 2 + 1);
    const std::size_t inners = inners_.size() + height_ + 1;
    if (inners > inners_.capacity()) inners_.reserve(inners * 2);
    free_leaves_.reserve(leaves_.capacity());
    free_inners_.reserve(inners_.capacity());
  }

  Split insert_below(Index at, unsigned level, const Key& key) {
    if (level == 0) return insert_in_leaf(at, key);
    const std::size_t i = place(inners_[at], key);
    const Split below = insert_below(inners_[at].entries[i].child, level - 1, key);
    Entry& entry = inners_[at].entries[i];
    entry.lowest = std::min(entry.lowest, key);
    ++entry.count;
    if (!below.happened) return {};
    entry.count -= below.count;
    Split split;
    Index into = at;
    std::size_t place = i + 1;
    if (inners_[at].n == kInner) {
      split = halve_inner(at);
      if (place > inners_[at].n) {
        place -= inners_[at].n;
        into = split.node;
      }
    }
    insert_entry(inners_[into], place, {below.lowest, below.count, below.node});
    if (split.happened) {
      split.count = count_of(inners_[split.node]);
      split.lowest = inners_[split.node].entries[0].lowest;
    }
    return split;
  }
  static void insert_entry(Inner& node, std::size_t place, const Entry& entry) {
    for (std::size_t k = node.n; k > place; --k) node.entries[k] = node.entries[k - 1];
    node.entries[place] = entry;
    ++node.n;
  }
  Split halve_inner(Index at) {
    const Index right = fresh(inners_, free_inners_);
    Inner &from = inners_[at], &to = inners_[right];
    std::copy(from.entries.begin() + kInner / 2, from.entries.end(), to.entries.begin());
    to.n = from.n = kInner / 2;
    return {true, right, Key{}, 0};
  }
  Split insert_in_leaf(Index at, const Key& key) {
    Split split;
    if (leaves_[at].n == kLeaf) {
      const Index right = fresh(leaves_, free_leaves_);
      Leaf &from = leaves_[at], &to = leaves_[right];
      std::copy(from.keys.begin() + kLeaf / 2, from.keys.end(), to.keys.begin());
      to.n = from.n = kLeaf / 2;
      split = {true, right, to.keys[0], 0};
      if (key >= to.keys[0]) at = right;
    }
    Leaf& leaf = leaves_[at];
    const auto end = leaf.keys.begin() + leaf.n;
    const auto place = std::upper_bound(leaf.keys.begin(), end, key);
    std::copy_backward(place, end, end + 1);
    *place = key;
    ++leaf.n;
    if (split.happened) split.count = leaves_[split.node].n;
    return split;
  }

  bool erase_below(Index at, unsigned level, const Key& key) {
    if (level == 0) {
      Leaf& leaf = leaves_[at];
      const auto end = leaf.keys.begin() + leaf.n;
      const auto found = std::lower_bound(leaf.keys.begin(), end, key);
      if (found == end || *found != key) return false;
      std::copy(found + 1, end, found);
      --leaf.n;
      return true;
    }
    Inner& node = inners_[at];
    const std::size_t i = place(node, key);
    if (!erase_below(node.entries[i].child, level - 1, key)) return false;
    --node.entries[i].count;
    const std::size_t held = items(node.entries[i].child, level - 1);
    if (held > 0) node.entries[i].lowest = lowest(node.entries[i].child, level - 1);
    if (held < least(level - 1)) fill(node, i, level - 1);
    return true;
  }
  std::size_t items(Index at, unsigned level) const {
    return level == 0 ? leaves_[at].n : inners_[at].n;
  }
  static std::size_t least(unsigned level) { return (level == 0 ? kLeaf : kInner) / 4; }

  // Child i has become too small: it takes from its neighbour, or both become one.
  void fill(Inner& node, std::size_t i, unsigned level) {
    const std::size_t left = i + 1 < node.n ? i : i - 1;
    Entry &a = node.entries[left], &b = node.entries[left + 1];
    const bool joined = level == 0 ? share(leaves_[a.child], leaves_[b.child], kLeaf)
                                   : share(inners_[a.child], inners_[b.child], kInner);
    const std::size_t both = a.count + b.count;
    a.lowest = lowest(a.child, level);
    if (joined) {
      a.count = both;
      (level == 0 ? free_leaves_ : free_inners_).push_back(b.child);
      for (std::size_t k = left + 1; k + 1 < node.n; ++k) node.entries[k] = node.entries[k + 1];
      --node.n;
      return;
    }
    a.count = level == 0 ? leaves_[a.child].n : count_of(inners_[a.child]);
    b.count = both - a.count;
    b.lowest = lowest(b.child, level);
  }
  static auto& held(Leaf& leaf) { return leaf.keys; }
  static auto& held(Inner& inner) { return inner.entries; }
  // Moves all to the left node if three quarters of it hold them, else half to each.
  template <class Node>
  static bool share(Node& left, Node& right, std::size_t room) {
    auto &a = held(left), &b = held(right);
    const std::size_t total = left.n + right.n;
    const std::size_t to_left = total <= room * 3 / 4 ? total : total / 2;
    const auto moved = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
    if (to_left >= left.n) {
      const std::size_t take = to_left - left.n;
      std::copy(b.begin(), b.begin() + moved(take), a.begin() + left.n);
      std::copy(b.begin() + moved(take), b.begin() + right.n, b.begin());
    } else {
      const std::size_t give = left.n - to_left;
      std::copy_backward(b.begin(), b.begin() + right.n, b.begin() + moved(right.n + give));
      std::copy(a.begin() + moved(to_left), a.begin() + left.n, b.begin());
    }
    left.n = static_cast<std::uint32_t>(to_left);
    right.n = static_cast<std::uint32_t>(total - to_left);
    return right.n == 0;
  }

  std::size_t check_below(Index at, unsigned level, bool root, const Key*& last,
                          std::vector<int>& leaves, std::vector<int>& inners) const {
    ++(level == 0 ? leaves : inners)[at];
    const std::size_t n = items(at, level);
    require(root || n >= least(level), "I4: a node is at least a quarter full");
    if (level == 0) {
      for (std::size_t i = 0; i < n; ++i) {
        require(last == nullptr || *last <= leaves_[at].keys[i], "I1: keys are sorted");
        last = &leaves_[at].keys[i];
      }
      return n;
    }
    require(!root || n >= 2, "I4: an inner root has two children");
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Entry& entry = inners_[at].entries[i];
      require(entry.lowest == lowest(entry.child, level - 1), "I2: the smallest key of a child");
      const std::size_t below = check_below(entry.child, level - 1, false, last, leaves, inners);
      require(entry.count == below, "I2: the count of a child");
      count += below;
    }
    return count;
  }

  std::vector<Leaf> leaves_;
  std::vector<Inner> inners_;
  std::vector<Index> free_leaves_, free_inners_;
  Index root_ = 0;
  unsigned height_ = 0;  // I3: 0 if the root is a leaf
  std::size_t size_ = 0;
};
using CountedTree = CountedTreeOf<std::int64_t>;

}  // namespace slidefold
