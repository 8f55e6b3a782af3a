// The keys of an engine: some words each, and the slot that a key has as long as it holds rows.
//
// Layout: the words of all keys by slot, one after the other, the last of them a mask of nulls; a
//   table of slots with open addressing and linear probing; free slots in a heap, the lowest first,
//   so that the last ones become free in time.
// Invariants: I1 every used slot is in the table once, at or after its hash's place with no gap
//   between. I2 at most 3/4 of the table is used. I3 a slot is used or free, never both.
// Cost: find, add and remove O(words) on average; removal moves followers back, so there are no
//   graves.
// Paper: none.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <span>
#include <vector>

#include "slidefold/engine/part.hpp"
#include "slidefold/operators/hash.hpp"

namespace slidefold::engine {

using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = ~Slot{0};

class Keys {
 public:
  static constexpr std::size_t kFew = 256;  // slots that are not worth giving back

  explicit Keys(std::size_t words) : words_(words) {}

  std::size_t words() const { return words_; }
  std::size_t size() const { return used_; }
  std::size_t slots() const { return hashes_.size(); }
  bool live(Slot slot) const { return live_[slot] != 0; }
  std::span<const Word> key(Slot slot) const { return {keys_.data() + slot * words_, words_}; }
  std::size_t bytes() const {
    return keys_.capacity() * sizeof(Word) + (table_.capacity() + free_.capacity()) * sizeof(Slot) +
           hashes_.capacity() * sizeof(std::uint32_t) + live_.capacity();
  }

  Slot find(const Word* key) const {
    if (table_.empty()) return kNoSlot;
    const std::uint32_t hash = hash_of(key);
    for (std::size_t at = hash & mask();; at = next(at)) {
      const Slot slot = table_[at];
      if (slot == kNoSlot || (hashes_[slot] == hash && equal(slot, key))) return slot;
    }
  }
  // The slot of a key, which may be new.
  Slot add(const Word* key) {
    if (4 * (used_ + 1) > 3 * table_.size()) grow();
    const std::uint32_t hash = hash_of(key);
    std::size_t at = hash & mask();
    for (; table_[at] != kNoSlot; at = next(at)) {
      const Slot slot = table_[at];
      if (hashes_[slot] == hash && equal(slot, key)) return slot;
    }
    auto slot = static_cast<Slot>(hashes_.size());
    if (free_.empty()) {
      keys_.insert(keys_.end(), key, key + words_);
      hashes_.push_back(hash);
      live_.push_back(1);
    } else {
      std::pop_heap(free_.begin(), free_.end(), std::greater<>());
      slot = free_.back();
      free_.pop_back();
      std::copy(key, key + words_, keys_.begin() + static_cast<std::ptrdiff_t>(slot * words_));
      hashes_[slot] = hash;
      live_[slot] = 1;
    }
    table_[at] = slot;
    ++used_;
    return slot;
  }
  void remove(Slot slot) {
    free_.push_back(slot);
    std::push_heap(free_.begin(), free_.end(), std::greater<>());
    std::size_t hole = hashes_[slot] & mask();
    while (table_[hole] != slot) hole = next(hole);
    for (std::size_t at = next(hole); table_[at] != kNoSlot; at = next(at)) {
      const std::size_t home = hashes_[table_[at]] & mask();
      // It may move back if its home does not lie between the hole and itself.
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      table_[hole] = table_[at];
      hole = at;
    }
    table_[hole] = kNoSlot;
    live_[slot] = 0;
    --used_;
    ++removed_;
  }
  // Gives the memory of the last slots back if none of them is used and they are most of all.
  // Without `always` it looks only after an eighth of the slots was freed, or all were. Tells
  // whether there are fewer slots now.
  bool trim(bool always) {
    if (slots() < kFew || (!always && used_ > 0 && 8 * removed_ < slots())) return false;
    removed_ = 0;
    const auto last = std::find(live_.rbegin(), live_.rend(), 1);
    const auto left = static_cast<std::size_t>(live_.rend() - last);
    if (left > slots() / 2) return false;
    keys_.resize(left * words_);
    hashes_.resize(left);
    live_.resize(left);
    std::erase_if(free_, [&](Slot slot) { return slot >= left; });
    std::make_heap(free_.begin(), free_.end(), std::greater<>());
    keys_.shrink_to_fit();
    hashes_.shrink_to_fit();
    live_.shrink_to_fit();
    free_.shrink_to_fit();
    rebuild(std::bit_ceil(std::max<std::size_t>(16, 2 * used_)));
    return true;
  }

