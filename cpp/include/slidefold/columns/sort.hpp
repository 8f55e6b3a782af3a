// The stable order of rows by group and time.
//
// Layout: times by least significant digits first, 11 bits a pass, over (key, row) pairs; digits
//   above the largest difference take no pass. Groups are small numbers, so that one pass of
//   counting puts rows in their places.
// Invariants: I1 after a pass the rows are in the order of the digits so far.
// Cost: O(rows) a pass: none if the rows are in order, that of the groups alone if times are.
// Paper: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/interrupt.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold {

// Rows with their times and, if there are any, their groups, numbered below `count`.
struct GroupedTimes {
  std::size_t rows = 0;
  const std::int64_t* times = nullptr;
  const std::int32_t* groups = nullptr;
  std::size_t count = 0;

  bool in_order() const {
    for (std::size_t i = 1; i < rows; ++i) {
      if (groups != nullptr && groups[i] != groups[i - 1]) {
        if (groups[i] < groups[i - 1]) return false;
      } else if (times[i] < times[i - 1]) {
        return false;
      }
    }
    return true;
  }

  // starts[g] is the first row of group g in order, starts[count] the number of rows.
  void count_groups(std::int64_t* starts) const {
    std::fill(starts, starts + count + 1, 0);
    for (std::size_t i = 0; i < rows; ++i) ++starts[groups[i] + 1];
    for (std::size_t g = 0; g < count; ++g) starts[g + 1] += starts[g];
  }
};

// The rows in the stable order of their times, or whatever they are; empty if they are in it.
inline std::vector<std::uint32_t> order_of(const std::int64_t* times, std::size_t rows) {
  if (std::is_sorted(times, times + rows)) return {};
  struct Pair {
    std::uint64_t key;
    std::uint32_t row;
  };
  constexpr unsigned kBits = 11;
  constexpr std::uint64_t kMask = (1u << kBits) - 1;
  const auto [least, most] = std::minmax_element(times, times + rows);
  const auto above = [least = static_cast<std::uint64_t>(*least)](std::int64_t time) {
    return static_cast<std::uint64_t>(time) - least;
  };
  const std::uint64_t widest = above(*most);
  Buffer<Pair> from(rows), to(rows);
  in_blocks(0, rows,
            [&](std::size_t i) { from[i] = {above(times[i]), static_cast<std::uint32_t>(i)}; });
  for (unsigned shift = 0; shift < 64 && (widest >> shift) != 0; shift += kBits) {
    std::vector<std::uint32_t> places(kMask + 1);
    in_blocks(0, rows, [&](std::size_t i) { ++places[(from[i].key >> shift) & kMask]; });
    std::uint32_t total = 0;
    for (std::uint32_t& place : places) total += std::exchange(place, total);
    in_blocks(0, rows,
              [&](std::size_t i) { to[places[(from[i].key >> shift) & kMask]++] = from[i]; });
    from.swap(to);
  }
  std::vector<std::uint32_t> order(rows);
  in_blocks(0, rows, [&](std::size_t i) { order[i] = from[i].row; });
  return order;
}

// Writes the rows in order and their times; `starts` as count_groups made them. places[i] is where
// row i of the input is in order.
inline void sort_rows(const GroupedTimes& given, const std::int64_t* starts, std::uint32_t* order,
                      std::uint32_t* places, std::int64_t* in_order) {
  const std::vector<std::uint32_t> by_time = order_of(given.times, given.rows);
  std::vector<std::uint32_t> next;
  if (given.groups != nullptr) next.assign(starts, starts + given.count);
  in_blocks(0, given.rows, [&](std::size_t i) {
    const std::uint32_t row = by_time.empty() ? static_cast<std::uint32_t>(i) : by_time[i];
    const std::uint32_t place = given.groups == nullptr
                                    ? static_cast<std::uint32_t>(i)
                                    : next[static_cast<std::size_t>(given.groups[row])]++;
    order[place] = row;
    places[row] = place;
    in_order[place] = given.times[row];
  });
}

// Numbers keys from 0 in order of first appearance, if they lie so close together that a table of
// all between them pays; returns how many there are, 0 if they do not.
inline std::size_t number_keys(const std::int64_t* keys, std::size_t rows, std::int32_t* numbers) {
  if (rows == 0) return 0;
  const auto [least, most] = std::minmax_element(keys, keys + rows);
  const std::uint64_t first = static_cast<std::uint64_t>(*least);
  const std::uint64_t width = static_cast<std::uint64_t>(*most) - first;
  if (width >= 2 * rows + 1024) return 0;
  std::vector<std::int32_t> number(width + 1, -1);
  std::int32_t count = 0;
  in_blocks(0, rows, [&](std::size_t i) {
    std::int32_t& own = number[static_cast<std::uint64_t>(keys[i]) - first];
    if (own < 0) own = count++;
    numbers[i] = own;
  });
  return static_cast<std::size_t>(count);
}

}  // namespace slidefold
