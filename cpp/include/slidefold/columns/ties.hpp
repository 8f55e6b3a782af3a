// Rows of equal time, put in order where they stand.
//
// Layout: the places of all rows that have peers, and where each run of peers starts among them.
//   They are sorted run by run by one key; rows still equal form shorter runs for the next key.
// Invariants: I1 a run has two rows or more. I2 the sort is stable.
// Cost: one pass over the times, 64 comparisons a word, and O(n log n) in the rows of each run;
// rows without peers are not
//   looked at again.
// Paper: none.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "slidefold/columns/window_frames.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold {

// Rows with peers, by their places; run r is rows[runs[r]] to rows[runs[r + 1]].
struct TiedRows {
  std::vector<std::uint32_t> rows, runs;
};

// Whether the times of each group never decrease, and if so, whether any two of them are equal.
// `ties`: the rows that have peers are added to it.
inline bool scan_times(const SortedTimes& sorted, bool& peers, TiedRows* ties = nullptr,
                       bool wide = wide_times()) {
  const std::int64_t* const times = sorted.times;
  bool falls = false;
  peers = false;
  RowPoll polled;
  for (std::size_t g = 0; g < sorted.groups; ++g) {
    const std::size_t end = sorted.start(g + 1);
    std::size_t after = end;  // one past the last row of the run so far
    for (std::size_t row = sorted.start(g); row + 1 < end; row += kEqualRows) {
      polled(kEqualRows);
      std::uint64_t equal = equal_times(times + row, end - 1 - row, falls, wide);
      if (falls) return false;
      if (equal == 0) continue;
      peers = true;
      if (ties == nullptr) continue;
      for (; equal != 0; equal &= equal - 1) {
        const auto tied =
            static_cast<std::uint32_t>(row) + static_cast<std::uint32_t>(std::countr_zero(equal));
        if (tied + 1 != after) {
          ties->runs.push_back(static_cast<std::uint32_t>(ties->rows.size()));
          ties->rows.push_back(tied);
        }
        ties->rows.push_back(tied + 1);
        after = tied + 2;
      }
    }
  }
  if (ties != nullptr) ties->runs.push_back(static_cast<std::uint32_t>(ties->rows.size()));
  return true;
}

// The order of rows by their keys within runs, and the runs of those that are still equal: as
// indices among the rows that were given.
struct OrderedTies {
  std::vector<std::uint32_t> order;
  TiedRows equal;
  bool moved = false;
};

inline OrderedTies order_ties(const std::int64_t* keys, const std::uint32_t* runs,
                              std::size_t count) {
  OrderedTies found;
  found.order.resize(count == 0 ? 0 : runs[count]);
  std::uint32_t* const order = found.order.data();
  std::iota(order, order + found.order.size(), 0u);
  Pacer pace;
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    pace();
    return keys[a] < keys[b];
  };
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t first = runs[r], last = runs[r + 1];
    if (last - first == 2) {
      const std::int64_t a = keys[first], b = keys[first + 1];
      const bool swap = b < a;
      order[first] += swap;
      order[first + 1] -= swap;
      found.moved |= swap;
      if (a != b) continue;
    } else if (!std::is_sorted(order + first, order + last, before)) {
      std::stable_sort(order + first, order + last, before);
      found.moved = true;
    }
    for (std::size_t i = first, end = first; i < last; i = end) {
      while (++end < last && keys[order[end]] == keys[order[i]]) {
      }
      if (end - i == 1) continue;
      found.equal.runs.push_back(static_cast<std::uint32_t>(found.equal.rows.size()));
      for (std::size_t j = i; j < end; ++j) {
        found.equal.rows.push_back(static_cast<std::uint32_t>(j));
      }
    }
  }
  found.equal.runs.push_back(static_cast<std::uint32_t>(found.equal.rows.size()));
  return found;
}

}  // namespace slidefold
