// Folds of a range of a tree's rows: states of inner nodes where they cover, values at the edges.
//
// Layout: a range is at most 2 * height + 1 segments: rows of a leaf, or children of an inner node.
// Invariants: those of nodes.hpp; states that are missing are made on the way, and stay.
// Cost: O(log n) combines if the states are there; each state is made once after its child changed.
//   A row that comes late is folded into the states above it, if the part commutes or picks one of
//   two states whatever their order.
// Paper: fiba-out-of-order, section 4.3 (range queries).
#pragma once

#include "slidefold/engine/tree.hpp"

namespace slidefold::engine {

struct Segment {
  Inner* node;  // null: rows of the leaf
  Leaf* leaf;
  std::int32_t first, count;
  std::int32_t height;  // of the node
};

struct Segments {
  Segment items[2 * kHeightMost + 1];
  std::int32_t count = 0;
  void add(const Segment& segment) { items[count++] = segment; }
};

class Folds {
 public:
  explicit Folds(Nodes& nodes) : nodes_(nodes) {}

  // The segments between two places; `high` must not lie before `low`.
  Segments between(const Tree& tree, const Place& low, const Place& high) const {
    Segments found;
    collect(tree.root, tree.height, &low, &high, found);
    return found;
  }

  static std::uint64_t rows(const Segments& segments) {
    std::uint64_t total = 0;
    for (std::int32_t s = 0; s < segments.count; ++s) {
      const Segment& segment = segments.items[s];
      if (segment.node == nullptr) {
        total += static_cast<std::uint64_t>(segment.count);
      } else {
        for (std::int32_t i = 0; i < segment.count; ++i) {
          total += segment.node->counts[segment.first + i];
        }
      }
    }
    return total;
  }

  // Folds segments into a state of a part, in order.
  void fold(std::size_t p, void* state, const Segments& segments) {
    const Part& part = nodes_.part(p);
    for (std::int32_t s = 0; s < segments.count; ++s) {
      const Segment& segment = segments.items[s];
      if (segment.node == nullptr) {
        fold_rows(p, state, segment.leaf, segment.first, segment.first + segment.count);
        continue;
      }
      // Most often all states are there: looking at each of them would take as long as absorbing.
      if (part.inside() && nodes_.has_states(segment.node, p, segment.first, segment.count)) {
        const auto* each =
            static_cast<const std::byte*>(nodes_.slot(segment.node, p, segment.first));
        for (std::int32_t i = 0; i < segment.count; ++i, each += part.slot_bytes()) {
          part.absorb(state, each);
        }
        continue;
      }
      for (std::int32_t i = segment.first; i < segment.first + segment.count; ++i) {
        part.absorb(state, made(segment.node, segment.height, p, i));
      }
    }
  }

  // Folds rows of a leaf into a state.
  void fold_rows(std::size_t p, void* state, const Leaf* leaf, std::int32_t first,
                 std::int32_t end) const {
    const Part& part = nodes_.part(p);
    const auto fold = [&](void* into, const void* const* columns, std::int32_t from,
                          std::int32_t n) { part.kernel->fold(part, into, columns, from, n); };
    each_run(p, leaf, first, end, fold, state);
  }
  // Calls use(target, columns, from, count) for each run of rows that are present for a part.
  template <class Use>
  void each_run(std::size_t p, const Leaf* leaf, std::int32_t first, std::int32_t end, Use&& use,
                void* target) const {
    const Part& part = nodes_.part(p);
    const void* columns[kColumnsMost];
    columns_of(part, leaf, columns);
    nodes_.present_runs(leaf, first, end, part.presence,
                        [&](std::int32_t from, std::int32_t n) { use(target, columns, from, n); });
  }

  // A row has come to a child. States that do not take it, or fail to, have to be made again.
  void came(Inner* node, std::int32_t i, const Leaf* leaf, std::int32_t row) noexcept {
    if ((node->dirty >> i & 1) != 0) return;
    for (std::size_t p = 0; p < nodes_.shape().parts.size(); ++p) {
      if (!nodes_.has_state(node, p, i)) continue;
      nodes_.forget_state(node, p, i);
      try {
        if (take_late(p, nodes_.state(node, p, i), leaf, row)) nodes_.close_state(node, p, i);
      } catch (...) {
      }
    }
  }
  // Folds a row into a state of rows before and behind it; false if that cannot be done.
  bool take_late(std::size_t p, void* state, const Leaf* leaf, std::int32_t row) const {
    const Part& part = nodes_.part(p);
    if (part.commutative) {
      fold_rows(p, state, leaf, row, row + 1);
      return true;
    }
    if (part.algebra().newer_wins == nullptr) return false;
    if (!nodes_.present(leaf, row, part.presence)) return true;
    // A combine that picks one of two: with s = a b, if s x and x s pick the same one, a x b does.
    StateOf one(part);
    one.reset();
    fold_rows(p, one.get(), leaf, row, row + 1);
    const void* const context = part.context.get();
    const bool wins = part.algebra().newer_wins(context, state, one.get());
    if (wins == part.algebra().newer_wins(context, one.get(), state)) return false;
    if (!wins) return true;
    if (!part.algebra().plain) part.algebra().destroy(state);
    part.algebra().copy(one.get(), state);
    return true;
  }

  static constexpr std::size_t kColumnsMost = 16;
  static void columns_of(const Part& part, const Leaf* leaf, const void** columns) {
    for (std::size_t c = 0; c < part.columns.size(); ++c) {
      columns[c] = leaf->column(part.columns[c]);
    }
  }

  // The state of a child, made if it is missing.
  const void* made(Inner* node, std::int32_t height, std::size_t p, std::int32_t i) {
    if (!nodes_.has_state(node, p, i)) {
      void* const state = nodes_.open_state(node, p, i);
      if (height == 1) {
        const Leaf* leaf = node->leaf(i);
        fold_rows(p, state, leaf, leaf->first, leaf->end());
      } else {
        Inner* child = node->inner(i);
        for (std::int32_t k = child->first; k < child->end(); ++k) {
          nodes_.part(p).absorb(state, made(child, height - 1, p, k));
        }
      }
      nodes_.close_state(node, p, i);
    }
    return nodes_.state(node, p, i);
  }

 private:
  // Those from `low` on, where it is given, up to `high`.
  static void collect(void* node, std::int32_t height, const Place* low, const Place* high,
                      Segments& found) {
    while (height > 0 && low != nullptr && high != nullptr &&
           low->slot[height] == high->slot[height]) {
      node = static_cast<Inner*>(node)->children[low->slot[height]];
      --height;
    }
    if (height == 0) {
      auto* leaf = static_cast<Leaf*>(node);
      const std::int32_t first = low != nullptr ? low->at : leaf->first;
      const std::int32_t end = high != nullptr ? high->at : leaf->end();
      if (first < end) found.add({nullptr, leaf, first, end - first, 0});
      return;
    }
    auto* inner = static_cast<Inner*>(node);
    std::int32_t first = inner->first;
    if (low != nullptr) {
      first = low->slot[height] + 1;
      collect(inner->children[first - 1], height - 1, low, nullptr, found);
    }
    const std::int32_t end = high != nullptr ? high->slot[height] : inner->end();
    if (first < end) found.add({inner, nullptr, first, end - first, height});
    if (high != nullptr) collect(inner->children[end], height - 1, nullptr, high, found);
  }

  Nodes& nodes_;
};

}  // namespace slidefold::engine
