// Which rows of a key a window holds, for rows in order: one rule per kind of window.
//
// Layout: a rule looks at one row after the other (`see`). Then outside(leaf, row, held) tells
//   whether a row lies before the window, `held` being the rows from there to its end, and
//   inside(leaf, row) whether one does not lie behind it. starts() tells that the window starts at
//   the row itself, ends_in(leaf) that it ends in a leaf whatever lies behind. low and high find
//   both ends of any row's window in a tree.
// Invariants: I1 along the rows of a key neither end of a window ever goes back.
// Cost: see, outside, inside O(1), amortised. low and high O(log n).
// Paper: none.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "slidefold/engine/breaks.hpp"

namespace slidefold::engine {

// t - back and t + 1, where they fit.
inline Time before(Time t, Time back) {
  Time result = 0;
  return __builtin_sub_overflow(t, back, &result) ? (back > 0 ? kOldest : kNewest) : result;
}

// A row in its leaf, and the row before it, if there is one.
struct RowAt {
  Leaf* leaf = nullptr;
  std::int32_t at = 0;
  const Leaf* previous_leaf = nullptr;
  std::int32_t previous_at = 0;

  Time time() const { return leaf->times()[at]; }
  bool has_previous() const { return previous_leaf != nullptr; }
  void next() {
    previous_leaf = leaf;
    previous_at = at;
    if (++at == leaf->end() && leaf->next != nullptr) {
      leaf = leaf->next;
      at = leaf->first;
    }
  }
};

// When the days of a time zone begin.
struct Days {
  std::vector<Time> starts;

  // The number of the first day that does not begin before a time.
  std::size_t from(Time t) const {
    return static_cast<std::size_t>(std::lower_bound(starts.begin(), starts.end(), t) -
                                    starts.begin());
  }
  // When the day began that is so many days before the one that begins at t.
  Time back(Time t, std::size_t days) const {
    const std::size_t day = from(t);
    return day < days || day - days >= starts.size() ? kOldest : starts[day - days];
  }
};

// The rows from t - oldest to t - newest; or those of some local days, if t begins one.
struct TimeRule {
  Time oldest, newest;
  std::shared_ptr<const Days> days = nullptr;
  std::size_t back = 0;  // how many days
  bool open = false;     // without the time at which the first day begins
  Time since = 0, until = 0;

  void see(const RowAt& row) { at(row.time()); }
  void at(Time t) {
    since = back > 0 ? before(days->back(t, back), open ? -1 : 0) : before(t, oldest);
    until = before(t, newest);
  }
  bool starts() const { return false; }
  bool empty() const { return oldest < newest; }  // whatever there is
  bool ends_in(const Leaf*) const { return false; }
  bool outside(const Leaf* leaf, std::int32_t i, std::uint64_t) const {
    return leaf->times()[i] < since;
  }
  bool inside(const Leaf* leaf, std::int32_t i) const { return leaf->times()[i] <= until; }
  Place low(const Trees& trees, const Tree& tree, const Place&) const {
    return trees.lower(tree, since);
  }
  Place high(const Trees& trees, const Tree& tree, const Place&) const {
    return until == kNewest ? trees.end(tree) : trees.lower(tree, until + 1);
  }
};

// All rows up to t - newest.
struct LifetimeRule {
  Time newest;
  Time until = 0;

  void see(const RowAt& row) { at(row.time()); }
  void at(Time t) { until = before(t, newest); }
  bool starts() const { return false; }
  bool empty() const { return false; }
  bool ends_in(const Leaf*) const { return false; }
  bool outside(const Leaf*, std::int32_t, std::uint64_t) const { return false; }
  bool inside(const Leaf* leaf, std::int32_t i) const { return leaf->times()[i] <= until; }
  Place low(const Trees& trees, const Tree& tree, const Place&) const {
    return trees.at_rank(tree, 0);
  }
  Place high(const Trees& trees, const Tree& tree, const Place&) const {
    return until == kNewest ? trees.end(tree) : trees.lower(tree, until + 1);
  }
};

// The last `most` rows, or those before the row itself.
struct RowsRule {
  std::uint64_t most;
  bool with_row;
  bool asks_with = with_row;  // whether questions see the rows of their own time
  const Leaf* leaf = nullptr;
  std::int32_t end = 0;

