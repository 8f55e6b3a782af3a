// What one key holds: its rows, and the cursors of its windows.
//
// Layout: a tree, a block of cursors once it has more than one leaf, and how many of its rows have
//   been answered (its frontier).
// Invariants: those of tree.hpp and cursors.hpp. I1 a tree of more than one leaf has a block.
// Cost: those of tree.hpp; a late row also looks at each cursor once.
// Paper: fiba-out-of-order.
#pragma once

#include "slidefold/engine/answers.hpp"
#include "slidefold/engine/checks.hpp"

namespace slidefold::engine {

// Remains of a key's rows that have gone: the folds of lifetime windows, and where results
// were last, if ends without rows are to be filled in.
struct Past {
  std::uint64_t rows = 0;
  std::vector<StateOf> states;
  std::optional<Time> last_end;
};

struct KeyStore : Tree {
  std::unique_ptr<Past> past;
  std::unique_ptr<Tree> slices;  // of rows before its own (slices.hpp)
  std::byte* block = nullptr;
  std::uint64_t answered = 0;
  std::uint64_t passed = 0;  // where windows are closed: the rows that have been looked at
  std::uint64_t rested = 0;  // final rows that were too few for slices
};

// The facts about a window's cursor that matter when a row comes late.
struct WindowTraits {
  bool by_rank_or_time = true;  // a row between the ends is inside, whatever it holds
};

class KeyStores final : LeafWatch {
 public:
  KeyStores(Shape shape, const std::vector<std::vector<std::size_t>>& windows,
            std::vector<WindowTraits> traits)
      : nodes_(std::move(shape)),
        trees_(nodes_, *this),
        folds_(nodes_),
        orders_(nodes_, trees_),
        layout_(nodes_.shape(), windows),
        traits_(std::move(traits)),
        answers_(nodes_, trees_, layout_) {}
  KeyStores(const KeyStores&) = delete;

  Nodes& nodes() { return nodes_; }
  const Trees& trees() const { return trees_; }
  Answers& answers() { return answers_; }

  // Puts a row behind all that are not behind it; `after(leaf, row)` tells whether a row of equal
  // time comes after the new one.
  // Returns how many rows are before it.
  template <class After>
  std::uint64_t insert(KeyStore& store, const Rows& rows, std::size_t row, After&& after) {
    std::uint64_t rank = store.size;
    const Time t = rows.times[row];
    Leaf* tail = store.tail;
    if (tail == nullptr || tail->newest() < t ||
        (tail->newest() == t && !after(tail, tail->end() - 1))) {
      trees_.append(store, rows, row);
    } else {
      Place place = trees_.partition(store, [&](const Leaf* leaf, std::int32_t i) {
        const Time other = leaf->times()[i];
        return other < t || (other == t && !after(leaf, i));
      });
      rank = trees_.rank(store, place);
      insert_late(store, place, rows, row);
      if (rank < store.answered) ++store.answered;
      if (rank < store.passed) ++store.passed;
    }
    if (store.height > 0 && store.block == nullptr) {
      store.block = layout_.make();
      if (store.block == nullptr) throw std::bad_alloc();
    }
    return rank;
  }

  void erase(KeyStore& store, const Place& place) {
    const std::uint64_t rank = trees_.rank(store, place);
    if (rank < store.answered) --store.answered;
    if (rank < store.passed) --store.passed;
    forget(store);
    each_order(store, [&](std::size_t p, OrderWindow& window) {
      if (rank >= window.upper) return;
      if (rank < window.lower) {
        --window.lower;
      } else {
        folds_.each_run(p, place.leaf, place.at, place.at + 1, nodes_.part(p).order->leave,
                        window.set);
      }
      --window.upper;
    });
    trees_.erase(store, place);
    settle(store);
  }
  void drop_front(KeyStore& store, std::uint64_t count) {
    count = std::min(count, store.size);
    store.answered -= std::min(store.answered, count);
    store.passed -= std::min(store.passed, count);
    each_order(store, [&](std::size_t p, OrderWindow& window) {
      const std::uint64_t low = std::max(window.lower, count), high = std::max(window.upper, low);
      orders_.follow(store, p, window, low, high);
      window.lower -= count;
      window.upper -= count;
    });
    if (store.block != nullptr) {
      for (std::size_t w = 0; w < layout_.windows(); ++w) {
        layout_.cursor(store.block, w).base -= static_cast<std::int64_t>(count);
      }
    }
    trees_.drop_front(store, count);
    settle(store);
  }
  void clear(KeyStore& store) {
    trees_.clear(store);
    store.answered = store.passed = 0;
    settle(store);
  }
  // The cursors have to be made again.
  void forget(KeyStore& store) {
    if (store.block == nullptr) return;
    for (std::size_t w = 0; w < layout_.windows(); ++w)
      layout_.cursor(store.block, w).valid = false;
  }
  // The same for the multisets, after a failure that may have left them half way.
  void forget_all(KeyStore& store) {
    forget(store);
    each_order(store, [&](std::size_t p, OrderWindow& window) {
      nodes_.part(p).order->free(window.set);
      window = {};
    });
  }
  std::size_t block_bytes() const { return layout_.bytes(); }

