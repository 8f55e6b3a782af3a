// Rows of any key in any order in, the answers of rows out; what no window needs goes.
//
// Layout: the keys with rows, one store per key (key_store.hpp), and the rows that wait for the
//   watermark, by time. A Program says what all stores hold and which windows are asked. Rows are
//   inserted when they come; when they are answered is the caller's choice: at once (the rows of
//   the last insert), when a watermark passes them (due), or again (from the first row that a late
//   one may have changed). `answered` of a store counts the rows that cursors have passed.
// Invariants: I1 a key has a slot exactly as long as its store holds rows, or what is
//   left of them for lifetime windows. I2 stores are in window
//   order: by time, then by the columns that order peers, then by arrival. I3 the column of a delta
//   window never falls along a store. I4 what was inserted since the last commit is in the journal,
//   and undo() takes it out again.
// Cost: a row in order O(1) amortised combines per part that is asked, a late one O(log n);
//   nothing depends on how many rows windows hold. Keys that receive no rows are visited now and
//   then, a few with each commit.
// Paper: fiba-out-of-order and daba-in-order, as in the stores.
#pragma once

#include <deque>
#include <optional>

#include "slidefold/engine/pending.hpp"
#include "slidefold/engine/window_ends.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold::engine {

class Arrivals {
 public:
  // The rows of a batch: words by column of the program, keys row by row.
  struct Given {
    std::size_t count;
    const Time* times;
    const void* const* columns;
    const std::uint8_t* present;
    const Word* keys;
  };

  explicit Arrivals(Program program)
      : program_(std::move(program)),
        keys_(program_.key_words),
        stores_(program_.shape, parts_of(program_), traits_of(program_)),
        ends_(stores_) {
    for (const Window& window : program_.windows) {
      std::vector<Ask> asks;
      for (const std::size_t part : window.parts) asks.push_back({part, nullptr});
      asks_.push_back(std::move(asks));
      past_sinks_.emplace_back();
      past_asks_.emplace_back();
      if (std::holds_alternative<LifetimeRule>(window.rule)) {
        for (const std::size_t part : window.parts) {
          if (std::find(past_parts_.begin(), past_parts_.end(), part) == past_parts_.end()) {
            past_parts_.push_back(part);
          }
          past_sinks_.back().push_back(std::make_unique<PastSink>(nodes().part(part)));
          past_asks_.back().push_back({part, past_sinks_.back().back().get()});
        }
      }
      searches_.push_back(std::holds_alternative<SessionRule>(window.rule) ||
                          std::holds_alternative<MarkRule>(window.rule));
      grows_ = grows_ || searches_.back();
    }
  }
  Arrivals(const Arrivals&) = delete;
  ~Arrivals() {
    for (Slot slot = 0; slot < keys_.slots(); ++slot) {
      if (keys_.live(slot)) stores_.clear(by_slot_[slot]);
    }
  }

