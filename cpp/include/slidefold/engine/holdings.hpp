// What an engine holds: keys with their rows, and what is left of rows that have gone.
//
// Layout: one store per key (key_store.hpp). A Program says what all stores hold and which windows
//   are asked. Of rows that have gone a key may keep one state per part for lifetime windows (its
//   past), and slices (slices.hpp) where all windows end at the multiples of a time. Both go to the
//   sinks of a window before its rows do.
// Invariants: I1 a key has a slot exactly as long as its store holds rows, or what is left of
//   them. I2 `rows` is the number of rows of all keys. I3 slices stand for final rows only: nothing
//   can come between them any more.
// Cost: those of the stores.
// Paper: none.
#pragma once

#include <deque>
#include <optional>

#include "slidefold/engine/keys.hpp"
#include "slidefold/engine/slices.hpp"
#include "slidefold/engine/window_ends.hpp"

namespace slidefold::engine {

class Holdings {
 public:
  explicit Holdings(Program program)
      : program_(with_breaks(std::move(program))),
        keys_(program_.key_words),
        stores_(program_.shape, parts_of(program_), traits_of(program_)),
        ends_(stores_) {
    for (const Window& window : program_.windows) {
      std::vector<Ask> asks;
      for (const std::size_t part : window.parts) asks.push_back({part, nullptr});
      asks_.push_back(std::move(asks));
      older_sinks_.emplace_back();
      older_asks_.emplace_back();
      if (std::holds_alternative<LifetimeRule>(window.rule)) {
        add_new(past_parts_, window.parts);
        look_back(asks_.size() - 1, window);
      }
    }
    if (program_.ends) make_slices(*program_.ends);
  }
  Holdings(const Holdings&) = delete;
  ~Holdings() {
    each_key([&](Slot, KeyStore& store) {
      stores_.clear(store);
      if (store.slices != nullptr) slices_->clear(*store.slices);
    });
  }

  const Program& program() const { return program_; }
  Nodes& nodes() { return stores_.nodes(); }
  std::size_t rows() const { return rows_; }
  std::size_t keys() const { return keys_.size(); }
  std::size_t slices() const { return slices_ == nullptr ? 0 : slices_->size(); }
  std::size_t bytes() const {
    return const_cast<KeyStores&>(stores_).nodes().bytes() + keys_.bytes() +
           blocks_ * stores_.block_bytes() + by_slot_.size() * sizeof(KeyStore) +
           (slices_ == nullptr ? 0 : slices_->bytes());
  }
  // Where the results of a window's k-th part go.
  void set_sink(std::size_t window, std::size_t k, Sink* sink) {
    asks_[window][k].sink = sink;
    if (!older_sinks_[window].empty()) older_sinks_[window][k]->to = sink;
  }
  // Nobody asks for a part, or somebody does again.
  void set_idle(std::size_t part, bool idle) {
    stores_.nodes().set_idle(part, idle);
    each_key([&](Slot, KeyStore& store) { stores_.forget(store); });
  }
  // ---- keys and their rows

  std::span<const Word> key(Slot slot) const { return keys_.key(slot); }
  Slot find(const Word* key) const { return keys_.find(key); }
  // Calls visit(slot, store) for all keys.
  template <class Visit>
  void each_key(Visit&& visit) {
    for (Slot slot = 0; slot < keys_.slots(); ++slot) {
      if (keys_.live(slot)) visit(slot, by_slot_[slot]);
    }
  }
  std::uint64_t size(Slot slot) const { return by_slot_[slot].size; }
  Time time_of(Slot slot, std::uint64_t rank) const { return time_at(by_slot_[slot], rank); }
  // Calls visit(leaf, row) for rows of a key from a rank on.
  template <class Visit>
  void each_row(Slot slot, std::uint64_t rank, std::uint64_t count, Visit&& visit) {
    if (count == 0) return;
    const Place place = stores_.trees().at_rank(by_slot_[slot], rank);
    const Leaf* leaf = place.leaf;
    for (std::int32_t at = place.at; count > 0; --count, ++at) {
      if (at == leaf->end()) {
        leaf = leaf->next;
        at = leaf->first;
      }
      visit(leaf, at);
    }
  }
  // The oldest time of a row that some window may still need; the newest time if there is none.
  Time oldest_row() {
    Time oldest = kNewest;
    each_key([&](Slot, KeyStore& store) { oldest = std::min(oldest, oldest_of(store)); });
    return oldest;
  }

