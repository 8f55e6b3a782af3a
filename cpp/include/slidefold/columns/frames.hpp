// Frames over a sorted column: which rows each row's window holds, and their folds.
//
// Layout: row i sees the rows lo[i] to hi[i], hi excluded. Groups lie one after the other.
// Invariants: I1 lo and hi never decrease. I2 lo[i] <= hi[i].
// Cost: time_frames O(rows); fold_frames each row in and out of the algorithm once, however long
//   the frames are, and rows that no frame holds not at all. fold_two_stacks 3 combines per row and
//   as many states as the longest frame at a flip; fold_invertible 2 steps a row and one state.
// Paper: none; the algorithm that folds has its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "slidefold/interrupt.hpp"
#include "slidefold/operator.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold {

// The window that ends at t holds the times from t - reach to t - (keeps_end ? 0 : 1).
struct TimeReach {
  std::int64_t reach = 0;
  bool keeps_end = true;
};

// The first row from `from` on whose time is not before `since`.
inline std::size_t first_since(const std::int64_t* times, std::size_t from, std::size_t end,
                               std::int64_t since) {
  // How far is a guess that fails about once per row; counting four at a time does not guess.
  while (from + 4 <= end) {
    const std::size_t passed = static_cast<std::size_t>(times[from] < since) +
                               (times[from + 1] < since) + (times[from + 2] < since) +
                               (times[from + 3] < since);
    from += passed;
    if (passed < 4) break;
  }
  while (from < end && times[from] < since) ++from;
  return from;
}

inline void time_frames(const std::int64_t* times, std::size_t begin, std::size_t end,
                        TimeReach window, std::int64_t* lo, std::int64_t* hi) {
  if (begin == end) return;
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  const std::int64_t reach = window.reach;
  std::size_t from = begin, to = begin;
  in_blocks(begin, end, [&](std::size_t row) {
    const std::int64_t time = times[row];
    if (time >= least + reach) {  // else the window starts before all times
      from = first_since(times, from, end, time - reach);
    }
    to = std::max(to, from);
    if (window.keeps_end) {
      while (to < end && times[to] <= time) ++to;
    } else {
      while (to < end && times[to] < time) ++to;
    }
    lo[row] = static_cast<std::int64_t>(from);
    hi[row] = static_cast<std::int64_t>(to);
  });
}

// The window at t holds the times from t - oldest to t - newest, wherever that is.
inline void reach_frames(const std::int64_t* times, std::size_t begin, std::size_t end,
                         std::int64_t oldest, std::int64_t newest, std::int64_t* lo,
                         std::int64_t* hi) {
  std::size_t from = begin, to = begin;
  const auto less = [](std::int64_t t, std::int64_t back) {
    std::int64_t result = 0;
    if (!__builtin_sub_overflow(t, back, &result)) return result;
    return back > 0 ? std::numeric_limits<std::int64_t>::min()
                    : std::numeric_limits<std::int64_t>::max();
  };
  in_blocks(begin, end, [&](std::size_t row) {
    const std::int64_t since = less(times[row], oldest), until = less(times[row], newest);
    while (from < end && times[from] < since) ++from;
    while (to < end && times[to] <= until) ++to;
    lo[row] = static_cast<std::int64_t>(std::min(from, to));
    hi[row] = static_cast<std::int64_t>(to);
  });
}

// The length of a rows window, if frames are those of one, group after group: frame i ends with row
// i and starts with the group or so many rows before. Else 0.
inline std::size_t rows_window(const std::int64_t* lo, const std::int64_t* hi, std::size_t frames) {
  std::int64_t window = 0;
  for (std::size_t i = 0; i < frames; ++i) {
    if (hi[i] != static_cast<std::int64_t>(i) + 1) return 0;
    window = std::max(window, hi[i] - lo[i]);
  }
  std::int64_t start = 0;
  for (std::size_t i = 0; i < frames; ++i) {
    const auto row = static_cast<std::int64_t>(i);
    if (lo[i] == row) start = row;
    if (lo[i] != std::max(start, row + 1 - window)) return 0;
  }
  return static_cast<std::size_t>(window);
}

// Calls run(begin, end) for each group of such frames.
template <class Run>
void for_groups(const std::int64_t* lo, std::size_t frames, Run&& run) {
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= frames; ++i) {
    if (i < frames && lo[i] != static_cast<std::int64_t>(i)) continue;
    run(begin, i);
    begin = i;
  }
}

