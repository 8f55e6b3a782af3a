// How often values occur in windows: a tally that follows both ends, and runs of counts along time.
//
// Layout: CountKernelOf is an OrderKernel over a Tally. Counts<Keys> is the same as a monoid: the
//   different values of some rows, each with its count; inner nodes hold it where a window that
//   ends elsewhere asks. Such a window is the tally and what the runs between make of it.
// Invariants: C1 the values of a run rise, as words, and their counts are positive.
// Cost: a row that enters or leaves the tally O(1), or O(log values) if the most frequent are asked
//   for. A window that ends elsewhere: the different values of each run between, so that a few
//   values that occur often cost O(values log d) at d rows. Where most values differ, that is O(d):
//   after a few such answers the tally moves (orders.hpp).
// Paper: none: these have no associative combine that is smaller than the counts.
#pragma once

#include <bit>

#include "slidefold/engine/orders.hpp"
#include "slidefold/storage/tally.hpp"

namespace slidefold::engine {

// How often values occur.
class Counted {
 public:
  virtual ~Counted() = default;
  virtual std::size_t size() const = 0;
  virtual std::size_t distinct() const = 0;
  virtual double entropy() const = 0;
  // Calls put(word, count) for the k most frequent values.
  using Put = void (*)(void* to, Word word, std::uint64_t count);
  virtual void most_frequent(std::size_t k, Put put, void* to) const = 0;
};

// Different values with their counts: the monoid behind a tally.
template <class Keys>
struct Counts {
  static constexpr bool commutative = true;
  using Key = typename Keys::Key;
  struct Item {
    Key key;
    std::uint64_t count;
    bool operator==(const Item&) const = default;
  };
  using In = std::int64_t;
  using State = std::vector<Item>;
  using Out = State;
  // In an order that costs little, for texts too.
  static bool before(const Item& a, const Item& b) { return Keys::word(a.key) < Keys::word(b.key); }

  State identity() const { return {}; }
  State lift(In word) const { return {{Keys::key(static_cast<Word>(word)), 1}}; }
  State combine(const State& older, const State& newer) const {
    State both(older.size() + newer.size());
    std::merge(older.begin(), older.end(), newer.begin(), newer.end(), both.begin(), before);
    unite(both);
    both.shrink_to_fit();
    return both;
  }
  void add_run(State& state, const void* const* columns, std::int32_t first,
               std::int32_t count) const {
    const auto* words = static_cast<const Word*>(columns[0]);
    if (count == 1) {
      const Item one{Keys::key(words[first]), 1};
      const auto at = std::lower_bound(state.begin(), state.end(), one, before);
      if (at != state.end() && at->key == one.key) {
        ++at->count;
      } else {
        state.insert(at, one);
      }
      return;
    }
    const std::size_t held = state.size();
    for (std::int32_t i = first; i < first + count; ++i) {
      state.push_back({Keys::key(words[i]), 1});
    }
    const auto middle = state.begin() + static_cast<std::ptrdiff_t>(held);
    std::sort(middle, state.end(), before);
    std::inplace_merge(state.begin(), middle, state.end(), before);
    unite(state);
  }
  Out lower(const State& state) const { return state; }
  bool same(const State& a, const State& b) const { return a == b; }

 private:
  // Adds the counts of equal values, which lie side by side.
  static void unite(State& items) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (kept > 0 && items[kept - 1].key == items[i].key) {
        items[kept - 1].count += items[i].count;
      } else {
        items[kept++] = items[i];
      }
    }
    items.resize(kept);
  }
};

// A tally, and by how much the counts of some values differ from it. Nothing is changed.
template <class Keys, class Set>
class CountedWith final : public Counted {
 public:
  using Key = typename Keys::Key;
  using State = typename Counts<Keys>::State;

  // With room for the values of so many items.
  CountedWith(const Set& set, std::size_t items)
      : set_(set),
        slots_(std::bit_ceil(2 * items + 2)),
        shift_(64 - std::countr_zero(slots_.size())) {}

  void add(const State& items) {
    for (const auto& item : items) change(item.key, item.count);
  }
  void remove(const State& items) {
    for (const auto& item : items) change(item.key, std::uint64_t{0} - item.count);
  }
  // Before the first question.
  void close() {
    size_ = set_.size();
    distinct_ = set_.distinct();
    for (Slot& slot : slots_) {
      if (!slot.used) continue;
      slot.before = set_.count(slot.key);
      slot.after += slot.before;
      size_ += slot.after - slot.before;
      distinct_ += slot.after > 0 ? 1 : 0;
      distinct_ -= slot.before > 0 ? 1 : 0;
    }
  }

