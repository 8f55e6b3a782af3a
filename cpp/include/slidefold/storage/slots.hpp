// An array whose changes can be taken back.
//
// Layout: `items_`; while a transaction is open also a journal of overwritten items and, once the
//   whole array was replaced, the array as it was before.
// Invariants: I1 the journal belongs to the array that the transaction found: after a replacement
//   nothing is journalled any more.
// Cost: every operation O(1), rollback O(changes).
// Paper: none.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace slidefold {

template <class T, bool kUndo = false>
class Slots {
 public:
  explicit Slots(std::size_t count) : items_(count) {}

  std::size_t size() const { return items_.size(); }
  std::size_t bytes() const { return items_.capacity() * sizeof(T); }
  const T& operator[](std::size_t i) const { return items_[i]; }

  void set(std::size_t i, T value) {
    if constexpr (kUndo) {
      if (open_ && !replaced_) journal_.emplace_back(i, std::move(items_[i]));
    }
    items_[i] = std::move(value);
  }

  // The item is not needed any more: what it owns is released.
  void clear(std::size_t i) {
    if constexpr (!std::is_trivially_destructible_v<T>) set(i, T{});
  }

  // The item, for its new place in this array or in the one that replaces it.
  T take(std::size_t i) {
    if constexpr (kUndo) {
      return items_[i];
    } else {
      return std::move(items_[i]);
    }
  }

  void replace(std::vector<T> items) {
    items_.swap(items);
    if constexpr (kUndo) {
      if (open_ && !std::exchange(replaced_, true)) kept_.swap(items);
    }
  }

  // Calls visit(item) for all items.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const T& item : items_) visit(item);
  }

  // A transaction: until commit, every change can be taken back.
  void begin() { open_ = true; }
  void commit() { close(); }
  void rollback() {
    if (replaced_) items_.swap(kept_);
    for (auto entry = journal_.rbegin(); entry != journal_.rend(); ++entry) {
      items_[entry->first] = std::move(entry->second);
    }
    close();
  }

 private:
  void close() {
    open_ = replaced_ = false;
    journal_.clear();
    kept_ = std::vector<T>();  // {} would keep its memory
  }

  std::vector<T> items_;
  bool open_ = false;
  bool replaced_ = false;
  std::vector<T> kept_;
  std::vector<std::pair<std::size_t, T>> journal_;
};

}  // namespace slidefold
