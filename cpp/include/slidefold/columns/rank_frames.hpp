// Order statistics of frames over a column: the k-th smallest key of each frame.
//
// Layout: the ranks of all rows are known up front. The ranks that a frame holds are bits of a set
//   with summaries: a bit of a level says whether a word of the level below has any. A finger
//   stands on one of them and knows how many lie below it.
// Invariants: I1 a bit of a summary is set exactly if its word is not zero. I2 the finger is on a
//   rank of the set, and `below_` of them are smaller.
// Cost: a row goes in once and out once, each O(log64 rows). With each of these steps the rank that
//   is asked for moves by at most one place, and so does the finger, at O(log64 rows) a place.
//   Sorting comes first, at O(rows).
//   Frames of a few rows are sorted arrays instead, without ranks.
// Paper: none; the median is not a monoid.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/interrupt.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold {

// A set of numbers below a bound, with neighbours.
class BitSet {
 public:
  explicit BitSet(std::size_t bound) {
    do {
      bound = (bound + 63) / 64;
      levels_.emplace_back(bound);
    } while (bound > 1);
  }
  void insert(std::size_t at) {
    for (auto& words : levels_) {
      std::uint64_t& word = words[at / 64];
      const bool known = word != 0;
      word |= std::uint64_t{1} << (at % 64);
      if (known) return;  // so the levels above know it
      at /= 64;
    }
  }
  void erase(std::size_t at) {
    for (auto& words : levels_) {
      std::uint64_t& word = words[at / 64];
      word &= ~(std::uint64_t{1} << (at % 64));
      if (word != 0) return;
      at /= 64;
    }
  }
  static constexpr std::size_t kNone = ~std::size_t{0};
  // The smallest number above `at`, or none.
  std::size_t next(std::size_t at) const {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::uint64_t above = ~std::uint64_t{1} << (at % 64);
      const std::uint64_t found = levels_[level][at / 64] & above;
      if (found != 0)
        return down(level, at / 64, found, [](std::uint64_t word) {
          return static_cast<std::size_t>(std::countr_zero(word));
        });
      at /= 64;
    }
    return kNone;
  }
  // The largest number below `at`, or none.
  std::size_t previous(std::size_t at) const {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::uint64_t under = (std::uint64_t{1} << (at % 64)) - 1;
      const std::uint64_t found = levels_[level][at / 64] & under;
      if (found != 0)
        return down(level, at / 64, found, [](std::uint64_t word) {
          return static_cast<std::size_t>(63 - std::countl_zero(word));
        });
      at /= 64;
    }
    return kNone;
  }

 private:
  template <class Pick>
  std::size_t down(std::size_t level, std::size_t word, std::uint64_t bits, Pick pick) const {
    std::size_t at = word * 64 + pick(bits);
    while (level > 0) at = at * 64 + pick(levels_[--level][at]);
    return at;
  }
  std::vector<std::vector<std::uint64_t>> levels_;
};

// A set of ranks with a finger.
class RankSet {
 public:
  explicit RankSet(std::size_t bound) : set_(bound) {}
  std::size_t size() const { return size_; }
  void insert(std::size_t rank) {
    set_.insert(rank);
    if (size_++ == 0) {
      at_ = rank;
      below_ = 0;
    } else if (rank < at_) {
      ++below_;
    }
  }
  void erase(std::size_t rank) {
    if (rank < at_) {
      --below_;
    } else if (rank == at_ && size_ > 1) {
      const std::size_t next = set_.next(at_);
      at_ = next != BitSet::kNone ? next : (--below_, set_.previous(at_));
    }
    set_.erase(rank);
    --size_;
  }
  // The k-th smallest rank, k < size().
  std::size_t select(std::size_t k) {
    for (; below_ < k; ++below_) at_ = set_.next(at_);
    for (; below_ > k; --below_) at_ = set_.previous(at_);
    return at_;
  }
  std::size_t after(std::size_t rank) const { return set_.next(rank); }

 private:
  BitSet set_;
  std::size_t at_ = 0, below_ = 0, size_ = 0;
};

// The keys of a column in order, and the place of each row among them; equal ones as rows come.
struct RankedColumn {
  Buffer<std::int64_t> sorted;
  Buffer<std::uint32_t> ranks;
};