  const Program& program() const { return program_; }
  Nodes& nodes() { return stores_.nodes(); }
  std::size_t rows() const { return rows_; }
  std::size_t keys() const { return keys_.size(); }
  std::size_t waiting() const { return pending_.size(); }
  // The oldest time that waits; there must be one.
  Time oldest_waiting() const { return pending_.oldest(); }
  std::size_t bytes() const {
    return const_cast<KeyStores&>(stores_).nodes().bytes() + keys_.bytes() + pending_.bytes() +
           blocks_ * stores_.block_bytes() + by_slot_.size() * sizeof(KeyStore);
  }
  // Where the results of a window's k-th part go.
  void set_sink(std::size_t window, std::size_t k, Sink* sink) {
    asks_[window][k].sink = sink;
    if (!past_sinks_[window].empty()) past_sinks_[window][k]->to = sink;
  }
  // Nobody asks for a part, or somebody does again.
  void set_idle(std::size_t part, bool idle) {
    stores_.nodes().set_idle(part, idle);
    for (Slot slot = 0; slot < keys_.slots(); ++slot) {
      if (keys_.live(slot)) stores_.forget(by_slot_[slot]);
    }
  }

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
    for (std::size_t i = 0; i < given.count; ++i) {
      if (taken != nullptr && taken[i] == 0) continue;
      slots_[i] = keys_.add(given.keys + i * program_.key_words);
      if (slots_[i] >= by_slot_.size()) by_slot_.resize(slots_[i] + 1);
    }
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
      const std::size_t visits =
          std::min(keys_.slots(), std::max<std::size_t>(2 * touched_.size(), kVisits));
      for (std::size_t i = 0; i < visits; ++i) {
        if (++visited_ >= keys_.slots()) visited_ = 0;
        if (keys_.live(static_cast<Slot>(visited_))) {
          evict(static_cast<Slot>(visited_), *watermark);
        }
      }
    }
    for (const Slot slot : touched_) free_if_empty(slot);
    touched_.clear();
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

  // Answers each row of the last insert over all rows; out[row] is its number for sinks.
  void answer_inserted(const std::uint32_t* out) {
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
  // Counts rows up to a watermark as answered, without answering them.
  void pass(Time watermark) {
    for (const Waiting& row : due(watermark)) {
      touched_.push_back(row.slot);
      KeyStore& store = by_slot_[row.slot];
      remember(row.slot);
      ++store.answered;
      stores_.forget(store);
    }
  }

  // Counts all rows as answered, without answering them.
  void pass_all() {
    each_key([&](Slot slot, KeyStore& store) {
      remember(slot);
      stores_.forget(store);
      store.answered = store.size;
    });
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
  std::uint64_t size(Slot slot) const { return by_slot_[slot].size; }
  Time time_of(Slot slot, std::uint64_t rank) const { return time_at(by_slot_[slot], rank); }
  // Answers the rows of a key from a rank to its end once more.
  void answer_again(Slot slot, std::uint64_t rank, std::span<const std::uint32_t> outs) {
    KeyStore& store = by_slot_[slot];
    remember(slot);
    if (rank < store.answered) stores_.forget(store);
    outs_.assign(outs.begin(), outs.end());
    answer_run(store, rank, outs_);
  }

  // Calls visit(leaf, row) for rows of a key from a rank on.
  template <class Visit>
  void each_row(Slot slot, std::uint64_t rank, std::uint64_t count, Visit&& visit) {
    KeyStore& store = by_slot_[slot];
    if (count == 0) return;
    const Place place = stores_.trees().at_rank(store, rank);
    const Leaf* leaf = place.leaf;
    for (std::int32_t at = place.at; count > 0; --count, ++at) {
      if (at == leaf->end()) {
        leaf = leaf->next;
        at = leaf->first;
      }
      visit(leaf, at);
    }
  }
  // Calls visit(slot, store) for all keys.
  template <class Visit>
  void each_key(Visit&& visit) {
    for (Slot slot = 0; slot < keys_.slots(); ++slot) {
      if (keys_.live(slot)) visit(slot, by_slot_[slot]);
    }
  }
  std::span<const Word> key(Slot slot) const { return keys_.key(slot); }
  Slot find(const Word* key) const { return keys_.find(key); }

  // ---- what is left of rows that have gone

  // The parts of which keys keep a state for ever.
  const std::vector<std::size_t>& past_parts() const { return past_parts_; }
  // What a key keeps, made if it keeps nothing yet.
  Past& past_of(const Word* key) {
    const Slot slot = keys_.add(key);
    if (slot >= by_slot_.size()) by_slot_.resize(slot + 1);
    return past_of(slot);
  }
  Past& past_of(Slot slot) {
    std::unique_ptr<Past>& past = by_slot_[slot].past;
    if (past == nullptr) {
      auto fresh = std::make_unique<Past>();
      for (const std::size_t part : past_parts_) {
        fresh->states.emplace_back(nodes().part(part));
        fresh->states.back().reset();
      }
      past = std::move(fresh);
    }
    return *past;
  }
  std::optional<Time> last_end(Slot slot) const {
    return by_slot_[slot].past == nullptr ? std::nullopt : by_slot_[slot].past->last_end;
  }
  // Remembers where the results of a key were last, once what was answered stays.
  void set_last_end(Slot slot, Time end) { last_ends_.push_back({slot, end}); }

  // Drops from all keys what no window after a watermark needs.
  void evict_all(Time watermark) {
    for (Slot slot = 0; slot < keys_.slots(); ++slot) {
      if (keys_.live(slot)) evict(slot, watermark, true);
    }
  }

  // The columns that must not fall, with their values as numbers or floats.
  void require_rising_column(std::uint32_t column, std::uint32_t presence, bool real) {
    falling_.push_back({column, presence, real});
  }

 protected:
  static constexpr std::size_t kLateRows = 16;  // a late row takes as long as so many in order
  static constexpr std::size_t kVisits = 2;     // of idle keys, with each commit at least

  struct Entry {
    Slot slot;
    std::uint64_t rank;
  };
  struct Rising {
    std::uint32_t column, presence;
    bool real;
  };

  static std::vector<std::vector<std::size_t>> parts_of(const Program& program) {
    std::vector<std::vector<std::size_t>> parts;
    for (const Window& window : program.windows) parts.push_back(window.parts);
    return parts;
  }
  static std::vector<WindowTraits> traits_of(const Program& program) {
    std::vector<WindowTraits> traits;
    for (const Window& window : program.windows) {
      traits.push_back({std::holds_alternative<TimeRule>(window.rule) ||
                        std::holds_alternative<RowsRule>(window.rule)});
    }
    return traits;
  }

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

  void require_rising(KeyStore& store, std::uint64_t rank, std::size_t row) {
    const Trees& trees = stores_.trees();
    const Place place = trees.at_rank(store, rank);
    for (const Rising& rising : falling_) {
      const auto falls = [&](const Place& older, const Place& newer) {
        const Word a = older.leaf->column(rising.column)[older.at];
        const Word b = newer.leaf->column(rising.column)[newer.at];
        return compare_words(rising.real ? Compare::kReal : Compare::kWhole, b, a) < 0;
      };
      if (rank > 0 && falls(trees.at_rank(store, rank - 1), place)) throw Falls{rising.column, row};
      if (rank + 1 < store.size && falls(place, trees.at_rank(store, rank + 1))) {
        throw Falls{rising.column, row};
      }
    }
  }

  // So that undo() knows how far a key was answered.
  void remember(Slot slot) {
    moved_.push_back({slot, by_slot_[slot].answered, by_slot_[slot].passed});
  }
  Time time_at(const KeyStore& store, std::uint64_t rank) const {
    const Place place = stores_.trees().at_rank(store, rank);
    return place.leaf->times()[place.at];
  }
  // t + ahead, where it fits.
  static Time behind_of(Time t, Time ahead) {
    Time result = 0;
    return __builtin_add_overflow(t, ahead, &result) ? kNewest : result;
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

  // Adds what a key keeps of older rows to each answer.
  struct PastSink final : Sink {
    explicit PastSink(const Part& p) : part(p), room(p) {}
    void put(std::size_t row, const void* state, std::uint64_t held) override {
      if (state == nullptr) return to->put(row, past, rows);
      room.assign(past);
      part.absorb(room.get(), state);
      to->put(row, room.get(), held + rows);
    }
    const Part& part;
    StateOf room;
    Sink* to = nullptr;
    const void* past = nullptr;
    std::uint64_t rows = 0;
  };
  const std::vector<Ask>& asks_of(const KeyStore& store, std::size_t w) {
    if (store.past == nullptr || past_sinks_[w].empty()) return asks_[w];
    const std::vector<std::size_t>& parts = program_.windows[w].parts;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const auto at = std::find(past_parts_.begin(), past_parts_.end(), parts[k]);
      const auto place = static_cast<std::size_t>(at - past_parts_.begin());
      past_sinks_[w][k]->past = store.past->states[place].get();
      past_sinks_[w][k]->rows = store.past->rows;
    }
    return past_asks_[w];
  }
  // Folds the oldest rows of a key into what it keeps of them; false if an operator fails, and then
  // nothing has changed.
  bool fold_past(Slot slot, std::uint64_t count) {
    if (past_parts_.empty()) return true;
    Past& past = past_of(slot);
    KeyStore& store = by_slot_[slot];
    std::vector<StateOf> folded;
    try {
      Folds folds(stores_.nodes());
      for (std::size_t i = 0; i < past_parts_.size(); ++i) {
        folded.emplace_back(nodes().part(past_parts_[i]));
        folded.back().assign(past.states[i].get());
        std::uint64_t left = count;
        const Leaf* leaf = Trees::oldest_leaf(store.root, store.height);
        for (; left > 0; leaf = leaf->next) {
          const auto rows = static_cast<std::int32_t>(
              std::min<std::uint64_t>(left, static_cast<std::uint64_t>(leaf->end() - leaf->first)));
          folds.fold_rows(past_parts_[i], folded.back().get(), leaf, leaf->first,
                          leaf->first + rows);
          left -= static_cast<std::uint64_t>(rows);
        }
      }
    } catch (const std::exception&) {
      return false;  // the rows stay, and answers are as they were
    }
    for (std::size_t i = 0; i < folded.size(); ++i) past.states[i].assign(folded[i].get());
    past.rows += count;
    return true;
  }

  // ---- what windows at a watermark or after it still need

  void evict(Slot slot, Time watermark, bool always = false) {
    KeyStore& store = by_slot_[slot];
    if (store.size == 0) return;
    // Where a search is as long as a window, it waits until the store has doubled.
    if (!always && grows_ && store.size <= 2 * pruned(slot) + 16) return;
    // Most often some window still holds the oldest row.
    const Time oldest = Trees::oldest_leaf(store.root, store.height)->oldest();
    for (const Window& window : program_.windows) {
      const auto* rule = std::get_if<TimeRule>(&window.rule);
      if (rule != nullptr && !rule->empty() && oldest >= before(watermark, rule->oldest)) return;
    }
    // Ends without rows behind the last one may still be filled in. Their time windows are empty;
    // other windows look back from there.
    const Time back = std::min(watermark, last_end(slot).value_or(watermark));
    const std::uint64_t m = stores_.trees().rank(store, ends_.behind(store, watermark));
    const std::uint64_t seen =
        back == watermark ? m : stores_.trees().rank(store, ends_.behind(store, back));
    std::uint64_t needed = m;
    for (const Window& window : program_.windows) {
      if (needed == 0) break;
      const bool in_time = std::holds_alternative<TimeRule>(window.rule);
      needed =
          std::min(needed, std::visit(
                               [&](auto rule) {
                                 return ends_.needed_from(store, rule, in_time ? watermark : back,
                                                          in_time ? m : seen);
                               },
                               window.rule));
    }
    needed = std::min(needed, store.answered);
    needed -= needed % multiple_;
    if (needed > 0 && fold_past(slot, needed)) {
      const bool had_block = store.block != nullptr;
      rows_ -= std::min(needed, store.size);
      stores_.drop_front(store, needed);
      blocks_ -= had_block && store.block == nullptr ? 1 : 0;
    }
    if (grows_) pruned(slot) = store.size;
    free_if_empty(slot);
  }
  std::uint64_t& pruned(Slot slot) {
    if (pruned_.size() <= slot) pruned_.resize(slot + 1);
    return pruned_[slot];
  }
  void free_if_empty(Slot slot) {
    if (!keys_.live(slot) || by_slot_[slot].size > 0 || by_slot_[slot].past != nullptr) return;
    by_slot_[slot] = KeyStore{};
    keys_.remove(slot);
    if (grows_) pruned(slot) = 0;
  }

  Program program_;
  Keys keys_;
  KeyStores stores_;
  WindowEnds ends_;
  std::deque<KeyStore> by_slot_;
  std::vector<std::vector<Ask>> asks_;  // by window
  // The same for keys that have a past; empty for windows that do not look at it.
  std::vector<std::vector<std::unique_ptr<PastSink>>> past_sinks_;
  std::vector<std::vector<Ask>> past_asks_;
  std::vector<std::size_t> past_parts_;
  std::vector<std::pair<Slot, Time>> last_ends_;
  std::vector<bool> searches_;
  bool grows_ = false;  // some window's start is searched for
  std::vector<Rising> falling_;
  Pending pending_;
  Groups groups_;
  std::vector<Slot> slots_, touched_;
  std::vector<std::uint64_t> ranks_, pruned_;
  std::vector<std::uint32_t> outs_;
  std::vector<Entry> journal_;
  struct Moved {
    Slot slot;
    std::uint64_t answered, passed;
  };
  std::vector<Moved> moved_;
  std::uint64_t multiple_ = 1;
  std::vector<std::vector<Waiting>> arrivals_;
  std::vector<Waiting> taken_;
  RowPoll polled_;
  std::size_t rows_ = 0, blocks_ = 0, visited_ = 0, waited_ = 0;
};

}  // namespace slidefold::engine