  // ---- what is left of rows that have gone

  // The parts of which keys keep a state for ever.
  const std::vector<std::size_t>& past_parts() const { return past_parts_; }
  // What a key keeps, made if it keeps nothing yet.
  Past& past_of(const Word* key) { return past_of(slot_of(key)); }
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
  static bool has_slices(const KeyStore& store) {
    return store.slices != nullptr && store.slices->size > 0;
  }
  void save_slices(const KeyStore& store, Saver& saver) const {
    slices_->save(*store.slices, saver);
  }
  void load_slices(const Word* key, Loader& loader) {
    expect(slices_ != nullptr, "there are slices where the definition has none");
    slices_->load(slices_of(by_slot_[slot_of(key)]), loader);
  }

  void check() {
    keys_.check();
    std::size_t total = 0, slices = 0;
    each_key([&](Slot, KeyStore& store) {
      require(!nothing_left(store), "holdings I1: a key has rows, or had some");
      if (store.size > 0) stores_.check(store);
      total += store.size;
      if (store.slices == nullptr) return;
      slices_->check(*store.slices);
      slices += store.slices->size;
      require(store.size == 0 || store.slices->size == 0 ||
                  slices_->newest(*store.slices) <=
                      Trees::oldest_leaf(store.root, store.height)->oldest(),
              "slices I3: rows are not before slices");
    });
    require(total == rows_, "holdings I2: rows is the number of rows");
    require(slices == this->slices(), "the number of slices is right");
  }

 protected:
  Time time_at(const KeyStore& store, std::uint64_t rank) const {
    const Place place = stores_.trees().at_rank(store, rank);
    return place.leaf->times()[place.at];
  }
  // t + ahead, where it fits.
  static Time behind_of(Time t, Time ahead) {
    Time result = 0;
    return __builtin_add_overflow(t, ahead, &result) ? kNewest : result;
  }
  Slot slot_of(const Word* key) {
    const Slot slot = keys_.add(key);
    if (slot >= by_slot_.size()) by_slot_.resize(slot + 1);
    return slot;
  }

  bool is_sliced(std::size_t w) const { return !sliced_.empty() && sliced_[w]; }
  static Tree& slices_of(KeyStore& store) {
    if (store.slices == nullptr) store.slices = std::make_unique<Tree>();
    return *store.slices;
  }

  // ---- rows and slices as one

  static bool is_empty(const KeyStore& store) { return store.size == 0 && !has_slices(store); }
  static bool nothing_left(const KeyStore& store) {
    return is_empty(store) && store.past == nullptr;
  }
  Time oldest_of(const KeyStore& store) const {
    if (has_slices(store)) return slices_->oldest(*store.slices);
    return store.size == 0 ? kNewest : Trees::oldest_leaf(store.root, store.height)->oldest();
  }
  // Of a key that is not empty.
  Time newest_of(const KeyStore& store) const {
    return store.size > 0 ? store.tail->newest() : slices_->newest(*store.slices);
  }
  // The time of the first row or slice that is not before a time.
  std::optional<Time> first_from(const KeyStore& store, Time t) const {
    if (has_slices(store)) {
      if (const auto first = slices_->first_from(*store.slices, t)) return first;
    }
    if (store.size == 0) return std::nullopt;
    const Place place = stores_.trees().lower(store, t);
    if (place.at < place.leaf->end()) return place.leaf->times()[place.at];
    if (place.leaf->next == nullptr) return std::nullopt;
    return place.leaf->next->oldest();
  }

  // Calls visit(time) for each slice and row of a key.
  template <class Visit>
  void each_time(const KeyStore& store, Visit&& visit) const {
    if (has_slices(store)) slices_->each_time(*store.slices, visit);
    if (store.size > 0) stores_.trees().each_time(store, visit);
  }

