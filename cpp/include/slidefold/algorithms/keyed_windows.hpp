// Time windows of many keys over one operator: a whole batch of rows in, one answer a row out.
//
// Layout: per slot (a key's number) a run of (time, state), or a FiBA once it is long. Rows of a
//   batch are grouped by slot and time (storage/batch_groups.hpp).
// Invariants: I1 times of a run ascend. I2 a run has at most kLong entries, a tree at least kShort.
//   I3 entries() is the number of all. I4 trees hold their own.
// Cost: a batch of m rows O(m) plus per key the entries that its rows' windows span, if it holds a
//   run. If a tree: O(log d) for rows whose windows have most in common, else O(log d) a row.
//   Evicting: O(keys of the batch), and a share of all others, so that each is swept once in a
//   while. Slots that hold nothing keep 40 bytes until renumber() takes them away.
// Paper: fiba-bulk for the trees; runs, and what rows do not share, are answered like Two-Stacks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "slidefold/algorithms/fiba.hpp"
#include "slidefold/interrupt.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/batch_groups.hpp"
#include "slidefold/storage/flat_run.hpp"
#include "slidefold/storage/key_table.hpp"

namespace slidefold {

template <Monoid Op>
class KeyedWindows {
 public:
  using State = typename Op::State;
  using Time = std::int64_t;
  using Tree = Fiba<Op, Time>;
  static constexpr std::size_t kLong = 192, kShort = 48;
  static constexpr std::size_t kTogether = 3;  // rows that are worth a walk around their middle

  explicit KeyedWindows(Op op) : op_(std::move(op)) {}

  std::uint64_t entries() const { return entries_; }
  bool empty(Slot slot) const { return slot >= stores_.size() || size(stores_[slot]) == 0; }

  std::size_t bytes() const {
    std::size_t total =
        stores_.capacity() * sizeof(Store) + opened_.capacity() * 8 + batch_.bytes();
    for (const Store& store : stores_) {
      total += store.tree ? sizeof(Tree) + store.tree->bytes() : store.run.bytes();
    }
    return total;
  }

  // Inserts the rows of which inserts(i) is true, then answers all: row i with the fold of its key
  // over since(time) to until(time). slots[i] kNoSlot: the row is left out. lift(i) makes a state;
  // emit(i, state, empty) takes an answer, in any order of rows. In a transaction (begin) all of it
  // can be taken back. May be stopped by poll().
  template <class Inserts, class Lift, class Since, class Until, class Emit>
  void push(const std::vector<Slot>& slots, const std::vector<Time>& times, Inserts&& inserts,
            Lift&& lift, Since&& since, Until&& until, Emit&& emit) {
    BatchEnd end(*this);
    batch_.group(slots, times);
    Pacer pace;
    for (std::size_t g = 0; g < batch_.slots().size(); ++g) {
      pace();
      const Slot slot = batch_.slots()[g];
      const std::uint32_t* const first = batch_.first(g);
      const std::uint32_t* const last = batch_.last(g);
      reach(slot);
      open(slot);
      insert(stores_[slot], first, last, times, inserts, lift);
      answer(stores_[slot], first, last, times, since, until, emit);
    }
    end.done = true;
  }

  // The fold of a key over since to until; says whether there was anything.
  std::pair<State, bool> query(Slot slot, Time since, Time until) const {
    fiba::Folder<Op> fold(op_);
    if (slot < stores_.size()) {
      const Store& store = stores_[slot];
      if (store.tree) {
        store.tree->add_range(since, until, fold);
      } else {
        for (const Entry& entry : store.run) {
          if (since <= entry.time && entry.time <= until) fold.add(entry.state);
        }
      }
    }
    const bool any = fold.any();
    return {fold.take(), any};
  }

  // Drops what is older than `first` from the keys of the last push, and from `more` others, in
  // turn; calls emptied(slot) for those that hold nothing any more.
  template <class Emptied>
  void evict(Time first, std::size_t more, Emptied&& emptied) {
    for (const Slot slot : batch_.slots()) {
      size(stores_[slot]) == 0 ? emptied(slot) : evict_slot(slot, first, emptied);
    }
    more = std::min(more, stores_.size());
    for (std::size_t i = 0; i < more; ++i) {
      if (sweep_ >= stores_.size()) sweep_ = 0;
      const auto slot = static_cast<Slot>(sweep_++);
      if (!batch_.holds(slot)) evict_slot(slot, first, emptied);
    }
  }
  std::size_t stores() const { return stores_.size(); }

