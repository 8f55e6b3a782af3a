// Keys and their slots: small numbers that stay the same while the key is there.
//
// Layout: a table of slots, open addressing with linear probing; keys and hashes lie by slot, free
//   slots in a list.
// Invariants: I1 every used slot is in the table once, at or after its hash's place with no gap
//   between. I2 at most 3/4 of the table is used. I3 a slot is used or free, never both.
// Cost: find, add and remove O(1) on average; removal moves followers back, so there are no graves.
//   Free slots keep their room until compact() is called; where it is called whenever sparse() says
//   so, that is amortised O(1) a removal.
// Paper: none.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"

namespace slidefold {

using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = ~Slot{0};

// Hash is called with a View, and gives 64 well mixed bits.
template <class Key, class View, class Hash>
class KeyTable {
 public:
  std::size_t size() const { return used_; }
  std::size_t slots() const { return keys_.size(); }  // used and free ones
  const Key& key(Slot slot) const { return keys_[slot]; }
  bool live(Slot slot) const { return live_[slot] != 0; }

  Slot find(View key) const {
    if (table_.empty()) return kNoSlot;
    const auto hash = static_cast<std::uint32_t>(Hash{}(key));
    for (std::size_t at = place(hash);; at = next(at)) {
      const Slot slot = table_[at];
      if (slot == kNoSlot || (hashes_[slot] == hash && keys_[slot] == key)) return slot;
    }
  }

  // The slot of a key, and whether it is new.
  std::pair<Slot, bool> add(View key) {
    if (4 * (used_ + 1) > 3 * table_.size()) grow();
    const auto hash = static_cast<std::uint32_t>(Hash{}(key));
    std::size_t at = place(hash);
    for (; table_[at] != kNoSlot; at = next(at)) {
      const Slot slot = table_[at];
      if (hashes_[slot] == hash && keys_[slot] == key) return {slot, false};
    }
    Slot slot = static_cast<Slot>(keys_.size());
    if (free_.empty()) {
      keys_.emplace_back(key);
      hashes_.push_back(hash);
      live_.push_back(1);
    } else {
      slot = free_.back();
      keys_[slot] = Key(key);
      free_.pop_back();
      hashes_[slot] = hash;
      live_[slot] = 1;
    }
    table_[at] = slot;
    ++used_;
    return {slot, true};
  }

  void remove(Slot slot) {
    std::size_t hole = place(hashes_[slot]);
    while (table_[hole] != slot) hole = next(hole);
    free_.push_back(slot);
    for (std::size_t at = next(hole); table_[at] != kNoSlot; at = next(at)) {
      const std::size_t home = place(hashes_[table_[at]]);
      // It may move back if its home is not between the hole and itself.
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      table_[hole] = table_[at];
      hole = at;
    }
    table_[hole] = kNoSlot;
    keys_[slot] = Key{};
    live_[slot] = 0;
    --used_;
  }

  // Whether most slots are free, and there are many.
  bool sparse() const { return slots() > kFew && 4 * used_ < slots(); }

  // Numbers the keys anew, in the order of their slots, and gives back what is not needed then. The
  // result is the new slot of each old one, kNoSlot if that was free.
  std::vector<Slot> compact() {
    KeyTable fresh;  // all memory first: nothing is lost where there is none
    fresh.keys_.reserve(used_);
    fresh.hashes_.reserve(used_);
    fresh.live_.assign(used_, 1);
    if (used_ > 0) {
      fresh.table_.assign(std::max<std::size_t>(16, std::bit_ceil(2 * used_)), kNoSlot);
    }
    std::vector<Slot> moved(slots(), kNoSlot);
    for (std::size_t slot = 0; slot < slots(); ++slot) {
      if (live_[slot] == 0) continue;
      moved[slot] = static_cast<Slot>(fresh.keys_.size());
      fresh.keys_.push_back(std::move(keys_[slot]));
      fresh.hashes_.push_back(hashes_[slot]);
    }
    fresh.used_ = used_;
    fresh.fill_table();
    *this = std::move(fresh);
    return moved;
  }

  std::size_t bytes() const {
    std::size_t total = table_.capacity() * sizeof(Slot) + free_.capacity() * sizeof(Slot) +
                        keys_.capacity() * sizeof(Key) + hashes_.capacity() * 4 + live_.capacity();
    if constexpr (std::is_same_v<Key, std::string>) {
      for (const Key& key : keys_) total += key.capacity() > 15 ? key.capacity() + 1 : 0;
    }
    return total;
  }

  void check() const {
    std::size_t found = 0;
    for (std::size_t at = 0; at < table_.size(); ++at) {
      const Slot slot = table_[at];
      if (slot == kNoSlot) continue;
      ++found;
      require(slot < keys_.size() && live(slot), "keys I3: a slot in the table is used");
      require(find(keys_[slot]) == slot, "keys I1: a key is found where it is");
    }
    require(found == used_, "keys I1: every used slot is in the table once");
    require(4 * used_ <= 3 * table_.size(), "keys I2: the table is not too full");
    require(free_.size() + used_ == keys_.size(), "keys I3: a slot is used or free");
    for (const Slot slot : free_) require(!live(slot), "keys I3: a free slot is not used");
  }

 private:
  std::size_t mask() const { return table_.size() - 1; }
  std::size_t place(std::uint32_t hash) const { return hash & mask(); }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }

  static constexpr std::size_t kFew = 64;

  void grow() {
    table_ = std::vector<Slot>(std::max<std::size_t>(16, 2 * table_.size()), kNoSlot);
    fill_table();
  }

  void fill_table() {
    for (std::size_t slot = 0; slot < slots(); ++slot) {
      if (live_[slot] == 0) continue;
      std::size_t at = place(hashes_[slot]);
      while (table_[at] != kNoSlot) at = next(at);
      table_[at] = static_cast<Slot>(slot);
    }
  }

  std::vector<Slot> table_;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> hashes_;
  std::vector<std::uint8_t> live_;
  std::vector<Slot> free_;
  std::size_t used_ = 0;
};

}  // namespace slidefold