// lift(row) makes a state, emit(frame, state, empty) takes a fold. The runner starts empty.
template <class Runner, class Lift, class Emit>
void fold_frames(Runner& runner, const std::int64_t* lo, const std::int64_t* hi, std::size_t frames,
                 Lift&& lift, Emit&& emit) {
  std::int64_t from = 0, to = 0;  // what the runner holds
  Pacer pace;
  for (std::size_t i = 0; i < frames; ++i) {
    const std::int64_t left = std::min(lo[i], to);
    for (; from < left; ++from) runner.evict();
    if (to < lo[i]) from = to = lo[i];
    for (; to < hi[i]; ++to) {
      pace();
      runner.insert(lift(static_cast<std::size_t>(to)));
    }
    pace();
    emit(i, runner.query(), from == to);
  }
}

// Two-Stacks over frames that lie in an array already: no queue is needed, only the suffix folds of
// the rows before the last flip, and the running fold of those after it.
template <Monoid Op, class Lift, class Emit>
void fold_two_stacks(const Op& op, const std::int64_t* lo, const std::int64_t* hi,
                     std::size_t frames, Lift&& lift, Emit&& emit) {
  using State = typename Op::State;
  Buffer<State> folds;
  const State identity = op.identity();
  State front = identity;                      // of the rows from `flipped` to `to`
  std::int64_t base = 0, flipped = 0, to = 0;  // folds[i]: of the rows from base + i to `flipped`
  RowPoll polled;
  for (std::size_t i = 0; i < frames; ++i) {
    if (lo[i] < flipped) {
      if (to < hi[i]) {
        front = to == flipped ? State(lift(static_cast<std::size_t>(to)))
                              : op.combine(front, lift(static_cast<std::size_t>(to)));
        while (++to < hi[i]) front = op.combine(front, lift(static_cast<std::size_t>(to)));
      }
      const State& back = folds[static_cast<std::size_t>(lo[i] - base)];
      if (to == flipped) {
        emit(i, back, false);
      } else {
        emit(i, op.combine(back, front), false);
      }
      continue;
    }
    base = lo[i];
    flipped = to = hi[i];
    polled(1 + static_cast<std::size_t>(flipped - base));  // each row is in one flip at most
    if (base == flipped) {
      emit(i, identity, true);
      continue;
    }
    const auto rows = static_cast<std::size_t>(flipped - base);
    if (rows > folds.size()) folds = Buffer<State>(std::max(rows, 2 * folds.size()));
    State suffix = lift(static_cast<std::size_t>(flipped - 1));
    folds[rows - 1] = suffix;
    for (std::size_t row = rows - 1; row-- > 0;) {
      suffix = op.combine(lift(static_cast<std::size_t>(base) + row), suffix);
      folds[row] = suffix;
    }
    emit(i, suffix, false);
  }
}

// Subtract-on-Evict likewise: what leaves is lifted again instead of kept.
template <Invertible Op, class Lift, class Emit>
void fold_invertible(const Op& op, const std::int64_t* lo, const std::int64_t* hi,
                     std::size_t frames, Lift&& lift, Emit&& emit) {
  std::int64_t from = 0, to = 0;
  typename Op::State total = op.identity();
  in_blocks(0, frames, [&](std::size_t i) {
    if (lo[i] >= to) {
      from = to = lo[i];
      total = op.identity();
    }
    for (; to < hi[i]; ++to) total = op.combine(total, lift(static_cast<std::size_t>(to)));
    for (; from < lo[i]; ++from) total = op.remove(total, lift(static_cast<std::size_t>(from)));
    emit(i, total, from == to);
  });
}

// How many rows of each frame are in each bin, bin after bin; rows in bin -1 are in none.
inline void count_bins(const std::int64_t* bins, const std::int64_t* lo, const std::int64_t* hi,
                       std::size_t frames, std::size_t count, std::int64_t* out) {
  Buffer<std::int64_t> held(count + 1);  // the first one is that of bin -1
  std::fill_n(held.data(), count + 1, 0);
  std::int64_t* const counts = held.data() + 1;
  std::int64_t from = 0, to = 0;
  RowPoll rows;
  for (std::size_t i = 0; i < frames; ++i, out += count) {
    rows(1 + count / 8);
    if (lo[i] >= to) {
      from = to = lo[i];
      std::fill_n(counts, count, 0);
    }
    for (; to < hi[i]; ++to) ++counts[bins[to]];
    for (; from < lo[i]; ++from) --counts[bins[from]];
    std::copy_n(counts, count, out);
  }
}

// Calls emit(frame, row) for the rows of each frame that have none before them in it: before[row]
// is the row before it of an equal value, -1 for none.
template <class Emit>
void first_rows(const std::int64_t* before, const std::int64_t* lo, const std::int64_t* hi,
                std::size_t frames, Emit&& emit) {
  RowPoll rows;
  for (std::size_t i = 0; i < frames; ++i) {
    rows(1 + static_cast<std::size_t>(hi[i] - lo[i]));
    for (std::int64_t row = lo[i]; row < hi[i]; ++row) {
      if (before[row] < lo[i]) emit(i, row);
    }
  }
}

}  // namespace slidefold