  // Gives the keys other slots: that of slot s is moved[s] from now on, kNoSlot if it holds
  // nothing. New slots come in the order of the old ones, without gaps.
  void renumber(const std::vector<Slot>& moved) {
    std::vector<Store> kept;
    kept.reserve(static_cast<std::size_t>(
        std::count_if(moved.begin(), moved.end(), [](Slot slot) { return slot != kNoSlot; })));
    for (std::size_t slot = 0; slot < std::min(moved.size(), stores_.size()); ++slot) {
      if (moved[slot] != kNoSlot) kept.push_back(std::move(stores_[slot]));
    }
    stores_.swap(kept);
    sweep_ = 0;
    opened_ = std::vector<std::uint64_t>();  // {} would keep its memory
    batch_.restart();
  }

  // Removes a key's entry at a time.
  bool evict_at(Slot slot, Time time) {
    if (slot >= stores_.size()) return false;
    open(slot);
    Store& store = stores_[slot];
    bool found = false;
    if (store.tree) {
      found = store.tree->evict(time);
      if (!keeps_ && store.tree->size() < kShort) fell(store);
    } else {
      const auto at = std::lower_bound(store.run.begin(), store.run.end(), time,
                                       [](const Entry& e, Time t) { return e.time < t; });
      found = at != store.run.end() && at->time == time;
      if (found) store.run.erase(static_cast<std::size_t>(at - store.run.begin()));
    }
    entries_ -= found;
    return found;
  }

  // Calls visit(time, state) for the entries of a key, in time order.
  template <class Visit>
  void for_each(Slot slot, Visit&& visit) const {
    if (slot >= stores_.size()) return;
    const Store& store = stores_[slot];
    if (store.tree) return store.tree->for_each(visit);
    for (const Entry& entry : store.run) visit(entry.time, entry.state);
  }

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    for (const Store& store : stores_) {
      if (store.tree) store.tree->for_states(visit);
      for (const Entry& entry : store.run) visit(entry.state);
    }
  }

  // Saves what a key holds, or loads it into a slot that holds nothing.
  template <class Archive>
  void archive(Archive& a, Slot slot) {
    reach(slot);
    Store& store = stores_[slot];
    bool planted = store.tree != nullptr;
    a(planted);
    if (planted) {
      if constexpr (Archive::kLoading) store.tree = std::make_unique<Tree>(op_);
      store.tree->archive(a);
    } else {
      const std::size_t count = a.length(store.run.size(), sizeof(Time) + 1);
      for (std::size_t i = 0; i < count; ++i) {
        if constexpr (Archive::kLoading) store.run.push_back({0, op_.identity()});
        a(store.run.begin()[i].time);
        archive_state(a, op_, store.run.begin()[i].state);
      }
    }
    if constexpr (Archive::kLoading) entries_ += size(store);
  }

  // The oldest and the youngest time of a key that holds something.
  std::pair<Time, Time> ends(Slot slot) const {
    const Store& store = stores_[slot];
    if (store.tree) return {store.tree->oldest(), store.tree->youngest()};
    return {store.run.begin()->time, store.run.end()[-1].time};
  }

  void check() const {
    std::uint64_t total = 0;
    for (const Store& store : stores_) {
      total += size(store);
      if (store.tree) {
        require(store.run.empty() && store.tree->size() >= kShort, "I2: a tree is long");
        store.tree->check();
        continue;
      }
      require(store.run.size() <= kLong, "I2: a run is short");
      for (std::size_t i = 1; i < store.run.size(); ++i) {
        require(store.run.begin()[i - 1].time < store.run.begin()[i].time, "I1: times ascend");
      }
    }
    require(total == entries_, "I3: the number of entries");
  }

  // Between begin() and rollback() every change of push and evict is taken back.
  void begin() {
    if constexpr (fallible_v<Op>) {
      keeps_ = true;
      kept_entries_ = entries_;
      ++transaction_;
    }
  }
  void commit() {
    if constexpr (fallible_v<Op>) {
      for (const auto& [slot, old] : kept_) {
        Store& store = stores_[slot];
        if (old.had_tree) store.tree->commit();
        if (store.tree && store.tree->size() < kShort) fell(store);
      }
      close();
    }
  }
  void rollback() {
    if constexpr (fallible_v<Op>) {
      for (auto& [slot, old] : kept_) {
        Store& store = stores_[slot];
        if (old.had_tree) {
          store.tree->rollback();
        } else {
          store.tree.reset();
          store.run = std::move(old.run);
        }
      }
      if (keeps_) entries_ = kept_entries_;
      batch_.forget();  // its new keys are taken back too
      close();
    }
  }

 private:
  struct Entry {
    Time time;
    State state;
  };
  struct Store {
    FlatRun<Entry> run;
    std::unique_ptr<Tree> tree;
    Store() = default;
    Store(Store&&) = default;
    Store& operator=(Store&&) = default;
    Store(const Store& other) : run(other.run) {
      if (other.tree) tree = std::make_unique<Tree>(*other.tree);
    }
  };
  struct Old {
    FlatRun<Entry> run;
    bool had_tree;
  };

