// A queue in a power-of-two ring, for sizes that are known or growth that may be amortised.
//
// Layout: `slots_` of 2^k states; a cursor is an absolute 64-bit position, its slot is
//   position & (2^k - 1). Elements live at [first_, last_).
// Invariants: I1 last_ - first_ <= slots. I2 slots outside the elements hold State{} unless a
//   transaction is open. I3 the journal holds elements that the transaction found, none it pushed.
// Cost: every operation O(1), what grows or shrinks it amortised (a doubling or halving copy); a
//   ring is halved when less than a quarter of it is used, but never below what was reserved or
//   below 64 slots.
//   Dropping many O(1) unless they own something.
// Paper: none; the deque of daba-in-order, Definition 4, where amortised growth is allowed.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold {

template <class T, bool kUndo = false>
class Ring {
 public:
  using Cursor = std::uint64_t;

  Cursor first() const { return first_; }
  Cursor last() const { return last_; }
  static Cursor next(Cursor at) { return at + 1; }
  static Cursor prev(Cursor at) { return at - 1; }
  std::size_t size() const { return static_cast<std::size_t>(last_ - first_); }
  bool empty() const { return first_ == last_; }
  std::size_t bytes() const { return slots_.size() * sizeof(T); }

  const T& operator[](Cursor at) const { return slots_[at & mask_]; }
  const T& front() const { return (*this)[first_]; }
  const T& back() const { return (*this)[last_ - 1]; }

  // The cursor of the i-th oldest element, and back.
  Cursor at(std::size_t rank) const { return first_ + rank; }
  std::size_t rank(Cursor at) const { return static_cast<std::size_t>(at - first_); }

  // Room that stays.
  void reserve(std::size_t count) {
    least_ = std::max(least_, std::bit_ceil(count));
    if (slots_.size() < count) resize(std::bit_ceil(std::max(count, kSmallest)));
  }
  // So that the next push_back does not fail.
  void make_room() {
    if (last_ - held_from() == slots_.size()) grow();
  }

  void set(Cursor at, T value) {
    T& slot = slots_[at & mask_];
    if constexpr (kUndo) {
      if (open_ && at < saved_last_) journal_.emplace_back(at, std::move(slot));
    }
    slot = std::move(value);
  }

  void push_back(T value) {
    make_room();
    slots_[last_ & mask_] = std::move(value);
    ++last_;
  }

  void pop_front() {
    if constexpr (kUndo) {
      if (open_) {
        ++first_;
        return;
      }
    }
    release(first_++);
    if (sparse()) shrink();
  }

  void drop_front(std::size_t count) {
    const Cursor until = first_ + count;
    if constexpr (!std::is_trivially_destructible_v<T>) {
      while (first_ < until) pop_front();
    }
    first_ = until;
    while (shrink()) continue;
  }

  void pop_back() {
    --last_;
    if constexpr (kUndo) {
      if (open_ && last_ < saved_last_) {
        journal_.emplace_back(last_, std::move(slots_[last_ & mask_]));
        slots_[last_ & mask_] = T{};
        return;
      }
    }
    release(last_);
  }

  void clear() {
    while (!empty()) pop_front();
  }

  // Halves a ring that is less than a quarter full, unless a transaction is open; says whether it
  // did. `used` counts elements that it may soon hold as well.
  bool shrink(std::size_t used = 0) {
    if (open_ || !sparse() || 4 * used >= slots_.size()) return false;
    try {
      resize(slots_.size() / 2);
    } catch (const std::bad_alloc&) {  // no memory to make it smaller: it stays as it is
      return false;
    }
    return true;
  }

  // Calls visit(element) for all elements.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (Cursor at = first_; at != last_; ++at) visit(slots_[at & mask_]);
  }

  // Empties the ring; its next element will be at this position.
  void restart(Cursor first) {
    *this = Ring();
    first_ = last_ = first;
  }

  // Saves or loads the elements and where they lie; visit(element) does so for one of them.
  template <class Archive, class Visit>
  void archive(Archive& a, const Visit& visit) {
    const std::size_t count = a.length(size());
    Cursor first = first_;
    a(first);
    if constexpr (Archive::kLoading) {
      expect_position(first);
      restart(first);
      for (std::size_t i = 0; i < count; ++i) {
        T value{};
        visit(value);
        push_back(std::move(value));
      }
    } else {
      for (Cursor at = first_; at != last_; ++at) visit(slots_[at & mask_]);
    }
  }

  // A transaction: until commit, every change can be taken back.
  void begin() {
    open_ = true;
    saved_first_ = first_;
    saved_last_ = last_;
  }

  // `used` as for shrink.
  void commit(std::size_t used = 0) {
    for (Cursor at = saved_first_; at < first_; ++at) release(at);
    close();
    if (sparse()) shrink(used);
  }

  void rollback() {
    for (auto entry = journal_.rbegin(); entry != journal_.rend(); ++entry) {
      if (entry->first < saved_last_) slots_[entry->first & mask_] = std::move(entry->second);
    }
    for (Cursor at = saved_last_; at < last_; ++at) release(at);
    first_ = saved_first_;
    last_ = saved_last_;
    close();
  }

 private:
  static constexpr std::size_t kSmallest = 8, kFew = 64;

  bool sparse() const { return slots_.size() > least_ && 4 * size() < slots_.size(); }

  Cursor held_from() const {
    if constexpr (kUndo) {
      if (open_) return saved_first_;
    }
    return first_;
  }

  void release(Cursor at) {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      slots_[at & mask_] = T{};
    } else {
      (void)at;
    }
  }

  void grow() { resize(slots_.empty() ? kSmallest : slots_.size() * 2); }

  void resize(std::size_t count) {
    Buffer<T> slots(count);
    const Cursor mask = count - 1;
    for (Cursor at = held_from(); at < last_; ++at) {
      slots[at & mask] = std::move(slots_[at & mask_]);
    }
    slots_.swap(slots);
    mask_ = mask;
  }

  void close() {
    open_ = false;
    journal_.clear();
  }

  Buffer<T> slots_;
  std::size_t least_ = kFew;  // slots that stay
  Cursor mask_ = 0;
  Cursor first_ = 0;
  Cursor last_ = 0;
  bool open_ = false;
  Cursor saved_first_ = 0;
  Cursor saved_last_ = 0;
  std::vector<std::pair<Cursor, T>> journal_;
};

}  // namespace slidefold