  std::size_t size() const override { return size_; }
  std::size_t distinct() const override { return distinct_; }
  double entropy() const override {
    Weight weights = set_.weights();
    for (const Slot& slot : slots_) {
      if (slot.after == slot.before) continue;
      weights += count_weight(slot.after) - count_weight(slot.before);
    }
    return entropy_of(weights, size_, distinct_);
  }
  void most_frequent(std::size_t k, Put put, void* to) const override {
    const typename Set::ByCount first{};
    std::vector<std::pair<std::uint64_t, Key>> differing;
    for (const Slot& slot : slots_) {
      if (slot.after > 0) differing.push_back({slot.after, slot.key});
    }
    const std::size_t most = std::min(k, differing.size());
    const auto end = differing.begin() + static_cast<std::ptrdiff_t>(most);
    std::partial_sort(differing.begin(), end, differing.end(), first);
    auto other = set_.by_count().begin();
    const auto last = set_.by_count().end();
    for (auto at = differing.begin(); k > 0; --k) {
      while (other != last && slots_[place(other->second)].used) ++other;
      const bool differs = at != end && (other == last || first(*at, *other));
      if (!differs && other == last) return;
      const auto& next = differs ? *at++ : *other++;
      put(to, Keys::word(next.second), next.first);
    }
  }

 private:
  // Of an open table; `after` is the difference until it is closed.
  struct Slot {
    Key key{};
    std::uint64_t before = 0, after = 0;
    bool used = false;
  };
  std::size_t place(const Key& key) const {
    std::size_t at = static_cast<std::size_t>(Keys::word(key) * 0x9E3779B97F4A7C15U >> shift_);
    while (slots_[at].used && !(slots_[at].key == key)) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void change(const Key& key, std::uint64_t by) {
    Slot& slot = slots_[place(key)];
    slot.key = key;
    slot.used = true;
    slot.after += by;
  }

  const Set& set_;
  std::vector<Slot> slots_;
  int shift_;
  std::size_t size_ = 0, distinct_ = 0;
};

// The table of order statistics over a tally; kOrdered if the most frequent are asked for.
template <class Keys, bool kOrdered>
struct CountKernelOf {
  using Key = typename Keys::Key;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<Word>{}(static_cast<Word>(Keys::word(key)));
    }
  };
  using Set = Tally<Key, Hash>;
  using State = typename Counts<Keys>::State;

  struct View final : Counted {
    const Set& set;
    explicit View(const Set& s) : set(s) {}
    std::size_t size() const override { return set.size(); }
    std::size_t distinct() const override { return set.distinct(); }
    double entropy() const override { return set.entropy(); }
    void most_frequent(std::size_t k, Put put, void* to) const override {
      set.most_frequent(
          k, [&](const Key& key, std::uint64_t count) { put(to, Keys::word(key), count); });
    }
  };

  static void* make() { return new Set(kOrdered); }
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
  static void put(const void* set, std::size_t row, Sink& sink) {
    View view(*static_cast<const Set*>(set));
    sink.put(row, static_cast<Counted*>(&view), view.size());
  }
  static std::size_t put_with(const void* set, const std::vector<const void*>& more,
                              const std::vector<const void*>& less, std::size_t row, Sink& sink) {
    std::size_t looks = 0;
    for (const auto* states : {&more, &less}) {
      for (const void* state : *states) looks += static_cast<const State*>(state)->size();
    }
    CountedWith<Keys, Set> view(*static_cast<const Set*>(set), looks);
    for (const void* state : more) view.add(*static_cast<const State*>(state));
    for (const void* state : less) view.remove(*static_cast<const State*>(state));
    view.close();
    sink.put(row, static_cast<Counted*>(&view), view.size());
    return looks;
  }
  static std::size_t bytes(const void* set) {
    return sizeof(Set) + static_cast<const Set*>(set)->bytes();
  }
  static const OrderKernel* table() {
    static const OrderKernel kernel = {make,    free,    clear, enter,    leave,
                                       nullptr, nullptr, put,   put_with, bytes};
    return &kernel;
  }
};

// A part of how often the values of a column occur; kOrdered if the most frequent are asked for.
template <class Keys, bool kOrdered>
Part count_part(std::uint32_t column, std::uint32_t presence = kAlways) {
  Part part = part_of(Counts<Keys>{}, {column}, presence);
  part.order = CountKernelOf<Keys, kOrdered>::table();
  return part;
}

}  // namespace slidefold::engine