  static std::size_t size(const Store& store) {
    return store.tree ? static_cast<std::size_t>(store.tree->size()) : store.run.size();
  }

  // States of a batch are not kept beyond it, nor much room; a batch that failed was none.
  struct BatchEnd {
    KeyedWindows& windows;
    bool done = false;
    explicit BatchEnd(KeyedWindows& w) : windows(w) {}
    BatchEnd(const BatchEnd&) = delete;
    ~BatchEnd() {
      if (!done) windows.batch_.forget();
      empty_room(windows.bulk_times_);
      empty_room(windows.bulk_states_);
      empty_room(windows.suffixes_);
      empty_room(windows.older_);
      empty_room(windows.newer_);
    }
    template <class Item>
    static void empty_room(std::vector<Item>& room) {
      room.clear();
      if (room.capacity() * sizeof(Item) > std::size_t{1} << 16) room = std::vector<Item>();
    }
  };

  void reach(Slot slot) {
    if (slot >= stores_.size()) stores_.resize(static_cast<std::size_t>(slot) + 1);
  }

  void open(Slot slot) {
    if constexpr (fallible_v<Op>) {
      if (!keeps_) return;
      Store& store = stores_[slot];
      if (opened_.size() < stores_.size()) opened_.resize(stores_.size());
      if (std::exchange(opened_[slot], transaction_) == transaction_) return;
      kept_.push_back({slot, {store.run, store.tree != nullptr}});
      if (store.tree) store.tree->begin();
    }
  }
  void close() {
    keeps_ = false;
    kept_.clear();
  }

  void plant(Store& store) {
    auto tree = std::make_unique<Tree>(op_);
    std::vector<Time> times;
    std::vector<State> states;
    for (const Entry& entry : store.run) {
      times.push_back(entry.time);
      states.push_back(entry.state);
    }
    tree->bulk_insert(times.data(), states.data(), times.size());
    store.tree = std::move(tree);
    store.run.clear();
  }

  void fell(Store& store) {
    FlatRun<Entry> run;
    store.tree->for_each([&](Time time, const State& state) { run.push_back({time, state}); });
    store.run = std::move(run);
    store.tree.reset();
  }

  template <class Inserts, class Lift>
  void insert(Store& store, const std::uint32_t* first, const std::uint32_t* last,
              const std::vector<Time>& times, Inserts& inserts, Lift& lift) {
    const std::size_t before = size(store);
    const auto rows = static_cast<std::size_t>(last - first);
    if (!store.tree && before + rows > kLong) plant(store);
    if (store.tree) {
      bulk_times_.clear();
      bulk_states_.clear();
      Pacer pace;
      for (const std::uint32_t* row = first; row != last; ++row) {
        pace();
        if (!inserts(*row)) continue;
        bulk_times_.push_back(times[*row]);
        bulk_states_.push_back(lift(*row));
      }
      store.tree->bulk_insert(bulk_times_.data(), bulk_states_.data(), bulk_times_.size());
      if (store.tree->size() < kShort) fell(store);  // many rows of few times
    } else {
      for (const std::uint32_t* row = first; row != last; ++row) {
        if (inserts(*row)) insert_one(store.run, times[*row], lift(*row));
      }
    }
    entries_ += size(store) - before;
  }

  void insert_one(FlatRun<Entry>& run, Time time, State state) {
    Entry* at = run.end();
    while (at != run.begin() && time < at[-1].time) --at;
    if (at != run.begin() && at[-1].time == time) return absorb(op_, at[-1].state, state);
    if (at == run.end()) return run.push_back({time, std::move(state)});
    run.insert(static_cast<std::size_t>(at - run.begin()), {time, std::move(state)});
  }

  template <class Since, class Until, class Emit>
  void answer(const Store& store, const std::uint32_t* first, const std::uint32_t* last,
              const std::vector<Time>& times, Since& since, Until& until, Emit& emit) {
    if (store.tree) {
      if (answer_together(*store.tree, first, last, times, since, until, emit)) return;
      Pacer pace;
      for (const std::uint32_t* row = first; row != last; ++row) {
        pace();
        fiba::Folder<Op> fold(op_);
        store.tree->add_range(since(times[*row]), until(times[*row]), fold);
        const bool any = fold.any();
        emit(*row, fold.take(), !any);
      }
      return;
    }
    // Rows in time order, so both ends of their windows only move on: [lo, turn) is in suffixes_,
    // [turn, hi) is folded in `back`.
    const Entry* const run = store.run.begin();
    const std::size_t count = store.run.size();
    std::size_t lo = 0;
    const auto skip_until = [&](Time from) {
      while (lo < count && run[lo].time < from) ++lo;
    };
    skip_until(since(times[*first]));
    std::size_t turn = lo, hi = lo;
    fiba::Folder<Op> back(op_);
    for (const std::uint32_t* row = first; row != last; ++row) {
      skip_until(since(times[*row]));
      hi = std::max(hi, lo);
      if (turn < lo) {  // the front is used up: what is there becomes the front
        suffixes_.clear();
        fill_suffixes(run, lo, hi);
        turn = hi;
        back.clear();
      }
      for (const Time to = until(times[*row]); hi < count && run[hi].time <= to; ++hi) {
        back.add(run[hi].state);
      }
      if (lo < turn) {
        const State& front = suffixes_[turn - 1 - lo];
        back.any() ? emit(*row, State(op_.combine(front, back.peek())), false)
                   : emit(*row, front, false);
      } else {
        emit(*row, back.any() ? back.peek() : State(op_.identity()), !back.any());
      }
    }
  }

