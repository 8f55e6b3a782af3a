// Rows of any key in any order in, the answers of rows out.
//
// Layout: what the engine holds (holdings.hpp), and the rows that wait for the watermark, by time.
//   Rows are inserted when they come; when they are answered is the caller's choice: at once (the
//   rows of the last insert), when a watermark passes them (due), or again (from the first row that
//   a late one may have changed). `answered` of a store counts the rows that cursors have passed.
// Invariants: those of Holdings. I4 stores are in window order: by time, then by the columns that
//   order peers, then by arrival. I5 the column of a delta window never falls along a store. I6
//   rows inserted since the last commit are in the journal, and undo() takes them out again.
// Cost: a row in order O(1) amortised combines per part that is asked, a late one O(log n);
//   nothing depends on how many rows windows hold. Keys that receive no rows are visited now and
//   then, a few with each commit.
// Paper: fiba-out-of-order and daba-in-order, as in the stores.
#pragma once

#include "slidefold/engine/eviction.hpp"
#include "slidefold/engine/pending.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold::engine {

class Arrivals : public Eviction {
 public:
  // The rows of a batch: words by column of the program, keys row by row.
  struct Given {
    std::size_t count;
    const Time* times;
    const void* const* columns;
    const std::uint8_t* present;
    const Word* keys;
  };

  using Eviction::Eviction;

  std::size_t waiting() const { return pending_.size(); }
  // The oldest time that waits; there must be one.
  Time oldest_waiting() const { return pending_.oldest(); }
  std::size_t bytes() const { return Eviction::bytes() + pending_.bytes(); }

  // ---- rows in