// Digits of 11 bits, least significant first, but only of the 33 highest bits that differ: in most
// columns nearly all keys differ there, and what is equal so far is sorted in runs. A million
// random floats take half the time of all their digits.
inline RankedColumn ranked(const std::int64_t* keys, std::size_t rows) {
  struct Pair {
    std::uint64_t key;
    std::uint32_t row;
  };
  constexpr unsigned kBits = 11, kPasses = 3;
  constexpr std::uint64_t kMask = (1u << kBits) - 1;
  RankedColumn made{Buffer<std::int64_t>(rows), Buffer<std::uint32_t>(rows)};
  if (rows == 0) return made;
  const auto [low, high] = std::minmax_element(keys, keys + rows);
  const auto least = static_cast<std::uint64_t>(*low);
  const std::uint64_t widest = static_cast<std::uint64_t>(*high) - least;
  const auto bits = static_cast<unsigned>(std::bit_width(widest));
  const unsigned rest = bits > kBits * kPasses ? bits - kBits * kPasses : 0;
  Buffer<Pair> from(rows), to(rows);
  in_blocks(0, rows, [&](std::size_t i) {
    from[i] = {static_cast<std::uint64_t>(keys[i]) - least, static_cast<std::uint32_t>(i)};
  });
  for (unsigned shift = rest; shift < bits; shift += kBits) {
    std::vector<std::uint32_t> places(kMask + 1);
    in_blocks(0, rows, [&](std::size_t i) { ++places[(from[i].key >> shift) & kMask]; });
    std::uint32_t total = 0;
    for (std::uint32_t& place : places) total += std::exchange(place, total);
    in_blocks(0, rows,
              [&](std::size_t i) { to[places[(from[i].key >> shift) & kMask]++] = from[i]; });
    from.swap(to);
  }
  Pacer pace;
  for (std::size_t start = 0, end = 0; rest > 0 && start < rows; start = end) {
    end = start + 1;
    while (end < rows && from[end].key >> rest == from[start].key >> rest) ++end;
    pace();
    if (end - start == 1) continue;
    std::stable_sort(from.data() + start, from.data() + end, [&](const Pair& a, const Pair& b) {
      pace();
      return a.key < b.key;
    });
  }
  in_blocks(0, rows, [&](std::size_t i) {
    made.sorted[i] = static_cast<std::int64_t>(from[i].key + least);
    made.ranks[from[i].row] = static_cast<std::uint32_t>(i);
  });
  return made;
}

// A few keys in order, and nothing else: what is fastest while they fit a few cache lines.
class FewKeys {
 public:
  // Measured: a third of the time of ranks at 10 rows, as fast at 100.
  static constexpr std::size_t kMost = 64;

  std::size_t size() const { return size_; }
  void insert(std::int64_t key) {
    std::int64_t* const end = keys_.data() + size_;
    std::int64_t* const place = std::upper_bound(keys_.data(), end, key);
    std::copy_backward(place, end, end + 1);
    *place = key;
    ++size_;
  }
  void erase(std::int64_t key) {
    std::int64_t* const end = keys_.data() + size_;
    std::int64_t* const place = std::lower_bound(keys_.data(), end, key);
    std::copy(place + 1, end, place);
    --size_;
  }
  std::int64_t operator[](std::size_t k) const { return keys_[k]; }

 private:
  std::array<std::int64_t, kMost> keys_;
  std::size_t size_ = 0;
};

// Moves rows in and out as frames go on, which never go back: erase(row), insert(row), and then
// asked(frame) if it holds any.
template <class Insert, class Erase, class Asked>
void walk_frames(const std::int64_t* lo, const std::int64_t* hi, std::size_t frames,
                 Insert&& insert, Erase&& erase, Asked&& asked) {
  std::int64_t from = 0, to = 0;  // the rows that are held
  Pacer pace;
  for (std::size_t i = 0; i < frames; ++i) {
    pace();
    const std::int64_t left = std::min(lo[i], to);
    for (; from < left; ++from) erase(static_cast<std::size_t>(from));
    if (to < lo[i]) from = to = lo[i];
    for (; to < hi[i]; ++to) {
      pace();
      insert(static_cast<std::size_t>(to));
    }
    if (from < to) asked(i);
  }
}

// ask(frame, size) says which place is wanted in a frame that is not empty; emit(frame, key, next)
// takes the key there and the one behind it (the same if it is the last).
template <class Ask, class Emit>
void rank_frames(const std::int64_t* keys, std::size_t rows, const std::int64_t* lo,
                 const std::int64_t* hi, std::size_t frames, Ask&& ask, Emit&& emit) {
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < frames; ++i) largest = std::max(largest, hi[i] - lo[i]);
  if (static_cast<std::size_t>(largest) <= FewKeys::kMost) {
    FewKeys held;
    walk_frames(
        lo, hi, frames, [&](std::size_t row) { held.insert(keys[row]); },
        [&](std::size_t row) { held.erase(keys[row]); },
        [&](std::size_t frame) {
          const std::size_t k = ask(frame, held.size());
          emit(frame, held[k], held[std::min(k + 1, held.size() - 1)]);
        });
    return;
  }
  const RankedColumn column = ranked(keys, rows);
  RankSet held(rows);
  walk_frames(
      lo, hi, frames, [&](std::size_t row) { held.insert(column.ranks[row]); },
      [&](std::size_t row) { held.erase(column.ranks[row]); },
      [&](std::size_t frame) {
        const std::size_t at = held.select(ask(frame, held.size()));
        const std::size_t after = held.after(at);
        emit(frame, column.sorted[at], column.sorted[after == BitSet::kNone ? at : after]);
      });
}

}  // namespace slidefold
