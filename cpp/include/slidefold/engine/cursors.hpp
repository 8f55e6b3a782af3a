// Windows that follow the rows of a key in order: two ends, and the folds of what lies between.
//
// Layout: per key and window a Cursor: the leaf and row of both ends, and for each part that the
//   window is asked for its *back*: the fold of all rows behind the leaf of the lower end, up to
//   the upper end; of order statistics the multiset of the window instead. A key that fits in one
//   leaf has none.
// Invariants: I1 a valid cursor's leaves are in the tree and its rows in them. I2 back is the fold
//   of those rows, and `behind` their number; nothing if both ends are in one leaf.
// Cost: an answer in order takes O(1) combines amortised and part; once per leaf that the lower end
//   passes, back is made again from O(log n) states. Answers that share both leaves take one call
//   per part.
// Paper: daba-in-order, section 4: two stacks, of which the leaf is the front and back the other.
#pragma once

#include "slidefold/engine/orders.hpp"
#include "slidefold/engine/rules.hpp"

namespace slidefold::engine {

// A part that a window is asked for.
struct Ask {
  std::size_t part = 0;
  Sink* sink = nullptr;
};

// The rows of a window, for parts that walk them: from row `at` of a leaf to row `up` of another.
struct Walk {
  const Leaf* lower;
  std::int32_t at;
  const Leaf* upper;
  std::int32_t up;

  // Calls visit(leaf, row) for each row that is present, oldest first.
  template <class Visit>
  void each(const Nodes& nodes, std::uint32_t presence, Visit&& visit) const {
    std::int32_t from = at;
    for (const Leaf* leaf = lower;; leaf = leaf->next, from = leaf->first) {
      const std::int32_t end = leaf == upper ? up : leaf->end();
      nodes.present_runs(leaf, from, end, presence, [&](std::int32_t first, std::int32_t count) {
        for (std::int32_t i = first; i < first + count; ++i) visit(leaf, i);
      });
      if (leaf == upper) return;
    }
  }
};

struct Cursor {
  Leaf* lower;
  Leaf* upper;
  std::int32_t at, up;
  std::uint64_t behind;
  std::int64_t base;  // row i of the lower leaf has base + i rows of its key before it
  bool valid;
};

// Where the cursors of all windows lie in the block of a key.
class CursorLayout {
 public:
  // The parts of each window.
  CursorLayout(const Shape& shape, const std::vector<std::vector<std::size_t>>& windows)
      : shape_(shape) {
    for (const auto& parts : windows) {
      Entry entry{bytes_, {}, parts};
      bytes_ += (sizeof(Cursor) + 15) / 16 * 16;
      for (const std::size_t p : parts) {
        entry.states.push_back(bytes_);
        const Part& part = shape.parts[p];
        const std::size_t slot = part.order != nullptr ? sizeof(OrderWindow) : part.slot_bytes();
        bytes_ += (slot + 15) / 16 * 16;
      }
      entries_.push_back(std::move(entry));
    }
  }
  std::size_t bytes() const { return bytes_; }
  std::size_t windows() const { return entries_.size(); }
  const std::vector<std::size_t>& parts(std::size_t w) const { return entries_[w].parts; }

  std::byte* make() const {
    return static_cast<std::byte*>(std::calloc(1, std::max<std::size_t>(bytes_, 1)));
  }
  void free(std::byte* block) const {
    if (block == nullptr) return;
    for (const Entry& entry : entries_) {
      for (std::size_t k = 0; k < entry.parts.size(); ++k) {
        const Part& part = shape_.parts[entry.parts[k]];
        if (part.order != nullptr) {
          void* const set = reinterpret_cast<OrderWindow*>(block + entry.states[k])->set;
          if (set != nullptr) part.order->free(set);
          continue;
        }
        void* const room = part.inside() ? nullptr : *pointer(block, entry.states[k]);
        if (room == nullptr) continue;
        if (!part.algebra().plain) part.algebra().destroy(room);
        part.algebra().release(room);
      }
    }
    std::free(block);
  }

  Cursor& cursor(std::byte* block, std::size_t w) const {
    return *reinterpret_cast<Cursor*>(block + entries_[w].cursor);
  }
  // The state of the k-th part of a window, once it was reset.
  void* state(std::byte* block, std::size_t w, std::size_t k) const {
    const Entry& entry = entries_[w];
    if (shape_.parts[entry.parts[k]].inside()) return block + entry.states[k];
    return *pointer(block, entry.states[k]);
  }
  // The multiset of the k-th part of a window, if that is of order statistics.
  OrderWindow* order(std::byte* block, std::size_t w, std::size_t k) const {
    if (shape_.parts[entries_[w].parts[k]].order == nullptr) return nullptr;
    return reinterpret_cast<OrderWindow*>(block + entries_[w].states[k]);
  }
  void reset(std::byte* block, std::size_t w, std::size_t k) const {
    const Part& part = shape_.parts[entries_[w].parts[k]];
    if (part.inside()) return part.identity(block + entries_[w].states[k]);
    void*& room = *pointer(block, entries_[w].states[k]);
    const Algebra& algebra = part.algebra();
    if (room == nullptr) {
      void* const fresh = algebra.allocate();
      try {
        part.identity(fresh);
      } catch (...) {
        algebra.release(fresh);
        throw;
      }
      room = fresh;
      return;
    }
    AnyState empty(&algebra);  // the old one goes only when the new one exists
    part.identity(empty.get());
    empty.filled();
    if (!algebra.plain) algebra.destroy(room);
    algebra.copy(empty.get(), room);
  }

 private:
  struct Entry {
    std::size_t cursor;
    std::vector<std::size_t> states, parts;
  };
  static void** pointer(std::byte* block, std::size_t at) {
    return reinterpret_cast<void**>(block + at);
  }
  const Shape& shape_;
  std::vector<Entry> entries_;
  std::size_t bytes_ = 0;
};

}  // namespace slidefold::engine
