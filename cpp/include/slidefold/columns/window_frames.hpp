// Where several time windows over sorted rows start, a block of rows at a time, and who are peers.
//
// Layout: rows lie group after group, each by time. The start of a window moves on from row to row;
//   that chain waits about 15 cycles a row. So the starts of all windows are moved in one loop, and
//   those of one or two windows in several stretches of the block, whose first starts are searched.
//   Ends need no search: a row is folded as if it had no peers, and its peers take the result of
//   the one whose window is theirs, the last of them, or the first if windows do not keep their
//   end.
// Invariants: I1 starts never decrease. I2 the window of row i starts at i or before. I3 each run
//   of peers is told once, in the block in which it ends.
// Cost: O(rows) per window; six take 3.5x the time of one. 4 bytes per row of a block, per window.
// Paper: none.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define SLIDEFOLD_WIDE_TIMES 1
#else
#define SLIDEFOLD_WIDE_TIMES 0
#endif

#include "slidefold/columns/frames.hpp"

namespace slidefold {

// Whether four times are compared at once.
inline bool wide_times() {
#if SLIDEFOLD_WIDE_TIMES
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

// Group g is the rows starts[g] to starts[g + 1].
struct SortedTimes {
  const std::int64_t* times = nullptr;
  const std::int64_t* starts = nullptr;
  std::size_t groups = 0;

  std::size_t start(std::size_t group) const { return static_cast<std::size_t>(starts[group]); }
  std::size_t rows() const { return start(groups); }
  std::size_t group_of(std::size_t row) const {
    const auto* const after =
        std::upper_bound(starts, starts + groups + 1, static_cast<std::int64_t>(row));
    return static_cast<std::size_t>(after - starts) - 1;
  }
};

inline std::int64_t time_before(std::int64_t time, std::int64_t reach) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  return time < least + reach ? least : time - reach;
}

inline constexpr std::size_t kEqualRows = 64;  // whose comparisons make one word

// Bit i: rows i and i + 1 have equal times. `falls` becomes true if a time is below the one before.
inline std::uint64_t equal_bits(const std::int64_t* times, std::size_t rows, bool& falls) {
  std::uint64_t equal = 0;
  bool lower = false;
  for (std::size_t i = 0; i < rows; ++i) {
    equal |= std::uint64_t{times[i] == times[i + 1]} << i;
    lower |= times[i] > times[i + 1];
  }
  falls |= lower;
  return equal;
}

#if SLIDEFOLD_WIDE_TIMES
__attribute__((target("avx2"))) inline std::uint64_t wide_equal_bits(const std::int64_t* times,
                                                                     bool& falls) {
  std::uint64_t equal = 0;
  __m256i lower = _mm256_setzero_si256();
#pragma GCC unroll 16
  for (unsigned i = 0; i < kEqualRows; i += 4) {
    const __m256i own = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(times + i));
    const __m256i next = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(times + i + 1));
    lower = _mm256_or_si256(lower, _mm256_cmpgt_epi64(own, next));
    const int four = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(own, next)));
    equal |= std::uint64_t{static_cast<unsigned>(four)} << i;
  }
  falls |= _mm256_testz_si256(lower, lower) == 0;
  return equal;
}
#endif

// The same of the first kEqualRows rows, or of all if there are fewer.
inline std::uint64_t equal_times(const std::int64_t* times, std::size_t rows, bool& falls,
                                 [[maybe_unused]] bool wide) {
#if SLIDEFOLD_WIDE_TIMES
  if (wide && rows >= kEqualRows) return wide_equal_bits(times, falls);
#endif
  return equal_bits(times, std::min(rows, kEqualRows), falls);
}

// Rows begin to end, and where the window of row begin + i starts.
struct FrameBlock {
  std::size_t begin = 0, end = 0;
  const std::uint32_t* lo = nullptr;
};

// Rows first to last of one group and time, two or more.
struct PeerRun {
  std::size_t first = 0, last = 0;
};

