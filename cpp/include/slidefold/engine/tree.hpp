// The rows of one key in order of time and tie: a B+-tree that loses rows in front.
//
// Layout: Tree is what a key holds: its root, its newest leaf, and how many levels lie above the
//   leaves. A Place lies before a row: a leaf, a row number in it, and the way there.
// Invariants: those of nodes.hpp, and I6 `tail` is the last leaf, `size` the number of rows. I7 no
//   leaf and no inner node is empty.
// Cost: append O(1) amortised; a late row O(log n) and a move within one leaf; a search O(log n);
//   dropping rows in front O(1) amortised per leaf. No combine: states are made when asked.
// Paper: fiba-out-of-order, section 4, without its fingers: in-order rows go to `tail`.
#pragma once

#include <limits>

#include "slidefold/engine/nodes.hpp"

namespace slidefold::engine {

struct Tree {
  void* root = nullptr;
  Leaf* tail = nullptr;
  std::uint64_t size = 0;
  std::int32_t height = 0;  // 0: the root is a leaf
};

struct Place {
  Leaf* leaf = nullptr;
  std::int32_t at = 0;
  Inner* node[kHeightMost + 1];  // from 1, the parents of leaves, up to the root
  std::int32_t slot[kHeightMost + 1];
};

inline constexpr Time kOldest = std::numeric_limits<Time>::min();
inline constexpr Time kNewest = std::numeric_limits<Time>::max();

// The first of `count` ascending times from `first` on that is not before t.
inline std::int32_t lower_time(const Time* times, std::int32_t first, std::int32_t count, Time t) {
  const Time* base = times + first;
  while (count > 1) {
    const std::int32_t half = count / 2;
    base = base[half - 1] < t ? base + half : base;
    count -= half;
  }
  return static_cast<std::int32_t>(base - times) + (count == 1 && *base < t ? 1 : 0);
}

// Told when the rows of a leaf move or go, so that nobody keeps a wrong place in it.
class LeafWatch {
 public:
  virtual void moved(Tree& tree, const Leaf* leaf) = 0;
  // All rows of a leaf have moved to another one, or within it: row i is row i - by there.
  virtual void replaced(Tree& tree, const Leaf* leaf, Leaf* made, std::int32_t by) = 0;

 protected:
  ~LeafWatch() = default;
};

class Trees {
 public:
  Trees(Nodes& nodes, LeafWatch& watch) : nodes_(nodes), watch_(watch) {}

  Nodes& nodes() const { return nodes_; }

  // ---- search

  Place begin(const Tree& tree) const {
    return descend(
        tree, [](const Inner* node) { return node->first; },
        [](const Leaf* leaf) { return std::int32_t{leaf->first}; });
  }
  Place end(const Tree& tree) const {
    return descend(
        tree, [](const Inner* node) { return node->end() - 1; },
        [](const Leaf* leaf) { return leaf->end(); });
  }
  // Before the first row that is not before t.
  Place lower(const Tree& tree, Time t) const {
    return descend(
        tree,
        [&](const Inner* node) {  // the last child that begins before t
          const std::int32_t i = lower_time(node->begins, node->first, node->count, t);
          return std::max<std::int32_t>(i - 1, node->first);
        },
        [&](const Leaf* leaf) { return lower_time(leaf->times(), leaf->first, leaf->count, t); });
  }
  // Before the first row that does not lie before some place: before(leaf, row) tells.
  template <class Before>
  Place partition(const Tree& tree, Before&& before) const {
    std::int32_t level = tree.height;
    return descend(
        tree,
        [&](const Inner* node) {
          --level;
          std::int32_t first = node->first, count = node->count - 1;
          while (count > 0) {  // the last child whose first row lies before it
            const std::int32_t half = (count + 1) / 2;
            const Leaf* leaf = oldest_leaf(node->children[first + half], level);
            if (before(leaf, leaf->first)) {
              first += half;
              count -= half;
            } else {
              count = half - 1;
            }
          }
          return first;
        },
        [&](const Leaf* leaf) {
          std::int32_t first = leaf->first, count = leaf->count;
          while (count > 0) {
            const std::int32_t half = count / 2;
            if (before(leaf, first + half)) {
              first += half + 1;
              count -= half + 1;
            } else {
              count = half;
            }
          }
          return first;
        });
  }
  // Before the row that has `rank` others before it.
  Place at_rank(const Tree& tree, std::uint64_t rank) const {
    if (rank >= tree.size) return end(tree);
    return descend(
        tree,
        [&](const Inner* node) {
          std::int32_t i = node->first;
          while (rank >= node->counts[i]) rank -= node->counts[i++];
          return i;
        },
        [&](const Leaf* leaf) { return leaf->first + static_cast<std::int32_t>(rank); });
  }
  std::uint64_t rank(const Tree& tree, const Place& place) const {
    auto rows = static_cast<std::uint64_t>(place.at - place.leaf->first);
    for (std::int32_t h = 1; h <= tree.height; ++h) {
      const Inner* node = place.node[h];
      for (std::int32_t i = node->first; i < place.slot[h]; ++i) rows += node->counts[i];
    }
    return rows;
  }

