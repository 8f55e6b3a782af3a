// The rows of a batch by slot and time.
//
// Layout: the slots of the batch in order of appearance; rows lie group after group, `starts_`
// tells
//   where each begins. Every slot ever seen knows the last batch that it was in, and its group
//   there.
// Invariants: I1 a slot is in the batch exactly if its mark has the batch's number.
// Cost: O(rows) by counting, and O(g log g) for a group of g rows that is not in time order; 8
// bytes
//   a slot. Room of a batch is used again unless it is far larger than the next one.
// Paper: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/interrupt.hpp"
#include "slidefold/storage/key_table.hpp"

namespace slidefold {

class BatchGroups {
 public:
  // The slots of the last batch.
  const std::vector<Slot>& slots() const { return touched_; }
  bool holds(Slot slot) const { return slot < marks_.size() && marks_[slot].batch == batch_; }

  // The rows of the g-th of them, in time order.
  const std::uint32_t* first(std::size_t g) const { return order_.data() + starts_[g]; }
  const std::uint32_t* last(std::size_t g) const { return order_.data() + starts_[g + 1]; }

  std::size_t bytes() const {
    return marks_.capacity() * sizeof(Mark) + touched_.capacity() * sizeof(Slot) +
           order_.capacity() * sizeof(std::uint32_t) +
           (starts_.capacity() + cursors_.capacity()) * sizeof(std::size_t);
  }

  // Rows of kNoSlot are left out. May be stopped by poll(): forget() comes next then.
  template <class Time>
  void group(const std::vector<Slot>& slots, const std::vector<Time>& times) {
    const std::size_t rows = slots.size();
    if (order_.capacity() > 8 * rows + kRoom) forget();
    next_number();
    touched_.clear();
    starts_.clear();
    Pacer pace;
    for (std::size_t i = 0; i < rows; ++i) {
      pace();
      const Slot slot = slots[i];
      if (slot == kNoSlot) continue;
      if (slot >= marks_.size()) marks_.resize(static_cast<std::size_t>(slot) + 1);
      Mark& mark = marks_[slot];
      if (mark.batch != batch_) {
        mark = {batch_, static_cast<std::uint32_t>(touched_.size())};
        touched_.push_back(slot);
        starts_.push_back(0);
      }
      ++starts_[mark.group];
    }
    std::size_t total = 0;
    for (std::size_t& start : starts_) total += std::exchange(start, total);
    starts_.push_back(total);
    order_.resize(total);
    cursors_.assign(starts_.begin(), starts_.end());
    for (std::size_t i = 0; i < rows; ++i) {
      pace();
      if (slots[i] == kNoSlot) continue;
      order_[cursors_[marks_[slots[i]].group]++] = static_cast<std::uint32_t>(i);
    }
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
      pace();
      return times[a] < times[b];
    };
    for (std::size_t g = 0; g < touched_.size(); ++g) {
      const auto from = order_.begin() + static_cast<std::ptrdiff_t>(starts_[g]);
      const auto to = order_.begin() + static_cast<std::ptrdiff_t>(starts_[g + 1]);
      if (!std::is_sorted(from, to, earlier)) std::stable_sort(from, to, earlier);
    }
  }

  // There is no batch any more, and no room for one.
  void forget() {
    next_number();
    touched_ = std::vector<Slot>();  // {} would keep its memory
    starts_ = cursors_ = std::vector<std::size_t>();
    order_ = std::vector<std::uint32_t>();
  }
  // The same, and slots have other numbers.
  void restart() { *this = BatchGroups(); }

 private:
  static constexpr std::size_t kRoom = std::size_t{1} << 14;  // rows
  struct Mark {
    std::uint32_t batch = 0;  // the last one that the slot was in,
    std::uint32_t group = 0;  // and its group there
  };

  void next_number() {
    if (++batch_ != 0) return;
    for (Mark& mark : marks_) mark.batch = 0;  // all numbers are used up: begin again
    batch_ = 1;
  }

  std::uint32_t batch_ = 1;  // no slot has it before the first batch
  std::vector<Mark> marks_;  // by slot
  std::vector<Slot> touched_;
  std::vector<std::size_t> starts_, cursors_;
  std::vector<std::uint32_t> order_;
};

}  // namespace slidefold
