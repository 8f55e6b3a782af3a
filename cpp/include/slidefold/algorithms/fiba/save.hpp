// The nodes of a B-tree as bytes: entries, children and up-aggregates in time order.
//
// Layout: a node is its number of entries, then child, aggregate of the child, entry, child and so
//   on; leaves have entries only. Where nodes lie in the store, and where in a leaf its entries
//   begin, is not kept: nothing that is answered depends on it.
// Invariants: I1 a loaded node has 1 to max_entries() entries. The tree's own check() does the
// rest. Cost: O(n). Paper: none.
#pragma once

#include <cstdint>
#include <utility>

#include "slidefold/algorithms/fiba/node.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold::fiba {

// Saves the subtree of a node, or loads one and sets `id`; returns the number of its entries. On a
// spine (left, right) a node's aggregate is not with its parent.
template <class Archive, class Op, class Nodes>
std::uint64_t archive_subtree(Archive& a, const Op& op, Nodes& nodes, int level, NodeId& id,
                              bool left, bool right) {
  std::uint32_t count = 0;
  if constexpr (!Archive::kLoading) count = nodes.at(level, id).size();
  a(count);
  if constexpr (Archive::kLoading) {
    expect(1 <= count && count <= nodes.max_entries(), "a node has too few or too many entries");
    id = nodes.make(level);
    nodes.at(level, id).head->count = count;
  }
  std::uint64_t total = count;
  for (std::uint32_t i = 0; i <= count; ++i) {
    if (level > 0) {
      const bool on_left = left && i == 0, on_right = right && i == count;
      NodeId child = kNoNode;
      if constexpr (!Archive::kLoading) child = nodes.inner(id).children()[i];
      const std::uint64_t below =
          archive_subtree(a, op, nodes, level - 1, child, on_left, on_right);
      total += below;
      const auto node = nodes.inner(id);  // only now: loading the child may have moved it
      if constexpr (Archive::kLoading) {
        node.children()[i] = child;
        node.counts()[i] = below;
      }
      if (!on_left && !on_right) archive_state(a, op, node.aggs()[i]);
    }
    if (i == count) break;
    const auto node = nodes.at(level, id);
    a(node.times()[i]);
    archive_state(a, op, node.values()[i]);
  }
  return total;
}

}  // namespace slidefold::fiba
