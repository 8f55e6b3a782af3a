// The answers of a window: consecutive rows of a key through its cursor, single rows through the
// tree.
//
// Layout: rows are taken together while both ends of their windows stay in their leaves, up to
//   kTogether of them; then each part answers them with one call. Rows that a part does not count
//   are left out of its columns first.
// Invariants: those of cursors.hpp. An exception leaves the cursor invalid, and nothing else
//   changed.
// Cost: see cursors.hpp.
// Paper: none.
#pragma once

#include <optional>

#include "slidefold/engine/cursors.hpp"

namespace slidefold::engine {

class Answers {
 public:
  static constexpr std::uint32_t kTogether = 64;

  Answers(Nodes& nodes, const Trees& trees, const CursorLayout& layout)
      : nodes_(nodes), trees_(trees), folds_(nodes), orders_(nodes, trees), layout_(layout) {
    rooms_.reserve(nodes.shape().parts.size());
    for (const Part& part : nodes.shape().parts) rooms_.emplace_back(part);
  }

  // Whether anybody reads the answers. If not, only those are made that may refuse a row: of folds.
  void want(bool wanted) { wanted_ = wanted; }

  // Answers `count` rows in order, the first of which is at `place`; rows[i] is the number of row i
  // for sinks. `block` holds the key's cursors, null if it has none.
  template <class Rule>
  void in_order(const Tree& tree, std::byte* block, std::size_t w, Rule rule, const Place& place,
                const std::uint32_t* rows, std::size_t count, const std::vector<Ask>& asks) {
    if (count == 0) return;
    if (rule.empty()) return nothing(rows, count, asks);
    Cursor local{};
    Cursor& cursor = block != nullptr ? layout_.cursor(block, w) : local;
    const bool was_valid = std::exchange(cursor.valid, false);
    RowAt row = row_at(tree, place);
    rule.see(row);
    if (!was_valid || rule.starts()) seek(tree, block, w, rule, place, cursor);
    Chunk chunk(cursor);
    for (std::size_t i = 0; i < count;) {
      if (i > 0) rule.see(row);
      if (i > 0 && rule.starts()) {
        flush(tree, block, w, cursor, chunk, asks);
        seek(tree, block, w, rule, place_of(tree, place, i), cursor);
        chunk.restart(cursor);
      }
      for (;;) {
        if (chunk.count == kTogether) {
          flush(tree, block, w, cursor, chunk, asks);
          chunk.restart(cursor);
        }
        while (chunk.up < cursor.upper->end() && rule.inside(cursor.upper, chunk.up)) ++chunk.up;
        if (chunk.up == cursor.upper->end() && crosses(rule, cursor.upper)) {
          flush(tree, block, w, cursor, chunk, asks);
          cross(block, w, cursor, chunk.up);
          chunk.restart(cursor);
          continue;
        }
        while (chunk.at < chunk.end && rule.outside(cursor.lower, chunk.at, chunk.held())) {
          ++chunk.at;
        }
        if (chunk.at < chunk.end || !more_outside(rule, cursor, chunk)) break;
        flush(tree, block, w, cursor, chunk, asks);
        if (chunk.same_leaf) {
          cursor.at = chunk.at;
          cursor.up = chunk.up;
        } else {
          seek(tree, block, w, rule, place_of(tree, place, i), cursor);
        }
        chunk.restart(cursor);
      }
      chunk.add(rows[i]);
      ++i;
      row.next();
    }
    flush(tree, block, w, cursor, chunk, asks);
    cursor.valid = block != nullptr;
  }

