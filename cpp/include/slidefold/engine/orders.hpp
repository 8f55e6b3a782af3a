// Order statistics of windows: the values in order, as a multiset that follows both ends.
//
// Layout: an OrderKernel is a table of functions over a multiset of some type of keys. Sorted<Key>
//   is the same as a monoid, sorted values that merge: inner nodes hold it where a window that ends
//   before the last one asks, so that only the rows between both are looked at.
// Invariants: I1 the multiset holds the values of the rows `lower` to `upper` of the key that are
//   present for the part.
// Cost: a row that enters or leaves O(log n). A window that ends d rows earlier: the sorted runs of
//   O(log d) nodes, and O(log n) rounds over them (selection.hpp). A run is made once; a late row
//   is put into the runs that hold it, a move in memory. So runs have at most kRunHeight levels
//   below them, and at both ends of a tree, where rows come and go, those of leaves are used.
//   A multiset moves to a window elsewhere once looking at the runs between has cost more.
// Paper: none: median and quantile have no associative combine that is smaller than its values.
#pragma once

#include <deque>

#include "slidefold/engine/folds.hpp"
#include "slidefold/engine/kernels.hpp"
#include "slidefold/engine/selection.hpp"

namespace slidefold::engine {

// Values in order, wherever they come from.
class Ordered {
 public:
  virtual ~Ordered() = default;
  virtual std::size_t size() const = 0;
  virtual Word select(std::size_t k) = 0;                       // the k-th smallest, from 0
  virtual std::pair<Word, Word> select_two(std::size_t k) = 0;  // and the one after it
  // How many are smaller than a value, and how many are not larger.
  virtual std::pair<std::size_t, std::size_t> ranks(Word word) = 0;
};

// How the words of a column are compared.
struct RealKeys {
  using Key = std::int64_t;
  static Key key(Word word) { return key_of(std::bit_cast<double>(word)); }
  static Word word(Key key) { return std::bit_cast<Word>(value_of<double>(key)); }
};
struct WholeKeys {
  using Key = std::int64_t;
  static Key key(Word word) { return static_cast<Key>(word); }
  static Word word(Key key) { return static_cast<Word>(key); }
};

// Sorted values: the monoid behind order statistics.
template <class Keys>
struct Sorted {
  static constexpr bool commutative = true;
  using Key = typename Keys::Key;
  using In = std::int64_t;
  using State = std::vector<Key>;
  using Out = State;
  State identity() const { return {}; }
  State lift(In word) const { return {Keys::key(static_cast<Word>(word))}; }
  State combine(const State& older, const State& newer) const {
    State both(older.size() + newer.size());
    std::merge(older.begin(), older.end(), newer.begin(), newer.end(), both.begin());
    return both;
  }
  // Runs of rows are sorted at once, not merged one by one.
  void add_run(State& state, const void* const* columns, std::int32_t first,
               std::int32_t count) const {
    const auto* words = static_cast<const Word*>(columns[0]);
    if (count == 1) {
      const Key key = Keys::key(words[first]);
      state.insert(std::upper_bound(state.begin(), state.end(), key), key);
      return;
    }
    const std::size_t before = state.size();
    state.reserve(before + static_cast<std::size_t>(count));
    for (std::int32_t i = first; i < first + count; ++i) state.push_back(Keys::key(words[i]));
    const auto middle = state.begin() + static_cast<std::ptrdiff_t>(before);
    std::sort(middle, state.end());
    std::inplace_merge(state.begin(), middle, state.end());
  }
  Out lower(const State& state) const { return state; }
  bool same(const State& a, const State& b) const { return a == b; }
};

struct OrderKernel {
  void* (*make)();
  void (*free)(void* set);
  void (*clear)(void* set);
  // Rows that enter a window, or leave it.
  void (*enter)(void* set, const void* const* columns, std::int32_t first, std::int32_t count);
  void (*leave)(void* set, const void* const* columns, std::int32_t first, std::int32_t count);
  // The result of a row whose window holds just a state of sorted values; null if sets are needed.
  // Rows leave such a state too.
  void (*put_sorted)(const void* state, std::size_t row, Sink& sink);
  void (*leave_sorted)(void* state, const void* const* columns, std::int32_t first,
                       std::int32_t count);
  // The result of a row whose window holds just what the set does.
  void (*put)(const void* set, std::size_t row, Sink& sink);
  // The same of a window that also holds some states of nodes, and does not hold others. Returns
  // how many of their values it looked at, 0 if it has not to look at each.
  std::size_t (*put_with)(const void* set, const std::vector<const void*>& more,
                          const std::vector<const void*>& less, std::size_t row, Sink& sink);
  std::size_t (*bytes)(const void* set);
};

template <class Keys>
struct OrderKernelOf {
  using Key = typename Keys::Key;
  using Set = CountedTreeOf<Key>;
  using Values = std::vector<Key>;