  // Behind the row at a place: before the next one, or at the end.
  Place next_row(const Tree& tree, Place place) const {
    if (++place.at < place.leaf->end() || place.leaf->next == nullptr) return place;
    return at_rank(tree, rank(tree, place));
  }

  // Calls visit(time) for each row of a tree that has some.
  template <class Visit>
  void each_time(const Tree& tree, Visit&& visit) const {
    for (const Leaf* leaf = oldest_leaf(tree.root, tree.height); leaf != nullptr;
         leaf = leaf->next) {
      for (std::int32_t i = leaf->first; i < leaf->end(); ++i) visit(leaf->times()[i]);
    }
  }

  // ---- changes

  // Puts a row behind all others.
  void append(Tree& tree, const Rows& rows, std::size_t row) {
    if (tree.root == nullptr) {
      tree.tail = nodes_.make_leaf(kLeafFirst);
      tree.root = tree.tail;
    }
    if (tree.tail->full()) make_room(tree, rows.times[row]);
    Leaf* leaf = tree.tail;
    nodes_.put_row(leaf, leaf->end(), rows, row);
    ++leaf->count;
    ++tree.size;
    void* node = tree.root;
    for (std::int32_t h = tree.height; h > 0; --h) {
      auto* inner = static_cast<Inner*>(node);
      const std::int32_t last = inner->end() - 1;
      ++inner->counts[last];
      inner->dirty |= 1u << last;
      node = inner->children[last];
    }
  }

  // Puts a row at a place; returns where it is then. The states above it are older than it.
  Place insert(Tree& tree, const Place& place, const Rows& rows, std::size_t row) {
    return insert(tree, place, rows, row, [](Inner* node, std::int32_t slot, const Leaf*, int) {
      node->dirty |= 1u << slot;
    });
  }
  // The same; came(node, slot, leaf, row) lets the states above it know of the row.
  template <class Came>
  Place insert(Tree& tree, Place place, const Rows& rows, std::size_t row, Came&& came) {
    if (place.leaf->count == place.leaf->room) place = widen(tree, place);
    Leaf* leaf = place.leaf;
    if (leaf->end() < leaf->room) {
      nodes_.copy_rows(leaf, place.at + 1, leaf, place.at, leaf->end() - place.at);
    } else {
      nodes_.copy_rows(leaf, leaf->first - 1, leaf, leaf->first, place.at - leaf->first);
      --leaf->first;
      --place.at;
    }
    nodes_.put_row(leaf, place.at, rows, row);
    ++leaf->count;
    ++tree.size;
    for (std::int32_t h = 1; h <= tree.height; ++h) {
      Inner* node = place.node[h];
      ++node->counts[place.slot[h]];
      node->begins[place.slot[h]] = std::min(node->begins[place.slot[h]], rows.times[row]);
      came(node, place.slot[h], leaf, place.at);
    }
    return place;
  }

  // Takes one row away.
  void erase(Tree& tree, const Place& place) {
    Leaf* leaf = place.leaf;
    if (leaf->count == 1) return erase_leaf(tree, place);
    nodes_.copy_rows(leaf, place.at, leaf, place.at + 1, leaf->end() - place.at - 1);
    --leaf->count;
    watch_.moved(tree, leaf);
    forget_rows(tree, place, 1);
  }

  // Drops the oldest `count` rows.
  void drop_front(Tree& tree, std::uint64_t count) {
    if (count >= tree.size) return clear(tree);
    while (count > 0) {
      const Place place = begin(tree);
      Leaf* leaf = place.leaf;
      if (leaf->count <= count) {
        count -= leaf->count;
        erase_leaf(tree, place);
        continue;
      }
      leaf->first = static_cast<std::uint16_t>(leaf->first + count);
      leaf->count = static_cast<std::uint16_t>(leaf->count - count);
      forget_rows(tree, place, count);
      count = 0;
    }
  }