  // Answers one row, wherever it is; `rule` has seen it.
  template <class Rule>
  void anywhere(const Tree& tree, std::byte* block, std::size_t w, const Rule& rule,
                const Place& place, std::uint32_t row, const std::vector<Ask>& asks) {
    if (rule.empty()) return nothing(&row, 1, asks);
    const Place low = rule.low(trees_, tree, place), high = rule.high(trees_, tree, place);
    between(tree, block, w, low, high, row, asks);
  }
  // A window that holds nothing.
  static void nothing(const std::uint32_t* rows, std::size_t count, const std::vector<Ask>& asks) {
    for (const Ask& ask : asks) {
      if (ask.sink == nullptr) continue;
      for (std::size_t i = 0; i < count; ++i) ask.sink->put(rows[i], nullptr, 0);
    }
  }
  void between(const Tree& tree, std::byte* block, std::size_t w, const Place& low,
               const Place& high, std::uint32_t row, const std::vector<Ask>& asks) {
    const Segments segments = folds_.between(tree, low, high);
    const std::uint64_t rows = Folds::rows(segments);
    for (std::size_t k = 0; k < asks.size(); ++k) {
      const Ask& ask = asks[k];
      const Part& part = nodes_.part(ask.part);
      if (part.idle || (!wanted_ && !part.folds())) continue;
      if (part.walks) {
        const Walk walk{low.leaf, low.at, high.leaf, high.at};
        ask.sink->put(row, &walk, rows);
        continue;
      }
      if (part.order != nullptr) {
        const std::uint64_t first = trees_.rank(tree, low);
        LocalOrder local{*part.order};
        orders_.answer(tree, ask.part,
                       block != nullptr ? *layout_.order(block, w, k) : local.window, first,
                       first + rows, row, *ask.sink);
        continue;
      }
      StateOf& state = rooms_[ask.part];
      state.reset();
      folds_.fold(ask.part, state.get(), segments);
      ask.sink->put(row, state.get(), rows);
    }
  }

  RowAt row_at(const Tree& tree, const Place& place) const {
    RowAt row{place.leaf, place.at, nullptr, 0};
    if (place.at > place.leaf->first) {
      row.previous_leaf = place.leaf;
      row.previous_at = place.at - 1;
      return row;
    }
    const std::uint64_t rank = trees_.rank(tree, place);
    if (rank > 0) {
      const Place previous = trees_.at_rank(tree, rank - 1);
      row.previous_leaf = previous.leaf;
      row.previous_at = previous.at;
    }
    return row;
  }

 private:
  // Answers that share the leaves of both ends.
  struct Chunk {
    explicit Chunk(const Cursor& cursor) { restart(cursor); }
    void restart(const Cursor& cursor) {
      same_leaf = cursor.lower == cursor.upper;
      at = std::max<std::int32_t>(cursor.at, cursor.lower->first);
      up = from = std::max<std::int32_t>(cursor.up, cursor.upper->first);
      end = same_leaf ? from : cursor.lower->end();
      behind = same_leaf ? 0 : cursor.behind;
      count = 0;
    }
    std::uint64_t held() const {
      return static_cast<std::uint64_t>(end - at) + behind + static_cast<std::uint64_t>(up - from);
    }
    void add(std::uint32_t row) {
      ats[count] = at;
      ups[count] = up;
      helds[count] = held();
      rows[count++] = row;
    }
    bool same_leaf;
    std::int32_t at, up, from, end;
    std::uint64_t behind;
    std::uint32_t count;
    std::int32_t ats[kTogether], ups[kTogether];
    std::uint64_t helds[kTogether];
    std::uint32_t rows[kTogether];
  };

  // The multiset of a key that keeps none.
  struct LocalOrder {
    const OrderKernel& order;
    OrderWindow window = {};
    ~LocalOrder() {
      if (window.set != nullptr) order.free(window.set);
    }
  };

  Place place_of(const Tree& tree, const Place& first, std::size_t i) const {
    return trees_.at_rank(tree, trees_.rank(tree, first) + i);
  }

  // Whether the upper end goes on to the next leaf.
  template <class Rule>
  static bool crosses(const Rule& rule, const Leaf* upper) {
    const Leaf* const next = upper->next;
    return next != nullptr && !rule.ends_in(upper) && rule.inside(next, next->first);
  }

  // Whether the lower end goes on behind the rows that the chunk can start at.
  template <class Rule>
  static bool more_outside(const Rule& rule, const Cursor& cursor, const Chunk& chunk) {
    if (chunk.same_leaf) {
      return chunk.end < chunk.up && rule.outside(cursor.lower, chunk.end, chunk.held());
    }
    return true;  // the whole leaf has left
  }

