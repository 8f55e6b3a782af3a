// check() of a tree: each numbered invariant of nodes.hpp and tree.hpp.
#pragma once

#include "slidefold/engine/folds.hpp"

namespace slidefold::engine {

class TreeCheck {
 public:
  TreeCheck(Nodes& nodes, const Tree& tree) : nodes_(nodes), tree_(tree) {}

  void run() {
    if (tree_.root == nullptr) {
      require(tree_.size == 0 && tree_.tail == nullptr && tree_.height == 0, "I6: an empty tree");
      return;
    }
    previous_ = kOldest;
    const std::uint64_t rows = walk(tree_.root, tree_.height);
    require(rows == tree_.size, "I6: size is the number of rows");
    require(last_ == tree_.tail && last_->next == nullptr, "I6: tail is the last leaf");
  }

 private:
  std::uint64_t walk(void* node, std::int32_t height) {
    if (height == 0) return walk_leaf(static_cast<Leaf*>(node));
    auto* inner = static_cast<Inner*>(node);
    require(inner->count > 0 && inner->end() <= kFan, "I7: an inner node is not empty");
    std::uint64_t total = 0;
    for (std::int32_t i = inner->first; i < inner->end(); ++i) {
      const Leaf* oldest = Trees::oldest_leaf(inner->children[i], height - 1);
      require(inner->begins[i] <= oldest->oldest(), "I2: a child begins no earlier than it says");
      require(i == inner->first || previous_ <= inner->begins[i], "I2: children begin in order");
      const std::uint64_t rows = walk(inner->children[i], height - 1);
      require(rows == inner->counts[i], "I2: counts are exact");
      total += rows;
      for (std::size_t p = 0; p < nodes_.shape().parts.size(); ++p) {
        if (nodes_.has_state(inner, p, i)) check_state(inner, height, p, i);
      }
    }
    return total;
  }

  std::uint64_t walk_leaf(Leaf* leaf) {
    require(leaf->count > 0 && leaf->end() <= leaf->room, "I7: a leaf is not empty");
    require(last_ == nullptr || last_->next == leaf, "I5: next links the leaves in order");
    last_ = leaf;
    for (std::int32_t i = leaf->first; i < leaf->end(); ++i) {
      require(previous_ <= leaf->times()[i], "I1: times ascend");
      previous_ = leaf->times()[i];
      for (std::uint32_t q = 0; q < nodes_.shape().presences; ++q) {
        require(nodes_.present(leaf, i, q) || Nodes::has_holes(leaf, q), "I4: a hole has its bit");
      }
    }
    return leaf->count;
  }

  // Folds the values below once more.
  void check_state(Inner* inner, std::int32_t height, std::size_t p, std::int32_t i) {
    const Part& part = nodes_.part(p);
    if (part.algebra().same == nullptr) return;
    StateOf truth(part);
    truth.reset();
    fold_below(inner->children[i], height - 1, p, truth.get());
    require(part.algebra().same(part.context.get(), nodes_.state(inner, p, i), truth.get()),
            "I3: a made state is the fold of its child");
  }
  void fold_below(void* node, std::int32_t height, std::size_t p, void* state) {
    if (height == 0) {
      const auto* leaf = static_cast<Leaf*>(node);
      return Folds(nodes_).fold_rows(p, state, leaf, leaf->first, leaf->end());
    }
    auto* inner = static_cast<Inner*>(node);
    for (std::int32_t i = inner->first; i < inner->end(); ++i) {
      fold_below(inner->children[i], height - 1, p, state);
    }
  }

  Nodes& nodes_;
  const Tree& tree_;
  Time previous_ = kOldest;
  const Leaf* last_ = nullptr;
};

}  // namespace slidefold::engine