  // Where answers go: to what adds the older rows of a key to them, if it keeps something of those
  // for a window.
  const std::vector<Ask>& asks_of(const KeyStore& store, std::size_t w) {
    if (store.past == nullptr || older_sinks_[w].empty() || is_sliced(w)) return asks_[w];
    const std::vector<std::size_t>& parts = program_.windows[w].parts;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const auto at = std::find(past_parts_.begin(), past_parts_.end(), parts[k]);
      const auto place = static_cast<std::size_t>(at - past_parts_.begin());
      older_sinks_[w][k]->state = store.past->states[place].get();
      older_sinks_[w][k]->rows = store.past->rows;
    }
    return older_asks_[w];
  }
  // The same for a window that ends at a time.
  template <class Rule>
  const std::vector<Ask>& asks_at(const KeyStore& store, std::size_t w, Rule, Time) {
    return asks_of(store, w);
  }
  const std::vector<Ask>& asks_at(const KeyStore& store, std::size_t w, TimeRule rule, Time t) {
    if (!is_sliced(w) || !has_slices(store) || rule.empty()) return asks_[w];
    rule.at(t);
    if (!slices_->fold(*store.slices, rule.since, rule.until)) return asks_[w];
    const std::vector<std::size_t>& parts = program_.windows[w].parts;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      older_sinks_[w][k]->state = slices_->state(parts[k]);
      older_sinks_[w][k]->rows = slices_->rows();
    }
    return older_asks_[w];
  }

  Program program_;
  Keys keys_;
  KeyStores stores_;
  WindowEnds ends_;
  std::deque<KeyStore> by_slot_;
  std::vector<std::vector<Ask>> asks_;  // by window
  std::vector<std::size_t> past_parts_;
  std::unique_ptr<Slices> slices_;  // null if the definition has none
  std::size_t rows_ = 0, blocks_ = 0;

 private:
  // Adds the fold of older rows to each answer.
  struct OlderSink final : Sink {
    explicit OlderSink(const Part& p) : part(p), room(p) {}
    void put(std::size_t row, const void* newer, std::uint64_t held) override {
      if (newer == nullptr) return to->put(row, state, rows);
      room.assign(state);
      part.absorb(room.get(), newer);
      to->put(row, room.get(), held + rows);
    }
    const Part& part;
    StateOf room;
    Sink* to = nullptr;
    const void* state = nullptr;
    std::uint64_t rows = 0;
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
  static void add_new(std::vector<std::size_t>& to, const std::vector<std::size_t>& parts) {
    for (const std::size_t part : parts) {
      if (std::find(to.begin(), to.end(), part) == to.end()) to.push_back(part);
    }
  }
  // Lets the answers of a window look at older rows.
  void look_back(std::size_t w, const Window& window) {
    for (const std::size_t part : window.parts) {
      older_sinks_[w].push_back(std::make_unique<OlderSink>(nodes().part(part)));
      older_asks_[w].push_back({part, older_sinks_[w].back().get()});
    }
  }
  // Windows of which all parts have states that can stand for rows are answered from slices.
  void make_slices(const Grid& grid) {
    Cuts cuts(grid);
    std::vector<std::size_t> parts;
    sliced_.assign(program_.windows.size(), false);
    for (std::size_t w = 0; w < program_.windows.size(); ++w) {
      const Window& window = program_.windows[w];
      const auto* rule = std::get_if<TimeRule>(&window.rule);
      if (rule == nullptr || rule->empty()) continue;
      if (!std::all_of(window.parts.begin(), window.parts.end(),
                       [&](std::size_t p) { return nodes().part(p).outlives_rows(); })) {
        continue;
      }
      sliced_[w] = true;
      cuts.add(*rule);
      add_new(parts, window.parts);
      look_back(w, window);
    }
    if (parts.empty()) return sliced_.clear();
    slices_ = std::make_unique<Slices>(nodes().shape(), std::move(parts), std::move(cuts));
  }
  // What adds older rows to the answers of a window; empty for windows that do not look at them.
  std::vector<std::vector<std::unique_ptr<OlderSink>>> older_sinks_;
  std::vector<std::vector<Ask>> older_asks_;
  std::vector<bool> sliced_;  // by window; empty if there are none
};

}  // namespace slidefold::engine