// Makes the starts of all windows, a block at a time; 1,024 rows of six windows stay in the cache.
class WindowFrames {
 public:
  static constexpr std::size_t kRows = 1024;
  static constexpr std::size_t kChains = 4;    // that overlap, at least
  static constexpr std::size_t kWide = 8;      // stretches, four times compared at once
  static constexpr std::size_t kNear = 8;      // times are compared at once
  static constexpr std::size_t kStretch = 64;  // rows, or a search for its start does not pay

  // The rows first to last; the windows of the first row may start before it. Both are the first of
  // their peers, or the end. Peers are looked for if there may be some.
  WindowFrames(const SortedTimes& sorted, const std::vector<TimeReach>& windows, std::size_t first,
               std::size_t last, bool peers, bool wide = wide_times())
      : sorted_(sorted),
        windows_(windows),
        row_(first),
        last_(last),
        from_(windows.size()),
        lo_(windows.size() * kRows),
        peers_(peers),
        wide_(wide) {
    if (first == last) return;
    group_ = sorted.group_of(first);
    for (std::size_t w = 0; w < windows.size(); ++w) {
      const auto* const start = sorted.times + sorted.start(group_);
      const auto* const found = std::lower_bound(
          start, sorted.times + first, time_before(sorted.times[first], windows[w].reach));
      from_[w] = static_cast<std::size_t>(found - sorted.times);
      longest_ = std::max(longest_, windows[w].reach);
    }
  }

  // Goes on to the next block; false after the last.
  bool next() {
    if (row_ == last_) return false;
    begin_ = row_;
    end_ = std::min(last_, row_ + kRows);
    runs_.clear();
    while (row_ < end_) {
      while (sorted_.start(group_ + 1) <= row_) enter(group_ + 1);
      const std::size_t stop = std::min(end_, sorted_.start(group_ + 1));
      start_frames(stop);
      if (peers_) find_peers(stop);
      row_ = stop;
    }
    return true;
  }

  FrameBlock block(std::size_t window) const { return {begin_, end_, lo_.data() + window * kRows}; }

  // The runs that end in this block.
  const std::vector<PeerRun>& peers() const { return runs_; }

 private:
  void enter(std::size_t group) {
    group_ = group;
    std::fill(from_.begin(), from_.end(), sorted_.start(group));
  }

  // A start that moves: of window `reach` from row to row, `lo` is where it is written.
  struct Chain {
    std::int64_t reach;
    std::size_t row, from;
    std::uint32_t* lo;
  };

  // The starts of the rows up to `stop`, which are of one group.
  void start_frames(std::size_t stop) {
    const std::size_t count = windows_.size();
    std::size_t done = row_;
#if SLIDEFOLD_WIDE_TIMES
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    const std::size_t near_end =
        sorted_.start(group_ + 1) - std::min(sorted_.start(group_ + 1), kNear);
    if (wide_ && near_end > row_ && sorted_.times[row_] >= least + longest_) {
      const std::size_t rows = (std::min(stop, near_end) - row_) / kWide;
      if (rows >= kStretch / 2) {
        for (std::size_t w = 0; w < count; ++w) move_wide(w, rows);
        done += kWide * rows;
      }
    }
#endif
    const std::size_t stretches = (kChains + count - 1) / std::max<std::size_t>(count, 1);
    const std::size_t rows = (stop - done) / stretches;
    if (rows >= kStretch) {
      move_on(done, rows, stretches);
      done += rows * stretches;
    }
    if (done < stop) move_on(done, stop - done, 1);
  }

  std::uint32_t* place(std::size_t window, std::size_t row) {
    return lo_.data() + window * kRows + (row - begin_);
  }

  std::size_t start_of(std::size_t window, std::size_t row) const {
    const std::int64_t* const times = sorted_.times;
    const std::int64_t since = time_before(times[row], windows_[window].reach);
    const auto* const found = std::lower_bound(times + from_[window], times + row, since);
    return static_cast<std::size_t>(found - times);
  }