  static const Set& of(const void* set) { return *static_cast<const Set*>(set); }

  struct InSet final : Ordered {
    const Set& set;
    explicit InSet(const Set& s) : set(s) {}
    std::size_t size() const override { return set.size(); }
    Word select(std::size_t k) override { return Keys::word(set.select(k).at); }
    std::pair<Word, Word> select_two(std::size_t k) override {
      const auto found = set.select(k);
      return {Keys::word(found.at), Keys::word(found.after)};
    }
    std::pair<std::size_t, std::size_t> ranks(Word word) override {
      const Key key = Keys::key(word);
      return {set.rank(key), set.rank_behind(key)};
    }
  };
  struct InSelection final : Ordered {
    Selection<Key> selection;
    explicit InSelection(const Set& s) : selection(s) {}
    std::size_t size() const override { return selection.size(); }
    Word select(std::size_t k) override { return Keys::word(selection.select(k)); }
    std::pair<Word, Word> select_two(std::size_t k) override { return {select(k), select(k + 1)}; }
    std::pair<std::size_t, std::size_t> ranks(Word word) override {
      const Key key = Keys::key(word);
      return {selection.rank(key, false), selection.rank(key, true)};
    }
  };

  static void* make() { return new Set(); }
  static void free(void* set) { delete static_cast<Set*>(set); }
  static void clear(void* set) { static_cast<Set*>(set)->clear(); }
  static void enter(void* set, const void* const* columns, std::int32_t first, std::int32_t count) {
    const auto* words = static_cast<const Word*>(columns[0]);
    for (std::int32_t i = first; i < first + count; ++i) {
      static_cast<Set*>(set)->insert(Keys::key(words[i]));
    }
  }
  static void leave(void* set, const void* const* columns, std::int32_t first, std::int32_t count) {
    const auto* words = static_cast<const Word*>(columns[0]);
    for (std::int32_t i = first; i < first + count; ++i) {
      static_cast<Set*>(set)->erase(Keys::key(words[i]));
    }
  }
  struct InValues final : Ordered {
    const Values& values;
    explicit InValues(const Values& v) : values(v) {}
    std::size_t size() const override { return values.size(); }
    Word select(std::size_t k) override { return Keys::word(values[k]); }
    std::pair<Word, Word> select_two(std::size_t k) override { return {select(k), select(k + 1)}; }
    std::pair<std::size_t, std::size_t> ranks(Word word) override {
      const auto [first, last] = std::equal_range(values.begin(), values.end(), Keys::key(word));
      return {static_cast<std::size_t>(first - values.begin()),
              static_cast<std::size_t>(last - values.begin())};
    }
  };
  static void put_sorted(const void* state, std::size_t row, Sink& sink) {
    InValues view(*static_cast<const Values*>(state));
    sink.put(row, static_cast<Ordered*>(&view), view.size());
  }
  static void leave_sorted(void* state, const void* const* columns, std::int32_t first,
                           std::int32_t count) {
    auto& values = *static_cast<Values*>(state);
    const auto* words = static_cast<const Word*>(columns[0]);
    for (std::int32_t i = first; i < first + count; ++i) {
      values.erase(std::lower_bound(values.begin(), values.end(), Keys::key(words[i])));
    }
  }
  static void put(const void* set, std::size_t row, Sink& sink) {
    InSet view(of(set));
    sink.put(row, static_cast<Ordered*>(&view), view.size());
  }
  static std::size_t put_with(const void* set, const std::vector<const void*>& more,
                              const std::vector<const void*>& less, std::size_t row, Sink& sink) {
    InSelection view(of(set));
    for (const void* state : more) view.selection.add(*static_cast<const Values*>(state));
    for (const void* state : less) view.selection.remove(*static_cast<const Values*>(state));
    sink.put(row, static_cast<Ordered*>(&view), view.size());
    return 0;
  }
  static std::size_t bytes(const void* set) { return sizeof(Set) + of(set).bytes(); }