  void clear(Tree& tree) {
    if (tree.root == nullptr) return;
    for (Leaf* leaf = oldest_leaf(tree.root, tree.height); leaf != nullptr; leaf = leaf->next) {
      watch_.moved(tree, leaf);
    }
    free_node(tree.root, tree.height);
    tree = Tree{};
  }

  static Leaf* oldest_leaf(void* node, std::int32_t height) {
    for (; height > 0; --height) {
      node = static_cast<Inner*>(node)->children[static_cast<Inner*>(node)->first];
    }
    return static_cast<Leaf*>(node);
  }

 private:
  template <class Choose, class Within>
  Place descend(const Tree& tree, Choose&& choose, Within&& within) const {
    Place place;
    void* node = tree.root;
    for (std::int32_t h = tree.height; h > 0; --h) {
      place.node[h] = static_cast<Inner*>(node);
      place.slot[h] = choose(place.node[h]);
      node = place.node[h]->children[place.slot[h]];
    }
    place.leaf = static_cast<Leaf*>(node);
    place.at = within(place.leaf);
    return place;
  }

  void free_node(void* node, std::int32_t height) {
    if (height == 0) return nodes_.free(static_cast<Leaf*>(node));
    auto* inner = static_cast<Inner*>(node);
    for (std::int32_t i = inner->first; i < inner->end(); ++i) {
      free_node(inner->children[i], height - 1);
    }
    nodes_.free(inner);
  }

  // Makes room behind the newest row.
  void make_room(Tree& tree, Time begins) {
    Leaf* leaf = tree.tail;
    if (leaf->first > leaf->room / 4 || (tree.height == 0 && leaf->first > 0)) {
      const std::int32_t by = leaf->first;
      nodes_.compact(leaf);
      watch_.replaced(tree, leaf, leaf, by);
      return;
    }
    Place place = end(tree);
    if (leaf->room < kLeafFull) {
      grow(tree, place, std::min<std::int32_t>(kLeafFull, leaf->room * 2));
      return;
    }
    Leaf* made = nodes_.make_leaf(kLeafTail);
    leaf->next = made;
    tree.tail = made;
    add_child(tree, place, 1, made, begins, 0);
  }

  // Makes room for a late row; returns the place again, which may be in another leaf.
  Place widen(Tree& tree, Place place) {
    Leaf* leaf = place.leaf;
    if (leaf->room < kLeafMost) {
      const std::int32_t more = leaf->room < kLeafFull ? leaf->room : 8;
      return grow(tree, place, std::min<std::int32_t>(kLeafMost, leaf->room + more));
    }
    const std::uint64_t before = rank(tree, place);
    const std::int32_t keep = leaf->count / 2, moved = leaf->count - keep;
    Leaf* made = nodes_.make_leaf(std::max<std::int32_t>(kLeafTail, (moved + 15) / 8 * 8));
    nodes_.copy_rows(made, 0, leaf, leaf->first + keep, moved);
    made->count = static_cast<std::uint16_t>(moved);
    leaf->count = static_cast<std::uint16_t>(keep);
    made->next = leaf->next;
    leaf->next = made;
    if (tree.tail == leaf) tree.tail = made;
    watch_.moved(tree, leaf);
    if (tree.height > 0) {
      place.node[1]->counts[place.slot[1]] = static_cast<std::uint32_t>(keep);
      place.node[1]->dirty |= 1u << place.slot[1];
    }
    add_child(tree, place, 1, made, made->oldest(), static_cast<std::uint64_t>(moved));
    // A place between the two halves may be the end of the first: then the row goes there.
    Place again = at_rank(tree, before);
    if (before > 0 && again.at == again.leaf->first) again = before_gap(tree, before);
    return again;
  }
  // The place behind the row before it: the end of a leaf rather than the start of the next.
  Place before_gap(const Tree& tree, std::uint64_t rank) const {
    Place place = at_rank(tree, rank - 1);
    ++place.at;
    return place;
  }