  // Inserts the rows of a batch that are taken (all, if that is null).
  void insert(const Given& given, const std::uint8_t* taken) {
    for (const Rising& rising : falling_) {
      for (std::size_t i = 0; i < given.count; ++i) {
        if (taken != nullptr && taken[i] == 0) continue;
        const auto value = std::bit_cast<double>(word(given, i, rising.column));
        if (!present(given, i, rising.presence)) throw Missing{rising.column, i, true};
        if (rising.real && value != value) throw Missing{rising.column, i, false};
      }
    }
    slots_.assign(given.count, kNoSlot);
    const std::size_t keys = keys_.size();
    for (std::size_t i = 0; i < given.count; ++i) {
      if (taken != nullptr && taken[i] == 0) continue;
      slots_[i] = slot_of(given.keys + i * program_.key_words);
    }
    fresh_ += keys_.size() - keys;
    groups_.group(slots_);
    ranks_.resize(given.count);
    const Rows rows{given.times, given.columns, given.present};
    for (std::size_t g = 0; g < groups_.size(); ++g) touched_.push_back(groups_.slot(g));
    RowPoll polled;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Slot slot = groups_.slot(g);
      KeyStore& store = by_slot_[slot];
      const bool had_block = store.block != nullptr;
      const auto members = groups_.rows(g);
      sort(members, given);
      polled(members.size());
      for (const std::uint32_t row : members) {
        ranks_[row] = stores_.insert(store, rows, row, [&](const Leaf* leaf, std::int32_t i) {
          return ties(given, row, leaf, i) < 0;
        });
        journal_.push_back({slot, ranks_[row]});
        ++rows_;
        if (!falling_.empty()) require_rising(store, ranks_[row], row);
      }
      blocks_ += !had_block && store.block != nullptr ? 1 : 0;
    }
  }
  // The inserted rows wait for the watermark.
  void wait(const Given& given, std::uint64_t first_number) {
    std::vector<Waiting> rows;
    for (std::size_t i = 0; i < given.count; ++i) {
      if (slots_[i] != kNoSlot) rows.push_back({given.times[i], first_number + i, slots_[i]});
    }
    waited_ += rows.size();
    arrivals_.push_back(rows);
    pending_.add(std::move(rows));
  }

  // Inserted rows stay; rows that no window after the watermark needs go.
  void commit(const Time* watermark) {
    for (const auto& [slot, end] : last_ends_) past_of(slot).last_end = end;
    last_ends_.clear();
    journal_.clear();
    moved_.clear();
    arrivals_.clear();
    taken_.clear();
    waited_ = 0;
    if (watermark != nullptr) {
      for (const Slot slot : touched_) {
        if (keys_.live(slot)) evict(slot, *watermark);
      }
      visit_idle(*watermark);
    }
    for (const Slot slot : touched_) free_if_empty(slot);
    touched_.clear();
  }
  // Gives the memory of keys that have gone back, between two batches; `always` looks for it even
  // if few have gone since the last time. Tells whether there was any.
  bool trim(bool always) {
    if (!touched_.empty() || !keys_.trim(always)) return false;
    trim_slots();
    passed_in_ = {};
    groups_.trim();
    return true;
  }
  // Takes out what was inserted since the last commit.
  void undo() {
    last_ends_.clear();
    for (std::size_t i = moved_.size(); i-- > 0;) {
      KeyStore& store = by_slot_[moved_[i].slot];
      stores_.forget_all(store);
      store.answered = moved_[i].answered;
      store.passed = moved_[i].passed;
    }
    for (const Slot slot : touched_) stores_.forget_all(by_slot_[slot]);
    for (std::size_t i = journal_.size(); i-- > 0;) {
      KeyStore& store = by_slot_[journal_[i].slot];
      const bool had_block = store.block != nullptr;
      stores_.erase(store, stores_.trees().at_rank(store, journal_[i].rank));
      blocks_ -= had_block && store.block == nullptr ? 1 : 0;
      --rows_;
    }
    journal_.clear();
    if (waited_ > 0) {
      std::vector<Waiting> fresh;
      for (const auto& rows : arrivals_) fresh.insert(fresh.end(), rows.begin(), rows.end());
      std::sort(fresh.begin(), fresh.end());
      std::vector<Waiting> all = pending_.due(kNewest);
      all.insert(all.end(), taken_.begin(), taken_.end());
      std::sort(all.begin(), all.end());
      std::vector<Waiting> left;
      std::set_difference(all.begin(), all.end(), fresh.begin(), fresh.end(),
                          std::back_inserter(left));
      pending_.add(std::move(left));
    } else if (!taken_.empty()) {
      pending_.add(std::exchange(taken_, {}));
    }
    moved_.clear();
    arrivals_.clear();
    taken_.clear();
    waited_ = 0;
    for (const Slot slot : touched_) free_if_empty(slot);
    touched_.clear();
  }

  // ---- answers

  // Answers each row of the last insert over all rows; out[row] is its number for sinks. Answers
  // that nobody wants only refuse rows, and keep cursors near.
  void answer_inserted(const std::uint32_t* out, bool wanted = true) {
    struct Wanted {
      Answers& answers;
      ~Wanted() { answers.want(true); }
    } const back{stores_.answers()};
    stores_.answers().want(wanted);
    RowPoll polled;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Slot slot = groups_.slot(g);
      KeyStore& store = by_slot_[slot];
      remember(slot);
      const auto members = groups_.rows(g);
      std::size_t i = 0;
      for (; i < members.size() && ranks_[members[i]] < store.answered; ++i) {
        polled(kLateRows);
        answer_one(store, ranks_[members[i]], out[members[i]]);
      }
      polled(members.size());
      outs_.clear();
      const std::size_t first = i;
      for (; i < members.size(); ++i) outs_.push_back(out[members[i]]);
      if (!outs_.empty()) answer_run(store, ranks_[members[first]], outs_);
    }
  }

  // The same, row by row, without moving what answers rows in order.
  void answer_each_inserted(const std::uint32_t* out) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const std::uint32_t row : groups_.rows(g)) {
        answer_one(by_slot_[groups_.slot(g)], ranks_[row], out[row]);
      }
    }
  }

  // Takes out the rows that wait up to a watermark, in order of time and arrival.
  const std::vector<Waiting>& due(Time watermark) {
    taken_ = pending_.due(watermark);
    return taken_;
  }
  // Answers the next `outs` rows of a key that have not been answered.
  void answer_next(Slot slot, std::span<const std::uint32_t> outs) {
    polled_(outs.size());
    KeyStore& store = by_slot_[slot];
    remember(slot);
    outs_.assign(outs.begin(), outs.end());
    answer_run(store, store.answered, outs_);
  }
  // Counts rows up to a watermark as answered, without answering them; returns them.
  const std::vector<Waiting>& pass(Time watermark) {
    ++pass_;
    passed_in_.resize(std::max(passed_in_.size(), by_slot_.size()));
    for (const Waiting& row : due(watermark)) {
      KeyStore& store = by_slot_[row.slot];
      if (std::exchange(passed_in_[row.slot], pass_) != pass_) {  // the first row of its key
        touched_.push_back(row.slot);
        remember(row.slot);
        stores_.forget(store);
      }
      ++store.answered;
    }
    return taken_;
  }

  // Counts the rows of the last insert as answered, and with them all rows of their keys.
  void pass_inserted() {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Slot slot = groups_.slot(g);
      KeyStore& store = by_slot_[slot];
      remember(slot);
      stores_.forget(store);
      store.answered = store.size;
    }
  }
  std::uint64_t answered(Slot slot) const { return by_slot_[slot].answered; }

  // The slots with new rows, and the first rank from which on results may differ.
  template <class Visit>
  void each_changed(Visit&& visit) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const auto members = groups_.rows(g);
      if (!members.empty()) visit(groups_.slot(g), ranks_[members.front()]);
    }
  }
  // A rank not above the given one: rows of equal time change with each other.
  std::uint64_t first_peer(Slot slot, std::uint64_t rank) {
    KeyStore& store = by_slot_[slot];
    const Place place = stores_.trees().at_rank(store, rank);
    const Time t = place.leaf->times()[place.at];
    return stores_.trees().rank(store, stores_.trees().lower(store, t));
  }
  // Answers the rows of a key from a rank to its end once more.
  void answer_again(Slot slot, std::uint64_t rank, std::span<const std::uint32_t> outs) {
    KeyStore& store = by_slot_[slot];
    remember(slot);
    if (rank < store.answered) stores_.forget(store);
    outs_.assign(outs.begin(), outs.end());
    answer_run(store, rank, outs_);
  }

  // Remembers where the results of a key were last, once what was answered stays.
  void set_last_end(Slot slot, Time end) { last_ends_.push_back({slot, end}); }

  void check() {
    Eviction::check();
    pending_.check();
  }

  // The columns that must not fall, with their values as numbers or floats.
  void require_rising_column(std::uint32_t column, std::uint32_t presence, bool real) {
    falling_.push_back({column, presence, real});
  }

 protected:
  static constexpr std::size_t kLateRows = 16;  // a late row takes as long as so many in order
  static constexpr std::size_t kPerVisit = 8;   // keys with rows for each idle one that is visited

  struct Entry {
    Slot slot;
    std::uint64_t rank;
  };
  struct Rising {
    std::uint32_t column, presence;
    bool real;
  };

  // How a row of a batch is ordered beside one of a store, both of one time.
  int ties(const Given& given, std::size_t row, const Leaf* leaf, std::int32_t i) const {
    for (const TieColumn& tie : program_.ties) {
      const bool here = present(given, row, tie.presence);
      const bool there = const_cast<KeyStores&>(stores_).nodes().present(leaf, i, tie.presence);
      if (here != there) return here ? 1 : -1;
      if (!here) continue;
      const int order =
          compare_words(tie.how, word(given, row, tie.column), leaf->column(tie.column)[i]);
      if (order != 0) return order;
    }
    return 0;
  }
  int ties(const Given& given, std::size_t a, std::size_t b) const {
    for (const TieColumn& tie : program_.ties) {
      const bool here = present(given, a, tie.presence), there = present(given, b, tie.presence);
      if (here != there) return here ? 1 : -1;
      if (!here) continue;
      const int order =
          compare_words(tie.how, word(given, a, tie.column), word(given, b, tie.column));
      if (order != 0) return order;
    }
    return 0;
  }
  static Word word(const Given& given, std::size_t row, std::uint32_t column) {
    return static_cast<const Word*>(given.columns[column])[row];
  }
  bool present(const Given& given, std::size_t row, std::uint32_t presence) const {
    if (presence == kAlways || given.present == nullptr) return true;
    const std::size_t bytes = program_.shape.mask_bytes();
    return (given.present[row * bytes + presence / 8] >> (presence % 8) & 1) != 0;
  }

  // Rows of one key in window order.
  void sort(std::span<std::uint32_t> rows, const Given& given) const {
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
      if (given.times[a] != given.times[b]) return given.times[a] < given.times[b];
      const int order = ties(given, a, b);
      return order != 0 ? order < 0 : a < b;
    };
    if (!std::is_sorted(rows.begin(), rows.end(), before)) {
      std::sort(rows.begin(), rows.end(), before);
    }
  }

  // Compares a row that has come with those before and behind it.
  void require_rising(KeyStore& store, std::uint64_t rank, std::size_t row) {
    const Trees& trees = stores_.trees();
    const bool last = rank + 1 == store.size;
    // In order, no search: most often the row before it is in its leaf.
    const Leaf* const tail = store.tail;
    const Spot own = last ? Spot{tail, tail->end() - 1} : spot(trees.at_rank(store, rank));
    for (const Rising& rising : falling_) {
      const auto falls = [&](const Spot& older, const Spot& newer) {
        const Word a = older.leaf->column(rising.column)[older.at];
        const Word b = newer.leaf->column(rising.column)[newer.at];
        return compare_words(rising.real ? Compare::kReal : Compare::kWhole, b, a) < 0;
      };
      if (rank > 0) {
        const Spot older = own.at > own.leaf->first ? Spot{own.leaf, own.at - 1}
                                                    : spot(trees.at_rank(store, rank - 1));
        if (falls(older, own)) throw Falls{rising.column, row};
      }
      if (!last && falls(own, spot(trees.at_rank(store, rank + 1)))) {
        throw Falls{rising.column, row};
      }
    }
  }
  struct Spot {
    const Leaf* leaf;
    std::int32_t at;
  };
  static Spot spot(const Place& place) { return {place.leaf, place.at}; }

  // Looks at some keys that have received no rows: two for each new key, so that keys which nobody
  // needs are never more than the others, and few where no keys come and go.
  void visit_idle(Time watermark) {
    const std::size_t visits = 2 * fresh_ + touched_.size() / kPerVisit + 1;
    for (std::size_t i = 0; i < std::min(visits, keys_.slots()); ++i) {
      if (++visited_ >= keys_.slots()) visited_ = 0;
      const auto slot = static_cast<Slot>(visited_);
      if (keys_.live(slot)) evict(slot, watermark);
    }
    fresh_ = 0;
  }

  // So that undo() knows how far a key was answered.
  void remember(Slot slot) {
    moved_.push_back({slot, by_slot_[slot].answered, by_slot_[slot].passed});
  }
  void answer_run(KeyStore& store, std::uint64_t rank, const std::vector<std::uint32_t>& outs) {
    const Place place = stores_.trees().at_rank(store, rank);
    for (std::size_t w = 0; w < asks_.size(); ++w) {
      std::visit(
          [&](const auto& rule) {
            stores_.answers().in_order(store, store.block, w, rule, place, outs.data(), outs.size(),
                                       asks_of(store, w));
          },
          program_.windows[w].rule);
    }
    store.answered = std::max(store.answered, rank + outs.size());
  }
  void answer_one(KeyStore& store, std::uint64_t rank, std::uint32_t out) {
    const Place place = stores_.trees().at_rank(store, rank);
    const RowAt row = stores_.answers().row_at(store, place);
    for (std::size_t w = 0; w < asks_.size(); ++w) {
      std::visit(
          [&](auto rule) {
            rule.see(row);
            stores_.answers().anywhere(store, store.block, w, rule, place, out, asks_of(store, w));
          },
          program_.windows[w].rule);
    }
  }

  std::vector<std::pair<Slot, Time>> last_ends_;
  std::vector<Rising> falling_;
  Pending pending_;
  Groups groups_;
  std::vector<Slot> slots_, touched_;
  std::vector<std::uint32_t> passed_in_;  // by slot, the last pass() that had rows of it
  std::uint32_t pass_ = 0;
  std::vector<std::uint64_t> ranks_;
  std::vector<std::uint32_t> outs_;
  std::vector<Entry> journal_;
  struct Moved {
    Slot slot;
    std::uint64_t answered, passed;
  };
  std::vector<Moved> moved_;
  std::vector<std::vector<Waiting>> arrivals_;
  std::vector<Waiting> taken_;
  RowPoll polled_;
  std::size_t visited_ = 0, waited_ = 0;
  std::size_t fresh_ = 0;  // keys that have come since idle ones were visited
};

}  // namespace slidefold::engine