  static const OrderKernel* table() {
    static const OrderKernel kernel = {make,       free,         clear, enter,    leave,
                                       put_sorted, leave_sorted, put,   put_with, bytes};
    return &kernel;
  }
};

// A part of order statistics over a column.
template <class Keys>
Part order_part(std::uint32_t column, std::uint32_t presence = kAlways) {
  Part part = part_of(Sorted<Keys>{}, {column}, presence);
  part.order = OrderKernelOf<Keys>::table();
  return part;
}

// The multiset of a window: the rows `lower` to `upper` of its key.
struct OrderWindow {
  void* set = nullptr;
  std::uint64_t lower = 0, upper = 0;
  std::uint64_t looked = 0;  // at values of runs, since it last moved
};

// Moves the multisets of windows along the rows of a key.
class Orders {
 public:
  Orders(Nodes& nodes, const Trees& trees) : nodes_(nodes), trees_(trees), folds_(nodes) {}

  // Where the ends of a window are.
  struct Ends {
    const Leaf* lower;
    std::int32_t at;
    const Leaf* upper;
    std::int32_t up;
  };
  // The multiset then holds the rows `low` to `high`, which lie between some ends.
  void follow(const Tree& tree, std::size_t p, OrderWindow& window, std::uint64_t low,
              std::uint64_t high, const Ends& ends) {
    // Rows that enter or leave are most often next to an end, in its leaf.
    const auto in_leaf = [](std::uint64_t from, std::uint64_t to, const Leaf* leaf,
                            std::int32_t at) {
      return from <= to && to - from <= static_cast<std::uint64_t>(at - leaf->first);
    };
    if (window.set == nullptr || low >= window.upper ||
        !in_leaf(window.lower, low, ends.lower, ends.at) ||
        !in_leaf(window.upper, high, ends.upper, ends.up)) {
      return follow(tree, p, window, low, high);
    }
    const OrderKernel& order = *nodes_.part(p).order;
    const auto enters = static_cast<std::int32_t>(high - window.upper);
    const auto leaves = static_cast<std::int32_t>(low - window.lower);
    if (enters > 0) {
      folds_.each_run(p, ends.upper, ends.up - enters, ends.up, order.enter, window.set);
    }
    if (leaves > 0) {
      folds_.each_run(p, ends.lower, ends.at - leaves, ends.at, order.leave, window.set);
    }
    window.lower = low;
    window.upper = high;
    window.looked = 0;
  }
  // The multiset then holds the rows `low` to `high`.
  void follow(const Tree& tree, std::size_t p, OrderWindow& window, std::uint64_t low,
              std::uint64_t high) {
    const OrderKernel& order = *nodes_.part(p).order;
    if (window.set == nullptr) {
      window.set = order.make();
      window.lower = window.upper = low;
    }
    const std::uint64_t moved = apart(window.lower, low) + apart(window.upper, high);
    if (window.upper <= low || high <= window.lower || moved > high - low) {
      order.clear(window.set);
      window.lower = window.upper = low;
    }
    // Rows enter before others leave, so that what leaves is there.
    if (high > window.upper) change(tree, p, order.enter, window.set, window.upper, high);
    if (low < window.lower) change(tree, p, order.enter, window.set, low, window.lower);
    if (high < window.upper) change(tree, p, order.leave, window.set, high, window.upper);
    if (low > window.lower) change(tree, p, order.leave, window.set, window.lower, low);
    window.lower = low;
    window.upper = high;
    window.looked = 0;
  }

