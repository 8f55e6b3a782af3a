// Values that do not fit a word, each kept once: a word is the address of a Text.
//
// Layout: a Text is its hash, its length and its bytes, in memory of its own; a table of addresses
//   with open addressing finds it.
// Invariants: I1 a value has one address as long as somebody marks it. I2 the table is at most half
//   full.
// Cost: add O(length). A sweep, which forgets what nobody has marked, O(all); whoever sweeps when
//   the pool has doubled pays O(1) per value. Whoever has a word reads its text without the pool.
// Paper: none.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <vector>

#include "slidefold/engine/part.hpp"
#include "slidefold/operators/hash.hpp"

namespace slidefold::engine {

struct Text {
  std::uint64_t hash;
  std::uint32_t length;
  bool marked;

  std::string_view view() const { return {reinterpret_cast<const char*>(this + 1), length}; }
};

inline Text* text_at(Word word) { return reinterpret_cast<Text*>(word); }
inline std::string_view text_of(Word word) { return text_at(word)->view(); }

class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  ~Pool() {
    for (Text* text : table_) std::free(text);
  }

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return bytes_ + table_.capacity() * sizeof(Text*); }

  Word add(std::string_view value) {
    if (2 * (size_ + 1) > table_.size()) rehash(std::max<std::size_t>(16, 2 * table_.size()));
    const std::uint64_t hash = hash_bytes(value);
    std::size_t at = hash & mask();
    for (; table_[at] != nullptr; at = (at + 1) & mask()) {
      if (table_[at]->hash == hash && table_[at]->view() == value) break;
    }
    if (table_[at] == nullptr) {
      void* const room = std::malloc(sizeof(Text) + value.size());
      if (room == nullptr) throw std::bad_alloc();
      table_[at] = ::new (room) Text{hash, static_cast<std::uint32_t>(value.size()), false};
      if (!value.empty()) std::memcpy(table_[at] + 1, value.data(), value.size());
      bytes_ += sizeof(Text) + value.size();
      ++size_;
    }
    return reinterpret_cast<Word>(table_[at]);
  }

  // Whether the pool has grown enough since the last sweep that another one is worth it.
  bool wants_sweep() const { return size_ > 2 * swept_ + 1024; }
  // Much of what is here is no longer needed, so that the next sweep is worth it.
  void expect_fewer() { swept_ = 0; }
  static void mark(Word word) { text_at(word)->marked = true; }
  // Forgets the values that were not marked since the last sweep.
  void sweep() {
    for (Text*& text : table_) {
      if (text == nullptr) continue;
      if (text->marked) {
        text->marked = false;
        continue;
      }
      bytes_ -= sizeof(Text) + text->length;
      --size_;
      std::free(text);
      text = nullptr;
    }
    swept_ = size_;
    std::size_t room = 16;
    while (room < 2 * (size_ + 1)) room *= 2;
    rehash(room);
  }

  void check() const {
    std::size_t found = 0;
    for (const Text* text : table_) found += text != nullptr ? 1 : 0;
    require(found == size_, "pool I1: every value is in the table");
    require(2 * found <= table_.size() || found == 0, "pool I2: the table is at most half full");
  }

 private:
  std::size_t mask() const { return table_.size() - 1; }

  void rehash(std::size_t room) {
    std::vector<Text*> old(room, nullptr);
    table_.swap(old);
    for (Text* text : old) {
      if (text == nullptr) continue;
      std::size_t at = text->hash & mask();
      while (table_[at] != nullptr) at = (at + 1) & mask();
      table_[at] = text;
    }
  }

  std::vector<Text*> table_;
  std::size_t size_ = 0, swept_ = 0, bytes_ = 0;
};

}  // namespace slidefold::engine
