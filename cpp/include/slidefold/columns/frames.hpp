// Frames over a sorted column: which rows each row's window holds, and their folds.
//
// Layout: row i sees the rows lo[i] to hi[i], hi excluded. Groups lie one after the other.
// Invariants: I1 lo and hi never decrease. I2 lo[i] <= hi[i].
// Cost: time_frames O(rows); fold_frames each row in and out of the algorithm once, however long
//   the frames are, and rows that no frame holds not at all.
// Paper: none; the algorithm that folds has its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace slidefold {

// Calls first(t), the first time inside a window that ends at t, and last(t), the last one.
template <class First, class Last>
void time_frames(const std::int64_t* times, std::size_t begin, std::size_t end, First&& first,
                 Last&& last, std::int64_t* lo, std::int64_t* hi) {
  std::size_t from = begin, to = begin;
  for (std::size_t row = begin; row < end; ++row) {
    const std::int64_t since = first(times[row]), until = last(times[row]);
    while (from < end && times[from] < since) ++from;
    to = std::max(to, from);
    while (to < end && times[to] <= until) ++to;
    lo[row] = static_cast<std::int64_t>(from);
    hi[row] = static_cast<std::int64_t>(to);
  }
}

// lift(row) makes a state, emit(frame, state, empty) takes a fold. The runner starts empty.
template <class Runner, class Lift, class Emit>
void fold_frames(Runner& runner, const std::int64_t* lo, const std::int64_t* hi, std::size_t frames,
                 Lift&& lift, Emit&& emit) {
  std::int64_t from = 0, to = 0;  // what the runner holds
  for (std::size_t i = 0; i < frames; ++i) {
    const std::int64_t left = std::min(lo[i], to);
    for (; from < left; ++from) runner.evict();
    if (to < lo[i]) from = to = lo[i];
    for (; to < hi[i]; ++to) runner.insert(lift(static_cast<std::size_t>(to)));
    emit(i, runner.query(), from == to);
  }
}

}  // namespace slidefold
