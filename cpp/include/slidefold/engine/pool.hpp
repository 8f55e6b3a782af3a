// Values that do not fit a word, each kept once: a word is their number.
//
// Layout: bytes one after the other in one array, an entry for each value (where it lies, its
//   hash), and a table of entry numbers with open addressing. Free numbers are in a list.
// Invariants: I1 a value has one number as long as somebody marks it. I2 the table is at most half
//   full. I3 live values do not overlap.
// Cost: add and find O(length). A sweep, which forgets what nobody has marked, O(all); whoever
//   sweeps when the pool has doubled pays O(1) per value.
// Paper: none.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "slidefold/engine/part.hpp"
#include "slidefold/operators/hash.hpp"

namespace slidefold::engine {

class Pool {
 public:
  std::size_t size() const { return entries_.size() - free_.size(); }
  std::size_t bytes() const {
    return bytes_.capacity() + entries_.capacity() * sizeof(Entry) +
           table_.capacity() * sizeof(std::uint32_t) + free_.capacity() * sizeof(std::uint32_t);
  }

  // The view is valid until the next add or sweep.
  std::string_view get(Word word) const {
    const Entry& entry = entries_[word];
    return {bytes_.data() + entry.at, entry.length};
  }
  std::uint64_t hash(Word word) const { return entries_[word].hash; }

  Word add(std::string_view value) {
    if (2 * (size() + 1) > table_.size()) rehash(std::max<std::size_t>(16, 2 * table_.size()));
    const std::uint64_t hash = hash_bytes(value);
    std::size_t at = hash & mask();
    for (; table_[at] != kNone; at = (at + 1) & mask()) {
      const Entry& entry = entries_[table_[at]];
      if (entry.hash == hash && get(table_[at]) == value) return table_[at];
    }
    std::uint32_t number = 0;
    if (free_.empty()) {
      number = static_cast<std::uint32_t>(entries_.size());
      entries_.emplace_back();
    } else {
      number = free_.back();
      free_.pop_back();
    }
    entries_[number] = {bytes_.size(), static_cast<std::uint32_t>(value.size()), true, false, hash};
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    table_[at] = number;
    return number;
  }

  // Whether the pool has grown enough since the last sweep that another one is worth it.
  bool wants_sweep() const { return size() > 2 * swept_ + 1024; }
  void mark(Word word) { entries_[word].marked = true; }
  // Forgets the values that were not marked since the last sweep.
  void sweep() {
    std::vector<char> kept;
    for (std::uint32_t number = 0; number < entries_.size(); ++number) {
      Entry& entry = entries_[number];
      if (!entry.live) continue;
      if (!entry.marked) {
        entry = {};
        free_.push_back(number);
        continue;
      }
      entry.marked = false;
      const std::size_t at = kept.size();
      const auto first = bytes_.begin() + static_cast<std::ptrdiff_t>(entry.at);
      kept.insert(kept.end(), first, first + static_cast<std::ptrdiff_t>(entry.length));
      entry.at = at;
    }
    bytes_.swap(kept);
    swept_ = size();
    std::size_t room = 16;
    while (room < 2 * (size() + 1)) room *= 2;
    rehash(room);
  }

  void check() const {
    std::size_t found = 0;
    for (const std::uint32_t number : table_) {
      if (number == kNone) continue;
      ++found;
      require(entries_[number].live, "pool I1: a value in the table is live");
    }
    require(found == size(), "pool I1: every value is in the table");
    require(2 * found <= table_.size(), "pool I2: the table is at most half full");
  }

 private:
  struct Entry {
    std::size_t at = 0;
    std::uint32_t length = 0;
    bool live = false, marked = false;
    std::uint64_t hash = 0;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::size_t mask() const { return table_.size() - 1; }

  void rehash(std::size_t room) {
    table_.assign(room, kNone);
    for (std::uint32_t number = 0; number < entries_.size(); ++number) {
      if (!entries_[number].live) continue;
      std::size_t at = entries_[number].hash & mask();
      while (table_[at] != kNone) at = (at + 1) & mask();
      table_[at] = number;
    }
  }

  std::vector<char> bytes_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> table_, free_;
  std::size_t swept_ = 0;
};

}  // namespace slidefold::engine