  void check() const {
    std::size_t found = 0;
    for (const Slot slot : table_) {
      if (slot == kNoSlot) continue;
      ++found;
      require(slot < slots() && live(slot), "keys I3: a slot in the table is used");
      require(find(key(slot).data()) == slot, "keys I1: a key is found where it is");
    }
    require(found == used_, "keys I1: every used slot is in the table once");
    require(4 * used_ <= 3 * table_.size(), "keys I2: the table is not too full");
    require(free_.size() + used_ == slots(), "keys I3: a slot is used or free");
  }

 private:
  std::size_t mask() const { return table_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  std::uint32_t hash_of(const Word* key) const {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < words_; ++i) hash = mix64(hash ^ key[i]);
    return static_cast<std::uint32_t>(hash);
  }
  bool equal(Slot slot, const Word* key) const {
    return std::equal(key, key + words_,
                      keys_.begin() + static_cast<std::ptrdiff_t>(slot * words_));
  }
  void grow() { rebuild(std::max<std::size_t>(16, 2 * table_.size())); }
  void rebuild(std::size_t room) {
    std::vector<Slot> before(room, kNoSlot);
    table_.swap(before);
    for (const Slot slot : before) {
      if (slot == kNoSlot) continue;
      std::size_t at = hashes_[slot] & mask();
      while (table_[at] != kNoSlot) at = next(at);
      table_[at] = slot;
    }
  }

  std::size_t words_;
  std::vector<Word> keys_;
  std::vector<std::uint32_t> hashes_;
  std::vector<std::uint8_t> live_;
  std::vector<Slot> table_, free_;
  std::size_t used_ = 0;
  std::size_t removed_ = 0;  // since trim() has looked
};

// Groups the rows of a batch by slot; within a slot rows keep their order.
class Groups {
 public:
  void group(std::span<const Slot> slots) {
    ++batch_;
    touched_.clear();
    starts_.clear();
    for (const Slot slot : slots) {
      if (slot == kNoSlot) continue;
      if (slot >= seen_.size()) seen_.resize(std::max<std::size_t>(slot + 1, 2 * seen_.size()));
      if (seen_[slot].batch != batch_) {
        seen_[slot] = {batch_, static_cast<std::uint32_t>(touched_.size())};
        touched_.push_back(slot);
        starts_.push_back(0);
      }
      ++starts_[seen_[slot].group];
    }
    std::uint32_t total = 0;
    for (std::uint32_t& start : starts_) start = std::exchange(total, total + start);
    starts_.push_back(total);
    rows_.resize(total);
    ends_.assign(starts_.begin(), starts_.end());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] == kNoSlot) continue;
      rows_[ends_[seen_[slots[i]].group]++] = static_cast<std::uint32_t>(i);
    }
  }
  // Gives the memory that follows the number of slots back.
  void trim() { seen_ = {}; }
  std::size_t size() const { return touched_.size(); }
  Slot slot(std::size_t g) const { return touched_[g]; }
  std::span<std::uint32_t> rows(std::size_t g) {
    return {rows_.data() + starts_[g], rows_.data() + starts_[g + 1]};
  }

 private:
  struct Seen {
    std::uint32_t batch = 0, group = 0;
  };
  std::vector<Seen> seen_;
  std::vector<Slot> touched_;
  std::vector<std::uint32_t> starts_, ends_, rows_;
  std::uint32_t batch_ = 0;
};

}  // namespace slidefold::engine