  // The answer of a window from `low` to `high`, from a multiset that may hold others.
  void answer(const Tree& tree, std::size_t p, OrderWindow& window, std::uint64_t low,
              std::uint64_t high, std::size_t row, Sink& sink) {
    const OrderKernel& order = *nodes_.part(p).order;
    const std::uint64_t rows = high - low;
    std::uint64_t moves = apart(window.lower, low) + apart(window.upper, high);
    const bool near =
        window.set != nullptr && low < window.upper && window.lower < high && moves <= rows;
    if (!near) moves = rows + (window.upper - window.lower);
    if (window.looked > kLooks * moves) {
      try {
        follow(tree, p, window, low, high);
        return order.put(window.set, row, sink);
      } catch (...) {  // it may be half way
        if (window.set != nullptr) order.free(window.set);
        window = {};
        throw;
      }
    }
    made_.clear();
    std::vector<const void*> more, less;
    if (near) {
      if (low < window.lower) gather(tree, p, low, window.lower, more);
      if (window.upper < high) gather(tree, p, window.upper, high, more);
      if (window.lower < low) gather(tree, p, window.lower, low, less);
      if (high < window.upper) gather(tree, p, high, window.upper, less);
      window.looked += order.put_with(window.set, more, less, row, sink);
      return;
    }
    if (low < high) gather(tree, p, low, high, more);
    const std::unique_ptr<void, void (*)(void*)> empty(order.make(), order.free);
    window.looked += order.put_with(empty.get(), more, less, row, sink);
  }

 private:
  static constexpr std::uint64_t kLooks = 2;  // at values, in the time in which a row moves
  static std::uint64_t apart(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

  template <class Change>
  void change(const Tree& tree, std::size_t p, Change change, void* set, std::uint64_t first,
              std::uint64_t end) {
    const Place place = trees_.at_rank(tree, first);
    const Leaf* leaf = place.leaf;
    std::int32_t at = place.at;
    for (std::uint64_t left = end - first; left > 0; leaf = leaf->next) {
      if (leaf != place.leaf) at = leaf->first;
      const auto here = static_cast<std::int32_t>(
          std::min<std::uint64_t>(left, static_cast<std::uint64_t>(leaf->end() - at)));
      folds_.each_run(p, leaf, at, at + here, change, set);
      left -= static_cast<std::uint64_t>(here);
    }
  }

  // The sorted values of some rows: states of nodes, and those at the edges made here.
  void gather(const Tree& tree, std::size_t p, std::uint64_t low, std::uint64_t high,
              std::vector<const void*>& found) {
    const Place from = trees_.at_rank(tree, low), until = trees_.at_rank(tree, high);
    const Segments segments = folds_.between(tree, from, until);
    for (std::int32_t s = 0; s < segments.count; ++s) {
      const Segment& segment = segments.items[s];
      if (segment.node == nullptr) {
        StateOf& edge = made_.emplace_back(nodes_.part(p));
        edge.reset();
        folds_.fold_rows(p, edge.get(), segment.leaf, segment.first, segment.first + segment.count);
        found.push_back(edge.get());
        continue;
      }
      for (std::int32_t i = segment.first; i < segment.first + segment.count; ++i) {
        gather_child(tree, p, segment.node, segment.height, i, found);
      }
    }
  }
  static constexpr std::int32_t kRunHeight = 3;  // 16,384 rows in order: 128 KB to move at most
  void gather_child(const Tree& tree, std::size_t p, Inner* node, std::int32_t height,
                    std::int32_t i, std::vector<const void*>& found) {
    if (height == 1 || (height <= kRunHeight && (nodes_.has_state(node, p, i) ||
                                                 !at_an_end(tree, node->inner(i), height - 1)))) {
      found.push_back(folds_.made(node, height, p, i));
      return;
    }
    Inner* const child = node->inner(i);
    for (std::int32_t k = child->first; k < child->end(); ++k) {
      gather_child(tree, p, child, height - 1, k, found);
    }
  }
  // Whether a node holds the oldest leaf of its tree, or the newest.
  static bool at_an_end(const Tree& tree, Inner* node, std::int32_t height) {
    if (Trees::oldest_leaf(node, height) == Trees::oldest_leaf(tree.root, tree.height)) return true;
    for (; height > 1; --height) node = node->inner(node->end() - 1);
    return node->leaf(node->end() - 1) == tree.tail;
  }

  Nodes& nodes_;
  const Trees& trees_;
  Folds folds_;
  std::deque<StateOf> made_;
};

}  // namespace slidefold::engine
