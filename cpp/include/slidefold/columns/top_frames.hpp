// The k largest values of each frame of a column.
//
// Layout: Two-Stacks over frames (frames.hpp), but for the suffix folds: of those there is one list
//   of at most k values, largest first, and for each row what its insertion did to the list. The
//   list of the next suffix is the list before that insertion. Another list holds the rows that
//   came after the flip.
// Invariants: I1 lo and hi never decrease. I2 the list `back` is that of the rows from `at` to
//   `flipped`, `front` that of the rows from `flipped` to `to`.
// Cost: a row that is among the k largest where it is inserted moves at most k values, any other
//   none; a result merges k. 24 bytes per row of the longest frame, whatever k is.
// Paper: none; daba-in-order, section 4, for the flips.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "slidefold/interrupt.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold {

class TopList {
 public:
  struct Change {
    std::size_t place = 0;     // k: none
    std::int64_t dropped = 0;  // if the list was full
    bool full = false;
  };
  explicit TopList(std::size_t k) : k_(k) {}

  Change insert(std::int64_t key) {
    const bool full = keys_.size() == k_;
    if (full && key <= keys_.back()) return {k_, 0, true};
    const auto after = std::upper_bound(keys_.begin(), keys_.end(), key, std::greater<>{});
    const auto place = static_cast<std::size_t>(after - keys_.begin());
    const std::int64_t dropped = full ? keys_.back() : 0;
    if (full) keys_.pop_back();
    keys_.insert(keys_.begin() + static_cast<std::ptrdiff_t>(place), key);
    return {place, dropped, full};
  }
  void undo(const Change& change) {
    if (change.place == k_) return;
    keys_.erase(keys_.begin() + static_cast<std::ptrdiff_t>(change.place));
    if (change.full) keys_.push_back(change.dropped);
  }
  void clear() { keys_.clear(); }
  const std::vector<std::int64_t>& keys() const { return keys_; }

 private:
  std::size_t k_;
  std::vector<std::int64_t> keys_;
};

// How many values a frame has in its list.
inline std::size_t top_count(std::int64_t lo, std::int64_t hi, std::size_t k) {
  return std::min(k, static_cast<std::size_t>(hi - lo));
}

// Writes the lists one after the other, each of top_count values.
inline void top_frames(const std::int64_t* keys, const std::int64_t* lo, const std::int64_t* hi,
                       std::size_t frames, std::size_t k, std::int64_t* out) {
  TopList back(k), front(k);
  Buffer<TopList::Change> changes;
  std::int64_t base = 0, at = 0, flipped = 0, to = 0;
  Pacer pace;
  for (std::size_t i = 0; i < frames; ++i) {
    pace();
    if (lo[i] < flipped) {
      for (; at < lo[i]; ++at) back.undo(changes[static_cast<std::size_t>(at - base)]);
      for (; to < hi[i]; ++to) {
        pace();
        front.insert(keys[to]);
      }
    } else {
      base = at = lo[i];
      flipped = to = hi[i];
      back.clear();
      front.clear();
      const auto rows = static_cast<std::size_t>(flipped - base);
      if (rows > changes.size()) {
        changes = Buffer<TopList::Change>(std::max(rows, 2 * changes.size()));
      }
      for (std::size_t row = rows; row-- > 0;) {
        pace();
        changes[row] = back.insert(keys[base + static_cast<std::int64_t>(row)]);
      }
    }
    const std::int64_t* a = back.keys().data();
    const std::int64_t* const a_end = a + back.keys().size();
    const std::int64_t* b = front.keys().data();
    const std::int64_t* const b_end = b + front.keys().size();
    std::int64_t* const end = out + top_count(lo[i], hi[i], k);
    while (a != a_end && b != b_end && out != end) {
      const bool newer = *a < *b;  // no branch: which of both is a guess that fails
      *out++ = newer ? *b : *a;
      b += newer ? 1 : 0;
      a += newer ? 0 : 1;
    }
    while (a != a_end && out != end) *out++ = *a++;
    while (b != b_end && out != end) *out++ = *b++;
  }
}

}  // namespace slidefold
