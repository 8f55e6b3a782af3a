// A chunk of the boundary aggregators: how large it should be, and how its lcs are made.
//
// Layout: a finished chunk is `chunk` slots of a SliceRing from slot `first` on: slice aggregates,
//   but for the first, which is ca already.
// Invariants: I1 the best chunk is in [1, floor(r/s)] and more than half of floor(r/s), so that a
//   window covers at most one whole chunk (k = 1).
// Cost: the sizes O(1); a pass b-2 combines.
// Paper: pba-parallel-boundary, sections 4.2 and 4.3.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "slidefold/operator.hpp"
#include "slidefold/storage/slice_ring.hpp"

namespace slidefold {

// Theorem 1: the largest chunk whose lcs is ready when it is needed, for a window of rows.
inline std::size_t optimal_chunk_rows(std::size_t range, std::size_t slide) {
  const std::size_t slices = range / slide, tail = range % slide;
  if (slices <= slide + tail + 1) return std::max<std::size_t>(slices, 1);
  return (slide * (slices + 1) + tail + 1) / (slide + 1);
}

// Theorem 2: the same for a window of time, all three times in one unit. The paper prints the extra
// time that a tail gives as C = s(r mod s) + 1 T_u, which is not a time if s is the slide. Read as
// the unit, seconds, it is what the inequality behind the theorem asks for: (b - 1) T_u <=
// (floor(r/s) + 1 - b)(s + T_u) + C, with C = r mod s + T_u.
inline std::size_t optimal_chunk_time(double range, double slide, double combine_time) {
  const double slices = std::max(std::floor(range / slide), 1.0);
  const double tail = std::max(range - slices * slide, 0.0);
  const double extra = tail > 0 ? tail + combine_time : 0.0;
  const double first = slide + 2 * combine_time + extra;
  if (!(slices * combine_time > first)) return static_cast<std::size_t>(slices);
  const double best = (slices * (slide + combine_time) + first) / (slide + 2 * combine_time);
  return static_cast<std::size_t>(std::clamp(std::floor(best), 1.0, slices));
}

// Turns the slice aggregates of a finished chunk into suffix folds, from the youngest to the
// second; the first slot is the main thread's.
template <Monoid Op>
struct LcsPass {
  using State = typename Op::State;
  const Op* op;
  SliceRing<State, fallible_v<Op>>* ring;
  std::size_t first;
  std::size_t chunk;
  bool gaps;

  void operator()() const {
    std::size_t newer = ring->ahead(first, chunk - 1);
    for (std::size_t left = chunk - 2; left > 0; --left) {
      const std::size_t at = ring->prev(newer);
      if (!gaps || (ring->filled(at) && ring->filled(newer))) {
        ring->write(at, op->combine((*ring)[at], (*ring)[newer]));
      } else if (ring->filled(newer)) {
        ring->set(at, (*ring)[newer]);
      }
      newer = at;
    }
  }
};

}  // namespace slidefold
