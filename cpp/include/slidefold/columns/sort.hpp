// The stable order of rows by group and time.
//
// Layout: least significant digits first, 11 bits a pass, over (key, row) pairs; digits that all
//   keys share take no pass. Times come first, then groups.
// Invariants: I1 after a pass the rows are in the order of the digits so far.
// Cost: O(rows) a pass: none if the rows are in order, those of the groups alone if times are.
// Paper: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace slidefold {

class RowSort {
 public:
  explicit RowSort(std::size_t rows) : rows_(rows) {}

  // Sorts what is there so far by one more key, the most significant one yet.
  void by(const std::int64_t* keys) {
    if (in_order(keys)) return;
    std::uint64_t varying = 0;
    const auto turned = [&](std::size_t row) {  // so that negative ones come first
      return static_cast<std::uint64_t>(keys[row]) ^ (std::uint64_t{1} << 63);
    };
    for (std::size_t i = 1; i < rows_; ++i) varying |= turned(i) ^ turned(0);
    std::vector<Pair> from(rows_), to(rows_);
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::uint32_t row = order_.empty() ? static_cast<std::uint32_t>(i) : order_[i];
      from[i] = {turned(row), row};
    }
    for (unsigned shift = 0; shift < 64; shift += kBits) {
      if (((varying >> shift) & kMask) == 0) continue;
      std::array<std::size_t, kMask + 1> places{};
      for (const Pair& pair : from) ++places[(pair.key >> shift) & kMask];
      std::size_t total = 0;
      for (std::size_t& place : places) total += std::exchange(place, total);
      for (const Pair& pair : from) to[places[(pair.key >> shift) & kMask]++] = pair;
      from.swap(to);
    }
    order_.resize(rows_);
    for (std::size_t i = 0; i < rows_; ++i) order_[i] = from[i].row;
  }

  // Empty if the rows are in order as they are.
  const std::vector<std::uint32_t>& order() const { return order_; }

 private:
  static constexpr unsigned kBits = 11;
  static constexpr std::uint64_t kMask = (1u << kBits) - 1;
  struct Pair {
    std::uint64_t key;
    std::uint32_t row;
  };

  bool in_order(const std::int64_t* keys) const {
    for (std::size_t i = 1; i < rows_; ++i) {
      if (order_.empty() ? keys[i] < keys[i - 1] : keys[order_[i]] < keys[order_[i - 1]]) {
        return false;
      }
    }
    return true;
  }

  std::size_t rows_;
  std::vector<std::uint32_t> order_;
};

}  // namespace slidefold