  void see(const RowAt& row) {
    leaf = row.leaf;
    end = row.at + (with_row ? 1 : 0);
  }
  bool starts() const { return false; }
  bool empty() const { return false; }
  bool outside(const Leaf*, std::int32_t, std::uint64_t held) const { return held > most; }
  bool inside(const Leaf* other, std::int32_t i) const { return other != leaf || i < end; }
  bool ends_in(const Leaf* other) const { return other == leaf; }
  Place low(const Trees& trees, const Tree& tree, const Place& row) const {
    const std::uint64_t rank = trees.rank(tree, row) + (with_row ? 1 : 0);
    return trees.at_rank(tree, rank > most ? rank - most : 0);
  }
  Place high(const Trees&, const Tree&, Place row) const {
    row.at += with_row ? 1 : 0;
    return row;
  }
};

// The rows since the last gap that is longer than `gap`, with the peers of the row.
struct SessionRule {
  Time gap;
  std::size_t part = 0;  // of gaps (breaks.hpp); an engine sets it
  Time now = 0;
  bool fresh = false;

  static bool apart(Time older, Time newer, Time gap) {
    return Gaps::apart(older, newer) > static_cast<std::uint64_t>(gap);
  }
  void see(const RowAt& row) {
    now = row.time();
    fresh = row.has_previous() && apart(row.previous_leaf->times()[row.previous_at], now, gap);
  }
  bool starts() const { return fresh; }
  bool empty() const { return false; }
  bool ends_in(const Leaf*) const { return false; }
  bool outside(const Leaf*, std::int32_t, std::uint64_t) const { return false; }
  bool inside(const Leaf* leaf, std::int32_t i) const { return leaf->times()[i] <= now; }
  Place low(const Trees& trees, const Tree& tree, const Place& row) const {
    Folds folds(trees.nodes());
    Time newer = now;
    const auto skips = [&](Inner* node, std::int32_t height, std::int32_t i) {
      const auto& gaps = *static_cast<const Gaps::State*>(folds.made(node, height, part, i));
      if (gaps.widest > static_cast<std::uint64_t>(gap) || apart(gaps.newest, newer, gap)) {
        return false;
      }
      newer = gaps.oldest;
      return true;
    };
    return walk_back(trees, tree, row, skips, [&](const Leaf* leaf, std::int32_t i) {
      const bool cut = apart(leaf->times()[i], newer, gap);
      newer = leaf->times()[i];
      return cut;
    });
  }
  Place high(const Trees& trees, const Tree& tree, const Place&) const {
    return now == kNewest ? trees.end(tree) : trees.lower(tree, now + 1);
  }
};

// The rows since the last one that is marked, with the peers of the row up to the next mark. The
// marks are words of a column, 0 for none.
struct MarkRule {
  std::uint32_t column;
  std::size_t part = 0;  // of marks (breaks.hpp); an engine sets it
  RowAt row{};
  // Between the row and this one there is no mark; rows that are asked for are not before it.
  mutable const Leaf* clear_leaf = nullptr;
  mutable std::int32_t clear_at = 0;

