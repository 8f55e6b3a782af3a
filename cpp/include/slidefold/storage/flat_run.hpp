// A few items in order, in one block: what most keys of a large set hold.
//
// Layout: a block of `room` items, of which `count` from `first` on are there.
// Invariants: I1 first + count <= room. I2 no items, no block.
// Cost: 24 bytes when empty; append amortised O(1), insertion O(count), dropping the oldest O(1)
//   apart from their destruction.
// Paper: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace slidefold {

template <class Item>
class FlatRun {
 public:
  FlatRun() = default;
  FlatRun(const FlatRun& other) {
    if (other.count_ == 0) return;
    Block made(other.count_);
    std::uninitialized_copy(other.begin(), other.end(), made.items);
    items_ = made.release();
    room_ = count_ = other.count_;
  }
  FlatRun(FlatRun&& other) noexcept { swap(other); }
  FlatRun& operator=(FlatRun other) noexcept {
    swap(other);
    return *this;
  }
  ~FlatRun() { clear(); }

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Item* begin() { return items_ + first_; }
  Item* end() { return begin() + count_; }
  const Item* begin() const { return items_ + first_; }
  const Item* end() const { return begin() + count_; }
  Item& back() { return end()[-1]; }
  std::size_t bytes() const { return room_ * sizeof(Item); }

  void push_back(Item item) {
    if (first_ + count_ == room_) make_room();
    ::new (static_cast<void*>(end())) Item(std::move(item));
    ++count_;
  }

  // Before the item that is `at` from the first.
  void insert(std::size_t at, Item item) {
    push_back(std::move(item));
    std::rotate(begin() + at, end() - 1, end());
  }

  void drop_front(std::size_t number) {
    if (number == count_) return clear();
    std::destroy_n(begin(), number);
    first_ += static_cast<std::uint32_t>(number);
    count_ -= static_cast<std::uint32_t>(number);
  }
  void erase(std::size_t at) {
    std::rotate(begin(), begin() + at, begin() + at + 1);
    drop_front(1);
  }
  void clear() {
    std::destroy_n(begin(), count_);
    ::operator delete(items_);
    items_ = nullptr;
    first_ = count_ = room_ = 0;
  }

 private:
  struct Block {
    Item* items;
    explicit Block(std::size_t room)
        : items(static_cast<Item*>(::operator new(room * sizeof(Item)))) {}
    Block(const Block&) = delete;
    ~Block() { ::operator delete(items); }
    Item* release() { return std::exchange(items, nullptr); }
  };

  void make_room() {
    if (first_ > count_) {  // more than half of it is free in front
      std::uninitialized_move(begin(), end(), items_);
      std::destroy_n(begin(), count_);
      first_ = 0;
      return;
    }
    const std::uint32_t room = std::max<std::uint32_t>(2, count_ + count_ / 2);
    Block bigger(room);
    std::uninitialized_move(begin(), end(), bigger.items);
    std::destroy_n(begin(), count_);
    ::operator delete(items_);
    items_ = bigger.release();
    first_ = 0;
    room_ = room;
  }

  void swap(FlatRun& other) noexcept {
    std::swap(items_, other.items_);
    std::swap(first_, other.first_);
    std::swap(count_, other.count_);
    std::swap(room_, other.room_);
  }

  Item* items_ = nullptr;
  std::uint32_t first_ = 0, count_ = 0, room_ = 0;
};

}  // namespace slidefold