  // Answers rows in time order whose windows have a middle in common, which is folded once: what
  // lies before it is in suffixes_, what lies behind it in `back`. False, and nothing is answered,
  // if there is no middle, or if more lies around it than is worth a walk.
  template <class Since, class Until, class Emit>
  bool answer_together(const Tree& tree, const std::uint32_t* first, const std::uint32_t* last,
                       const std::vector<Time>& times, Since& since, Until& until, Emit& emit) {
    const auto rows = static_cast<std::size_t>(last - first);
    const Time since_first = since(times[*first]), since_last = since(times[last[-1]]);
    const Time until_first = until(times[*first]), until_last = until(times[last[-1]]);
    if (rows < kTogether || until_first < since_last) return false;
    const auto gather = [&](std::vector<Entry>& into, Time from, Time to) {
      into.clear();
      return tree.visit_range(from, to, [&](Time time, const State& state) {
        into.push_back({time, state});
        return into.size() <= 4 * rows;
      });
    };
    older_.clear();
    newer_.clear();
    if (since_first < since_last && !gather(older_, since_first, since_last - 1)) return false;
    if (until_first < until_last && !gather(newer_, until_first + 1, until_last)) return false;
    fiba::Folder<Op> middle(op_), back(op_);
    tree.add_range(since_last, until_first, middle);
    const bool any = middle.any();
    suffixes_.clear();
    suffixes_.push_back(middle.take());
    for (std::size_t i = older_.size(); i-- > 0;) {
      const bool alone = !any && suffixes_.size() == 1;
      suffixes_.push_back(alone ? older_[i].state
                                : State(op_.combine(older_[i].state, suffixes_.back())));
    }
    std::size_t lo = 0, hi = 0;
    for (const std::uint32_t* row = first; row != last; ++row) {
      for (const Time from = since(times[*row]); lo < older_.size() && older_[lo].time < from;)
        ++lo;
      for (const Time to = until(times[*row]); hi < newer_.size() && newer_[hi].time <= to; ++hi) {
        back.add(newer_[hi].state);
      }
      const State& front = suffixes_[older_.size() - lo];
      const bool fronted = any || lo < older_.size();
      if (fronted && back.any()) {
        emit(*row, State(op_.combine(front, back.peek())), false);
      } else {
        emit(*row, back.any() ? back.peek() : front, !fronted && !back.any());
      }
    }
    return true;
  }

  // Folds of [i, hi) for i from hi - 1 down to lo.
  void fill_suffixes(const Entry* run, std::size_t lo, std::size_t hi) {
    for (std::size_t i = hi; i-- > lo;) {
      suffixes_.push_back(i + 1 == hi ? run[i].state
                                      : State(op_.combine(run[i].state, suffixes_.back())));
    }
  }

  template <class Emptied>
  void evict_slot(Slot slot, Time first, Emptied& emptied) {
    Store& store = stores_[slot];
    const std::size_t before = size(store);
    if (before == 0) return;
    open(slot);
    if (store.tree) {
      if (store.tree->oldest() < first) store.tree->bulk_evict(first - 1);
      if (!keeps_ && store.tree->size() < kShort) fell(store);
    } else {
      std::size_t gone = 0;
      while (gone < before && store.run.begin()[gone].time < first) ++gone;
      if (gone > 0) store.run.drop_front(gone);
    }
    const std::size_t after = size(store);
    entries_ -= before - after;
    if (after == 0) emptied(slot);
  }

  Op op_;
  std::vector<Store> stores_;
  std::uint64_t entries_ = 0;
  std::size_t sweep_ = 0;
  BatchGroups batch_;
  // Room that is used again.
  std::vector<Time> bulk_times_;
  std::vector<State> bulk_states_;
  std::vector<State> suffixes_;
  std::vector<Entry> older_, newer_;
  // Of the transaction that is open.
  bool keeps_ = false;
  std::uint64_t transaction_ = 0, kept_entries_ = 0;
  std::vector<std::uint64_t> opened_;  // the last transaction that opened a slot
  std::vector<std::pair<Slot, Old>> kept_;
};

}  // namespace slidefold