  // Both ends anew, for the row that the rule has seen, and back with them.
  template <class Rule>
  void seek(const Tree& tree, std::byte* block, std::size_t w, const Rule& rule, const Place& place,
            Cursor& cursor) {
    Place low = rule.low(trees_, tree, place);
    const Place high = rule.high(trees_, tree, place);
    if (low.at == low.leaf->end() && low.leaf->next != nullptr && low.leaf != high.leaf) {
      low = trees_.at_rank(tree, trees_.rank(tree, low));
    }
    cursor.lower = low.leaf;
    cursor.at = low.at;
    cursor.upper = high.leaf;
    cursor.up = high.at;
    cursor.behind = 0;
    cursor.base = static_cast<std::int64_t>(trees_.rank(tree, low)) - low.at;
    if (block == nullptr || cursor.lower == cursor.upper) return;
    low.at = low.leaf->end();
    const Segments segments = folds_.between(tree, low, high);
    cursor.behind = Folds::rows(segments);
    const auto& parts = layout_.parts(w);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (!nodes_.part(parts[k]).folds()) continue;
      layout_.reset(block, w, k);
      folds_.fold(parts[k], layout_.state(block, w, k), segments);
    }
  }

  // The upper end goes on to the next leaf; the rest of its own leaf goes into back.
  void cross(std::byte* block, std::size_t w, Cursor& cursor, std::int32_t up) {
    const auto& parts = layout_.parts(w);
    if (cursor.lower == cursor.upper) {
      cursor.behind = 0;
      for (std::size_t k = 0; k < parts.size(); ++k) {
        if (nodes_.part(parts[k]).folds()) layout_.reset(block, w, k);
      }
    } else {
      for (std::size_t k = 0; k < parts.size(); ++k) {
        if (!nodes_.part(parts[k]).folds()) continue;
        folds_.fold_rows(parts[k], layout_.state(block, w, k), cursor.upper, cursor.up, up);
      }
      cursor.behind += static_cast<std::uint64_t>(up - cursor.up);
    }
    cursor.upper = cursor.upper->next;
    cursor.up = cursor.upper->first;
  }

  // Answers the rows of a chunk, and moves the cursor behind them.
  void flush(const Tree& tree, std::byte* block, std::size_t w, Cursor& cursor, Chunk& chunk,
             const std::vector<Ask>& asks) {
    if (chunk.count == 0) return;
    for (std::size_t k = 0; k < asks.size(); ++k) {
      if (nodes_.part(asks[k].part).idle) continue;
      if (nodes_.part(asks[k].part).walks) {
        if (wanted_) walk_answers(asks[k], cursor, chunk);
        continue;
      }
      if (nodes_.part(asks[k].part).order != nullptr) {
        order_answers(tree, block, w, k, asks[k], cursor, chunk);
        continue;
      }
      void* back = nullptr;
      if (chunk.same_leaf) {
        rooms_[asks[k].part].reset();
        back = rooms_[asks[k].part].get();
      } else {
        back = layout_.state(block, w, k);
      }
      answer(asks[k], cursor, chunk, back);
    }
    const std::int32_t last = chunk.ups[chunk.count - 1];
    if (!chunk.same_leaf) cursor.behind += static_cast<std::uint64_t>(last - chunk.from);
    cursor.at = chunk.ats[chunk.count - 1];
    cursor.up = last;
    chunk.count = 0;
  }

  static void walk_answers(const Ask& ask, const Cursor& cursor, const Chunk& chunk) {
    for (std::uint32_t i = 0; i < chunk.count; ++i) {
      const Walk walk{cursor.lower, chunk.ats[i], cursor.upper, chunk.ups[i]};
      ask.sink->put(chunk.rows[i], &walk, chunk.helds[i]);
    }
  }

  void order_answers(const Tree& tree, std::byte* block, std::size_t w, std::size_t k,
                     const Ask& ask, const Cursor& cursor, const Chunk& chunk) {
    const OrderKernel& order = *nodes_.part(ask.part).order;
    if (block == nullptr && !wanted_) return;
    if (block == nullptr && order.put_sorted != nullptr) return sorted_answers(ask, cursor, chunk);
    LocalOrder local{order};
    OrderWindow& window = block != nullptr ? *layout_.order(block, w, k) : local.window;
    for (std::uint32_t i = wanted_ ? 0 : chunk.count - 1; i < chunk.count; ++i) {
      const auto low = static_cast<std::uint64_t>(cursor.base + chunk.ats[i]);
      orders_.follow(tree, ask.part, window, low, low + chunk.helds[i],
                     {cursor.lower, chunk.ats[i], cursor.upper, chunk.ups[i]});
      if (wanted_) order.put(window.set, chunk.rows[i], *ask.sink);
    }
  }