  void check(const KeyStore& store) {
    TreeCheck(nodes_, store).run();
    require(store.height == 0 || store.block != nullptr, "key I1: a tree has a block");
    require(store.answered <= store.size, "no more rows are answered than there are");
    if (store.block == nullptr) return;
    for (std::size_t w = 0; w < layout_.windows(); ++w) {
      Cursor& cursor = layout_.cursor(store.block, w);
      if (cursor.valid) check_cursor(store, w, cursor);
    }
  }

 private:
  void insert_late(KeyStore& store, Place place, const Rows& rows, std::size_t row) {
    const std::uint16_t first = place.leaf->first;
    const Leaf* const leaf = place.leaf;
    place = trees_.insert(store, place, rows, row,
                          [&](Inner* node, std::int32_t slot, const Leaf* to, std::int32_t at) {
                            folds_.came(node, slot, to, at);
                          });
    if (store.block == nullptr) return;
    const bool shifted_right = place.leaf == leaf && place.leaf->first == first;
    each_order(store, [&, rank = std::uint64_t{0}](std::size_t p, OrderWindow& window) mutable {
      if (rank == 0) rank = trees_.rank(store, place) + 1;
      if (rank - 1 >= window.upper) return;
      if (rank - 1 <= window.lower) {
        ++window.lower;
      } else {
        folds_.each_run(p, place.leaf, place.at, place.at + 1, nodes_.part(p).order->enter,
                        window.set);
      }
      ++window.upper;
    });
    for (std::size_t w = 0; w < layout_.windows(); ++w) {
      Cursor& cursor = layout_.cursor(store.block, w);
      if (cursor.valid && !follow(store.block, w, cursor, place, shifted_right)) {
        cursor.valid = false;
      }
    }
  }

  // Lets a cursor know of a late row; false if it has to be made again.
  bool follow(std::byte* block, std::size_t w, Cursor& cursor, const Place& place, bool right) {
    if (!traits_[w].by_rank_or_time) return false;
    const Leaf* leaf = place.leaf;
    if (leaf == cursor.lower || leaf == cursor.upper) {
      if (!right) return false;
      if (leaf == cursor.lower && place.at < cursor.at) ++cursor.at;
      if (leaf == cursor.upper && place.at < cursor.up) {
        ++cursor.up;
        return cursor.lower == cursor.upper || absorb(block, w, cursor, place);
      }
      return true;
    }
    const Time t = leaf->times()[place.at];
    if (t < cursor.lower->oldest()) {
      // Right before the first row of the window, it may be in the window too.
      if (cursor.at <= cursor.lower->first && leaf->next == cursor.lower &&
          place.at == leaf->end() - 1) {
        return false;
      }
      return ++cursor.base, true;
    }
    if (t > cursor.upper->newest()) return true;
    const bool between = t > cursor.lower->newest() && t < cursor.upper->oldest();
    return between && absorb(block, w, cursor, place);
  }
  // Calls visit(part, window) for each multiset of a key.
  template <class Visit>
  void each_order(KeyStore& store, Visit&& visit) {
    if (store.block == nullptr) return;
    for (std::size_t w = 0; w < layout_.windows(); ++w) {
      const auto& parts = layout_.parts(w);
      for (std::size_t k = 0; k < parts.size(); ++k) {
        OrderWindow* const window = layout_.order(store.block, w, k);
        if (window != nullptr && window->set != nullptr) visit(parts[k], *window);
      }
    }
  }