  bool marked(const Leaf* leaf, std::int32_t i) const { return leaf->column(column)[i] != 0; }
  // Whether no row of a child is marked, and whether a row is.
  auto search(const Trees& trees) const {
    const auto skips = [this, &trees](Inner* node, std::int32_t height, std::int32_t i) {
      return !*static_cast<const Marks::State*>(Folds(trees.nodes()).made(node, height, part, i));
    };
    const auto found = [this](const Leaf* leaf, std::int32_t i) { return marked(leaf, i); };
    return std::pair(skips, found);
  }
  void see(const RowAt& seen) {
    const bool passed = clear_leaf == nullptr || (clear_leaf == seen.leaf && clear_at <= seen.at) ||
                        (clear_leaf == seen.previous_leaf && clear_at <= seen.previous_at);
    row = seen;
    if (!passed) return;
    clear_leaf = row.leaf;
    clear_at = row.at;
  }
  bool starts() const { return row.has_previous() && marked(row.previous_leaf, row.previous_at); }
  bool empty() const { return false; }
  bool ends_in(const Leaf*) const { return false; }
  bool outside(const Leaf*, std::int32_t, std::uint64_t) const { return false; }
  bool inside(const Leaf* leaf, std::int32_t i) const {
    if (leaf->times()[i] > row.time()) return false;
    if (leaf == row.leaf && i <= row.at) return true;
    // A peer behind the row: the row or a peer before it may be marked.
    while (clear_leaf != leaf || clear_at < i) {
      if (marked(clear_leaf, clear_at)) return false;
      if (++clear_at < clear_leaf->end()) continue;
      clear_leaf = clear_leaf->next;
      clear_at = clear_leaf->first;
    }
    return true;
  }
  Place low(const Trees& trees, const Tree& tree, const Place& from) const {
    const auto [skips, found] = search(trees);
    return walk_back(trees, tree, from, skips, found);
  }
  Place high(const Trees& trees, const Tree& tree, const Place& from) const {
    const Place next = trees.next_row(tree, from);
    const bool last = next.at == next.leaf->end() || next.leaf->times()[next.at] > row.time();
    if (last || marked(from.leaf, from.at)) return next;
    const auto [skips, found] = search(trees);
    const Place mark = walk_on(trees, tree, next, skips, found);
    const Place peers = row.time() == kNewest ? trees.end(tree) : trees.lower(tree, row.time() + 1);
    if (trees.rank(tree, peers) <= trees.rank(tree, mark)) return peers;
    return trees.next_row(tree, mark);
  }
};

// The rows with a value of a column, which never falls, in a range that ends at the row's own.
template <class Value>
struct DeltaRule {
  std::uint32_t column;
  Value range;
  bool keeps_start, keeps_end;
  Time now = 0;
  Value value{};

  Value of(const Leaf* leaf, std::int32_t i) const {
    return std::bit_cast<Value>(leaf->column(column)[i]);
  }
  void see(const RowAt& row) {
    now = row.time();
    value = of(row.leaf, row.at);
  }
  bool starts() const { return false; }
  bool empty() const { return false; }
  bool ends_in(const Leaf*) const { return false; }
  bool outside(const Leaf* leaf, std::int32_t i, std::uint64_t) const {
    return is_before(of(leaf, i));
  }
  bool inside(const Leaf* leaf, std::int32_t i) const {
    const Value other = of(leaf, i);
    return leaf->times()[i] <= now && (keeps_end ? other <= value : other < value);
  }
  Place low(const Trees& trees, const Tree& tree, const Place&) const {
    return trees.partition(tree,
                           [&](const Leaf* leaf, std::int32_t i) { return outside(leaf, i, 0); });
  }
  Place high(const Trees& trees, const Tree& tree, const Place&) const {
    return trees.partition(tree, [&](const Leaf* leaf, std::int32_t i) { return inside(leaf, i); });
  }

 private:
  bool is_before(Value other) const {
    if constexpr (std::is_integral_v<Value>) {
      const auto apart = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(other);
      const auto far = static_cast<std::uint64_t>(range);
      return other < value && (keeps_start ? apart > far : apart >= far);
    } else {
      const Value start = value - range;
      return keeps_start ? other < start : other <= start;
    }
  }
};

}  // namespace slidefold::engine
