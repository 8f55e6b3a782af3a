// Order statistics of frames over a column: the k-th smallest key of each frame.
//
// Layout: the rows are cut into stretches that overlap, each several times as long as the longest
//   frame, so that every frame lies in one of them. Within a stretch, the ranks of all rows are
//   known up front. The ranks that a frame holds are bits of a set with summaries: a bit of a level
//   says whether a word of the level below has any. A finger stands on one of them and knows how
//   many lie below it.
// Invariants: I1 a bit of a summary is set exactly if its word is not zero. I2 the finger is on a
//   rank of the set, `below_` of them are smaller, and `after_` is the next one.
// Cost: a row goes in once and out once, each O(log64 rows) of a stretch; at the start of a stretch
//   the rows of one frame go in again. With each of these steps the rank that is asked for moves by
//   at most one place, and so does the finger, at O(log64 rows) a place. Sorting a stretch comes
//   first, at O(rows); one of frames up to some thousand rows stays in the cache.
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
  // Becomes an empty set of numbers below `bound`.
  void clear(std::size_t bound) {
    std::size_t level = 0;
    do {
      bound = (bound + 63) / 64;
      if (level == levels_.size()) levels_.emplace_back();
      levels_[level++].assign(bound, 0);
    } while (bound > 1);
    levels_.resize(level);
  }
  void insert(std::size_t at) {
    for (auto& words : levels_) {
      words[at / 64] |= std::uint64_t{1} << (at % 64);
      at /= 64;
    }
  }
  void erase(std::size_t at) {
    std::uint64_t empty = 1;  // whether the word below is
    for (auto& words : levels_) {
      std::uint64_t& word = words[at / 64];
      word &= ~(empty << (at % 64));
      empty = word == 0;
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

// A set of ranks with a finger. What random ranks decide is decided without branches.
class RankSet {
 public:
  static constexpr std::size_t kNone = BitSet::kNone;
  // Becomes an empty set of ranks below `bound`.
  void clear(std::size_t bound) {
    set_.clear(bound);
    below_ = size_ = 0;
  }
  std::size_t size() const { return size_; }
  void insert(std::size_t rank) {
    set_.insert(rank);
    if (size_++ == 0) [[unlikely]] {
      at_ = rank;
      after_ = kNone;
    }
    below_ += rank < at_;
    after_ = ((rank > at_) & (rank < after_)) ? rank : after_;
  }
  void erase(std::size_t rank) {
    set_.erase(rank);
    --size_;
    below_ -= rank < at_;
    if ((rank == at_) | (rank == after_)) [[unlikely]]
      leave(rank);
  }
  // The k-th smallest rank, k < size(), and the one behind it.
  std::pair<std::size_t, std::size_t> select(std::size_t k) {
    for (; below_ < k; ++below_) {
      at_ = after_;
      after_ = set_.next(at_);
    }
    for (; below_ > k; --below_) {
      after_ = at_;
      at_ = set_.previous(at_);
    }
    return {at_, after_};
  }

 private:
  // The finger leaves a rank that is in the set no more.
  void leave(std::size_t rank) {
    if (size_ == 0) return;
    if (rank == at_ && after_ == kNone) {
      --below_;
      at_ = set_.previous(at_);
    } else {
      at_ = rank == at_ ? after_ : at_;
      after_ = set_.next(at_);
    }
  }

  BitSet set_;
  std::size_t at_ = 0, after_ = kNone, below_ = 0, size_ = 0;
};

// The keys of a column in order, and the place of each row among them; equal ones as rows come.
class RankedColumn {
 public:
  // Digits of 11 bits, least significant first, but only of the 32 highest bits that differ: those
  // and a row are one word. In most columns nearly all keys differ there, and what is equal so far
  // is sorted in runs.
  void rank(const std::int64_t* keys, std::size_t rows) {
    if (rows > words_.size()) {
      words_ = Buffer<std::uint64_t>(rows);
      other_ = Buffer<std::uint64_t>(rows);
      sorted_ = Buffer<std::int64_t>(rows);
      ranks_ = Buffer<std::uint32_t>(rows);
    }
    if (rows == 0) return;
    const auto [low, high] = std::minmax_element(keys, keys + rows);
    const auto least = static_cast<std::uint64_t>(*low);
    const std::uint64_t widest = static_cast<std::uint64_t>(*high) - least;
    const auto bits = static_cast<unsigned>(std::bit_width(widest));
    const unsigned rest = bits > kKeyBits ? bits - kKeyBits : 0;
    const unsigned passes = (bits - rest + kBits - 1) / kBits;
    std::array<std::array<std::uint32_t, kMask + 1>, kPasses> places{};
    in_blocks(0, rows, [&](std::size_t i) {
      const std::uint64_t key = (static_cast<std::uint64_t>(keys[i]) - least) >> rest;
      words_[i] = key << 32 | i;
      for (unsigned pass = 0; pass < kPasses; ++pass) ++places[pass][key >> pass * kBits & kMask];
    });
    for (unsigned pass = 0; pass < passes; ++pass) {
      std::uint32_t total = 0;
      std::uint32_t* const place = places[pass].data();
      for (std::size_t digit = 0; digit <= kMask; ++digit) {
        total += std::exchange(place[digit], total);
      }
      const unsigned shift = 32 + pass * kBits;
      const std::uint64_t* const from = words_.data();
      std::uint64_t* const to = other_.data();
      in_blocks(0, rows, [&](std::size_t i) { to[place[from[i] >> shift & kMask]++] = from[i]; });
      words_.swap(other_);
    }
    if (rest > 0) sort_runs(keys, rows);
    in_blocks(0, rows, [&](std::size_t i) {
      const auto row = static_cast<std::uint32_t>(words_[i]);
      sorted_[i] = keys[row];
      ranks_[row] = static_cast<std::uint32_t>(i);
    });
  }
  std::int64_t key(std::size_t rank) const { return sorted_[rank]; }
  std::size_t rank_of(std::size_t row) const { return ranks_[row]; }

 private:
  static constexpr unsigned kKeyBits = 32, kBits = 11, kPasses = 3;
  static constexpr std::uint64_t kMask = (1u << kBits) - 1;

  // Sorts the rows whose keys are equal in the bits so far by the whole keys.
  void sort_runs(const std::int64_t* keys, std::size_t rows) {
    Pacer pace;
    std::uint64_t* const words = words_.data();
    for (std::size_t start = 0, end = 0; start < rows; start = end) {
      end = start + 1;
      while (end < rows && words[end] >> 32 == words[start] >> 32) ++end;
      pace();
      if (end - start == 1) continue;
      std::sort(words + start, words + end, [&](std::uint64_t a, std::uint64_t b) {
        pace();
        const std::int64_t one = keys[static_cast<std::uint32_t>(a)];
        const std::int64_t two = keys[static_cast<std::uint32_t>(b)];
        return one != two ? one < two : a < b;
      });
    }
  }

  Buffer<std::uint64_t> words_, other_;  // the highest bits of a key, then its row
  Buffer<std::int64_t> sorted_;
  Buffer<std::uint32_t> ranks_;
};

// ask(frame, size) says which place is wanted in a frame that is not empty; emit(frame, key, next)
// takes the key there and the one behind it (the same if it is the last). Frames never go back.
template <class Ask, class Emit>
void rank_frames(const std::int64_t* keys, const std::int64_t* lo, const std::int64_t* hi,
                 std::size_t frames, Ask&& ask, Emit&& emit) {
  // Measured: shorter ones sort more rows twice, longer ones leave the cache.
  constexpr std::int64_t kShortest = 4096, kFrames = 16;
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < frames; ++i) largest = std::max(largest, hi[i] - lo[i]);
  const std::int64_t length = std::max(kShortest, kFrames * largest);
  RankedColumn column;
  RankSet held;
  Pacer pace;
  for (std::size_t frame = 0, last = 0; frame < frames; frame = last) {
    const std::int64_t base = lo[frame];
    while (last < frames && hi[last] - base <= length) ++last;
    const auto stretch = static_cast<std::size_t>(hi[last - 1] - base);
    column.rank(keys + base, stretch);
    held.clear(stretch);
    std::int64_t from = base, to = base;  // the rows that are held
    const auto rank_of = [&](std::int64_t row) {
      return column.rank_of(static_cast<std::size_t>(row - base));
    };
    for (; frame < last; ++frame) {
      pace();
      const std::int64_t left = std::min(lo[frame], to);
      for (; from < left; ++from) held.erase(rank_of(from));
      if (to < lo[frame]) from = to = lo[frame];
      for (; to < hi[frame]; ++to) {
        pace();
        held.insert(rank_of(to));
      }
      if (from == to) continue;
      const auto [at, after] = held.select(ask(frame, held.size()));
      emit(frame, column.key(at), column.key(after == RankSet::kNone ? at : after));
    }
  }
}

}  // namespace slidefold