  bool absorb(std::byte* block, std::size_t w, Cursor& cursor, const Place& place) {
    const auto& parts = layout_.parts(w);
    cursor.valid = false;  // should a part fail, or not take it
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (!nodes_.part(parts[k]).folds()) continue;
      if (!folds_.take_late(parts[k], layout_.state(block, w, k), place.leaf, place.at)) {
        return false;
      }
    }
    ++cursor.behind;
    return cursor.valid = true;
  }

  void moved(Tree& tree, const Leaf* leaf) override {
    std::byte* const block = static_cast<KeyStore&>(tree).block;
    if (block == nullptr) return;
    for (std::size_t w = 0; w < layout_.windows(); ++w) {
      Cursor& cursor = layout_.cursor(block, w);
      if (cursor.lower == leaf || cursor.upper == leaf) cursor.valid = false;
    }
  }

  void replaced(Tree& tree, const Leaf* leaf, Leaf* made, std::int32_t by) override {
    std::byte* const block = static_cast<KeyStore&>(tree).block;
    if (block == nullptr) return;
    for (std::size_t w = 0; w < layout_.windows(); ++w) {
      Cursor& cursor = layout_.cursor(block, w);
      if (cursor.lower == leaf) {
        cursor.lower = made;
        cursor.at = std::max(cursor.at - by, 0);
        cursor.base += by;
      }
      if (cursor.upper == leaf) {
        cursor.upper = made;
        cursor.up = std::max(cursor.up - by, 0);
      }
    }
  }

  // A key in one leaf needs no cursors.
  void settle(KeyStore& store) {
    if (store.height > 0 || store.block == nullptr) return;
    layout_.free(store.block);
    store.block = nullptr;
  }

  void check_cursor(const KeyStore& store, std::size_t w, const Cursor& cursor) {
    bool lower = false, upper = false;
    std::uint64_t before = 0, behind = 0;
    for (const Leaf* leaf = Trees::oldest_leaf(store.root, store.height); leaf != nullptr;
         leaf = leaf->next) {
      if (lower && !upper && leaf != cursor.upper) behind += leaf->count;
      if (!lower && leaf != cursor.lower) before += leaf->count;
      lower = lower || leaf == cursor.lower;
      upper = upper || leaf == cursor.upper;
      require(!upper || lower, "cursor I1: the lower end is not behind the upper");
    }
    require(lower && upper, "cursor I1: the leaves of a cursor are in the tree");
    require(cursor.at <= cursor.lower->end() && cursor.up <= cursor.upper->end(),
            "cursor I1: the rows of a cursor are in its leaves");
    require(cursor.base + cursor.lower->first == static_cast<std::int64_t>(before),
            "cursor I1: base counts the rows before");
    if (cursor.lower == cursor.upper) return;
    const std::int32_t up = std::max<std::int32_t>(cursor.up, cursor.upper->first);
    behind += static_cast<std::uint64_t>(up - cursor.upper->first);
    require(behind == cursor.behind, "cursor I2: behind is the number of rows in back");
    const auto& parts = layout_.parts(w);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const Part& part = nodes_.part(parts[k]);
      if (!part.folds() || part.algebra().same == nullptr) continue;
      StateOf truth(part);
      truth.reset();
      for (const Leaf* leaf = cursor.lower->next; leaf != nullptr; leaf = leaf->next) {
        const std::int32_t end = leaf == cursor.upper ? up : leaf->end();
        folds_.fold_rows(parts[k], truth.get(), leaf, leaf->first, end);
        if (leaf == cursor.upper) break;
      }
      require(
          part.algebra().same(part.context.get(), layout_.state(store.block, w, k), truth.get()),
          "cursor I2: back is the fold of its rows");
    }
  }

  Nodes nodes_;
  Trees trees_;
  Folds folds_;
  Orders orders_;
  CursorLayout layout_;
  std::vector<WindowTraits> traits_;
  Answers answers_;
};

}  // namespace slidefold::engine