  // The starts of all windows in stretches of `rows` from `first` on.
  void move_on(std::size_t first, std::size_t rows, std::size_t stretches) {
    chains_.clear();
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      for (std::size_t s = 0; s < stretches; ++s) {
        const std::size_t row = first + s * rows;
        chains_.push_back(
            {windows_[w].reach, row, s == 0 ? from_[w] : start_of(w, row), place(w, row)});
      }
    }
    const std::int64_t* const times = sorted_.times;
    const std::size_t end = sorted_.start(group_ + 1);
    for (std::size_t i = 0; i < rows; ++i) {
      for (Chain& chain : chains_) {
        const std::int64_t since = time_before(times[chain.row + i], chain.reach);
        chain.from = first_since(times, chain.from, end, since);
        chain.lo[i] = static_cast<std::uint32_t>(chain.from);
      }
    }
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      from_[w] = chains_[(w + 1) * stretches - 1].from;
    }
  }

#if SLIDEFOLD_WIDE_TIMES
  // One window in eight stretches of `rows`, whose starts wait for each other's loads no more.
  // Eight times are compared at once, since random rows pass four or more in one of fifty steps. No
  // start comes near the end of its group.
  __attribute__((target("avx2,popcnt"))) void move_wide(std::size_t window, std::size_t rows) {
    const std::int64_t* const times = sorted_.times;
    const std::int64_t* const own = times + row_;
    const std::int64_t reach = windows_[window].reach;
    const __m256i far = _mm256_set1_epi64x(reach);
    std::uint32_t* const lo = place(window, row_);
    std::size_t from[kWide];
    from[0] = from_[window];
    for (std::size_t s = 1; s < kWide; ++s) from[s] = start_of(window, row_ + s * rows);
    for (std::size_t i = 0; i < rows; ++i) {
#pragma GCC unroll 8
      for (std::size_t s = 0; s < kWide; ++s) {
        const std::size_t row = s * rows + i;
        const __m256i since = _mm256_sub_epi64(_mm256_set1_epi64x(own[row]), far);
        const auto* const next = reinterpret_cast<const __m256i*>(times + from[s]);
        const __m256i four = _mm256_cmpgt_epi64(since, _mm256_loadu_si256(next));
        const __m256i more = _mm256_cmpgt_epi64(since, _mm256_loadu_si256(next + 1));
        const int passed = _mm256_movemask_ps(
            _mm256_castsi256_ps(_mm256_packs_epi32(four, more)));  // a bit for each
        from[s] += static_cast<std::size_t>(_mm_popcnt_u32(static_cast<unsigned>(passed)));
        if (passed == 255) [[unlikely]] {
          while (times[from[s]] < own[row] - reach) ++from[s];
        }
        lo[row] = static_cast<std::uint32_t>(from[s]);
      }
    }
    from_[window] = from[kWide - 1];
  }
#endif

  // The runs of peers that end before `stop`; the rows from there on are of one group.
  void find_peers(std::size_t stop) {
    const std::int64_t* const times = sorted_.times;
    // The last row of a group has no peer behind it.
    const std::size_t end = stop - (stop == sorted_.start(group_ + 1) ? 1 : 0);
    bool falls = false;
    for (std::size_t first = row_; first < end; first += kEqualRows) {
      std::uint64_t equal = equal_times(times + first, end - first, falls, wide_);
      for (; equal != 0; equal &= equal - 1) {
        const std::size_t row = first + static_cast<std::size_t>(std::countr_zero(equal));
        if (row + 1 != run_.last) {  // not the last one of the run so far
          close_run();
          run_.first = row;
        }
        run_.last = row + 2;
      }
    }
    if (run_.last <= stop) close_run();  // else the first row of the next block is one of them
  }

  void close_run() {
    if (run_.last != 0) runs_.push_back(run_);
    run_ = {};
  }

  const SortedTimes& sorted_;
  const std::vector<TimeReach>& windows_;
  std::size_t row_, last_;
  std::size_t group_ = 0;
  std::size_t begin_ = 0, end_ = 0;  // the block
  PeerRun run_;                      // of which more may come
  std::int64_t longest_ = 0;         // reach
  std::vector<std::size_t> from_;
  std::vector<std::uint32_t> lo_;
  bool peers_;
  std::vector<PeerRun> runs_;
  std::vector<Chain> chains_;
  bool wide_;
};

}  // namespace slidefold