  Place grow(Tree& tree, Place place, std::int32_t room) {
    Leaf* leaf = place.leaf;
    Leaf* made = nodes_.make_leaf(room);
    nodes_.copy_rows(made, 0, leaf, leaf->first, leaf->count);
    made->count = leaf->count;
    made->next = leaf->next;
    place.at -= leaf->first;
    place.leaf = made;
    watch_.replaced(tree, leaf, made, leaf->first);
    relink(tree, place, leaf, made);
    nodes_.free(leaf);
    return place;
  }
  // Lets everything that pointed to a leaf point to another one.
  void relink(Tree& tree, const Place& place, const Leaf* old, Leaf* made) {
    if (tree.height == 0) {
      tree.root = made;
    } else {
      place.node[1]->children[place.slot[1]] = made;
    }
    if (tree.tail == old) tree.tail = made;
    if (Leaf* previous = leaf_before(tree, place)) previous->next = made;
  }
  Leaf* leaf_before(const Tree& tree, const Place& place) const {
    for (std::int32_t h = 1; h <= tree.height; ++h) {
      if (place.slot[h] == place.node[h]->first) continue;
      void* node = place.node[h]->children[place.slot[h] - 1];
      for (std::int32_t g = h - 1; g > 0; --g) {
        auto* inner = static_cast<Inner*>(node);
        node = inner->children[inner->end() - 1];
      }
      return static_cast<Leaf*>(node);
    }
    return nullptr;
  }

  // Adds a child behind the one at level h of a place, splitting what is full.
  void add_child(Tree& tree, Place& place, std::int32_t h, void* child, Time begins,
                 std::uint64_t rows) {
    if (h > tree.height) {
      if (h > kHeightMost) throw std::length_error("a store is too high");
      Inner* root = nodes_.make_inner();
      nodes_.insert_child(root, 0, tree.root, kOldest, tree.size - rows);
      tree.root = root;
      tree.height = h;
      place.node[h] = root;
      place.slot[h] = 0;
    }
    Inner* node = place.node[h];
    std::int32_t at = place.slot[h] + 1;
    if (node->end() == kFan && node->first > 0) {
      const std::int32_t by = node->first;
      nodes_.move_children(node, 0, node, by, node->count);
      node->first = 0;
      place.slot[h] -= by;
      at -= by;
    }
    if (node->end() < kFan) return nodes_.insert_child(node, at, child, begins, rows);
    // In order everything stays on the left, so that nodes are full.
    const std::int32_t keep = at == kFan ? kFan : kFan / 2;
    Inner* made = nodes_.make_inner();
    nodes_.move_children(made, 0, node, keep, kFan - keep);
    made->count = static_cast<std::uint16_t>(kFan - keep);
    node->count = static_cast<std::uint16_t>(keep);
    if (at > keep || keep == kFan) {
      nodes_.insert_child(made, at - keep, child, begins, rows);
    } else {
      nodes_.insert_child(node, at, child, begins, rows);
    }
    if (h < tree.height) {
      place.node[h + 1]->counts[place.slot[h + 1]] = static_cast<std::uint32_t>(node->rows());
      place.node[h + 1]->dirty |= 1u << place.slot[h + 1];
    }
    add_child(tree, place, h + 1, made, made->begins[0], made->rows());
  }

  // Counts rows out that have left the leaf at a place.
  void forget_rows(Tree& tree, const Place& place, std::uint64_t count) {
    tree.size -= count;
    for (std::int32_t h = 1; h <= tree.height; ++h) {
      place.node[h]->counts[place.slot[h]] -= static_cast<std::uint32_t>(count);
      place.node[h]->dirty |= 1u << place.slot[h];
    }
  }

  void erase_leaf(Tree& tree, const Place& place) {
    Leaf* leaf = place.leaf;
    if (tree.height == 0) return clear(tree);
    watch_.moved(tree, leaf);
    forget_rows(tree, place, leaf->count);
    Leaf* const previous = leaf_before(tree, place);
    if (previous != nullptr) previous->next = leaf->next;
    if (tree.tail == leaf) tree.tail = previous;
    nodes_.free(leaf);
    for (std::int32_t h = 1; h <= tree.height; ++h) {
      nodes_.erase_child(place.node[h], place.slot[h]);
      if (place.node[h]->count > 0) break;
      nodes_.free(place.node[h]);
      if (h == tree.height) throw std::logic_error("a store lost its root");  // it had other leaves
    }
    while (tree.height > 0 && static_cast<Inner*>(tree.root)->count == 1) {
      auto* root = static_cast<Inner*>(tree.root);
      tree.root = root->children[root->first];
      nodes_.free(root);
      --tree.height;
    }
  }

  Nodes& nodes_;
  LeafWatch& watch_;
};

}  // namespace slidefold::engine