  // The same for a key in one leaf: its few values are sorted, not kept in a multiset.
  void sorted_answers(const Ask& ask, const Cursor& cursor, const Chunk& chunk) {
    const OrderKernel& order = *nodes_.part(ask.part).order;
    StateOf& values = rooms_[ask.part];
    values.reset();
    std::int32_t at = chunk.ats[0], up = at;
    for (std::uint32_t i = 0; i < chunk.count; ++i) {
      folds_.fold_rows(ask.part, values.get(), cursor.upper, up, chunk.ups[i]);
      folds_.each_run(ask.part, cursor.lower, at, chunk.ats[i], order.leave_sorted, values.get());
      at = chunk.ats[i];
      up = chunk.ups[i];
      order.put_sorted(values.get(), chunk.rows[i], *ask.sink);
    }
  }

  void answer(const Ask& ask, const Cursor& cursor, const Chunk& chunk, void* back) {
    const Part& part = nodes_.part(ask.part);
    const void* lower[Folds::kColumnsMost];
    const void* upper[Folds::kColumnsMost];
    Folds::columns_of(part, cursor.lower, lower);
    Folds::columns_of(part, cursor.upper, upper);
    Run run{back,      lower,       chunk.ats,  chunk.end,   upper,   chunk.from,
            chunk.ups, chunk.count, chunk.rows, chunk.helds, ask.sink};
    if (!Nodes::has_holes(cursor.lower, part.presence) &&
        !Nodes::has_holes(cursor.upper, part.presence)) {
      return part.kernel->run(part, run);
    }
    squeezed(part, cursor, chunk, run);
  }

  // The same over columns of the rows that count alone.
  void squeezed(const Part& part, const Cursor& cursor, const Chunk& chunk, Run run) {
    std::int32_t ats[kTogether], ups[kTogether];
    std::int32_t places[2][kLeafMost + 1];
    const Leaf* const leaves[2] = {cursor.lower, cursor.upper};
    const std::int32_t firsts[2] = {chunk.ats[0], chunk.from};
    const std::int32_t ends[2] = {chunk.end, chunk.ups[chunk.count - 1]};
    const void* columns[2][Folds::kColumnsMost];
    for (int side = 0; side < 2; ++side) {
      const Leaf* leaf = leaves[side];
      squeezed_[side].resize(part.columns.size() * kLeafMost);
      std::int32_t kept = 0;
      for (std::int32_t i = firsts[side]; i < ends[side]; ++i) {
        places[side][i - firsts[side]] = kept;
        if (!nodes_.present(leaf, i, part.presence)) continue;
        for (std::size_t c = 0; c < part.columns.size(); ++c) {
          squeezed_[side][c * kLeafMost + static_cast<std::size_t>(kept)] =
              leaf->column(part.columns[c])[i];
        }
        ++kept;
      }
      places[side][ends[side] - firsts[side]] = kept;
      for (std::size_t c = 0; c < part.columns.size(); ++c) {
        columns[side][c] = squeezed_[side].data() + c * kLeafMost;
      }
    }
    for (std::uint32_t i = 0; i < chunk.count; ++i) {
      ats[i] = places[0][chunk.ats[i] - firsts[0]];
      ups[i] = places[1][chunk.ups[i] - firsts[1]];
    }
    run.lower = columns[0];
    run.at = ats;
    run.end = places[0][ends[0] - firsts[0]];
    run.upper = columns[1];
    run.from = 0;
    run.up = ups;
    part.kernel->run(part, run);
  }

  Nodes& nodes_;
  const Trees& trees_;
  Folds folds_;
  Orders orders_;
  const CursorLayout& layout_;
  bool wanted_ = true;
  std::vector<StateOf> rooms_;  // one per part
  std::vector<Word> squeezed_[2];
};

}  // namespace slidefold::engine
