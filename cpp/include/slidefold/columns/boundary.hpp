// SBA over a whole column in one go.
//
// Layout: a column is all there from the start, so nothing waits for values to arrive and the best
//   chunk is the window itself: lcs of one chunk, csa of the next, one merge (slide 1). States that
//   copy like numbers take one of two ways. Windows whose lcs fit the cache: csa of a chunk runs
//   forwards in the same loop in which its lcs are made backwards, two chains that overlap. Longer
//   ones: LcsBlocks. Everything else (other slides, other chunks, states that own memory) runs the
//   algorithm itself, slice by slice.
// Invariants: I1 results are emitted once each, in order, but for LcsBlocks, which interleaves the
//   lanes of a block. I2 emit is called by the calling thread only.
// Cost: a row 3 (csa, lcs, merge), 4 with LcsBlocks; 2n states or two blocks. One slice of s rows:
//   s-1 and the algorithm's own.
// Paper: pba-parallel-boundary, section 4.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/algorithms/boundary.hpp"
#include "slidefold/columns/lcs_blocks.hpp"
#include "slidefold/interrupt.hpp"

namespace slidefold {

// States that copy like numbers: rows may be lifted twice, and folded in another order of combines.
template <Monoid Op>
inline constexpr bool overlaps_v =
    std::is_trivially_copyable_v<typename Op::State> && sizeof(typename Op::State) <= 64;

// Two arrays of lcs up to this size stay in the second-level cache or near it: at 2^18 doubles both
// ways do 450 M rows/s, at 2^20 two chains 250 and blocks 440 (max, 2.8 GHz, 1.25 MB a core).
inline constexpr std::size_t kTwoChainBytes = std::size_t{4} << 20;

// How many results a column has: one a slide, unless partial from the first complete window on.
inline std::size_t boundary_results(std::size_t rows, std::size_t range, std::size_t slide,
                                    bool partial = false) {
  const std::size_t skipped = partial ? 0 : range / slide - (range % slide == 0 ? 1 : 0);
  return rows / slide > skipped ? rows / slide - skipped : 0;
}

// The fold of rows [from, to), to > from. Long stretches go in four chains.
template <Monoid Op, class Lift>
typename Op::State fold_rows(const Op& op, std::size_t from, std::size_t to, Lift& lift) {
  using State = typename Op::State;
  constexpr std::size_t kLanes = 4;
  if constexpr (overlaps_v<Op>) {
    const std::size_t lane = (to - from) / kLanes;
    if (lane >= 4) {
      std::array<State, kLanes> fold;
      for (std::size_t w = 0; w < kLanes; ++w) fold[w] = lift(from + w * lane);
      for (std::size_t i = 1; i < lane; ++i) {
        for (std::size_t w = 0; w < kLanes; ++w) {
          fold[w] = op.combine(fold[w], lift(from + w * lane + i));
        }
      }
      for (std::size_t w = 1; w < kLanes; ++w) fold[0] = op.combine(fold[0], fold[w]);
      for (std::size_t i = from + kLanes * lane; i < to; ++i)
        fold[0] = op.combine(fold[0], lift(i));
      return fold[0];
    }
  }
  State fold = lift(from);
  for (std::size_t i = from + 1; i < to; ++i) absorb(op, fold, lift(i));
  return fold;
}

// The rows of the first chunk: windows that start with the column, or only the one that is whole.
template <Monoid Op, class Lift, class Emit>
void slide_first_chunk(const Op& op, std::size_t rows, std::size_t window, bool partial, Lift& lift,
                       Emit& emit) {
  if (!partial) {
    if (rows >= window) emit(window - 1, fold_rows(op, 0, window, lift));
    return;
  }
  if (rows == 0) return;
  auto csa = lift(0);
  emit(0, csa);
  in_blocks(1, std::min(rows, window), [&](std::size_t i) {
    csa = op.combine(csa, lift(i));
    emit(i, csa);
  });
}

// The rows after the first chunk.
template <Monoid Op, class Lift, class Emit>
void slide_two_chains(const Op& op, std::size_t rows, std::size_t window, Lift& lift, Emit& emit) {
  using State = typename Op::State;
  if (rows <= window) return;
  const std::size_t last = window - 1;
  std::vector<State> buffers(2 * window);
  State* lcs = buffers.data();
  State* next = lcs + window;
  const auto merge = [&](std::size_t i, const State& csa) {
    return i == last ? csa : op.combine(lcs[i + 1], csa);
  };
  State fold = lift(last);
  lcs[last] = fold;
  for (std::size_t i = last; i-- > 1;) lcs[i] = fold = op.combine(lift(i), fold);
  std::size_t row = window;
  RowPoll polled;
  for (; row + window <= rows; row += window) {
    polled(window);
    State csa = lift(row);
    emit(row, merge(0, csa));
    if (last == 0) continue;
    next[last] = fold = lift(row + last);
    for (std::size_t i = 1, j = last - 1; i < last; ++i, --j) {
      csa = op.combine(csa, lift(row + i));
      emit(row + i, op.combine(lcs[i + 1], csa));
      fold = op.combine(lift(row + j), fold);
      next[j] = fold;
    }
    emit(row + last, op.combine(csa, lift(row + last)));
    std::swap(lcs, next);
  }
  if (row == rows) return;
  State csa = lift(row);
  emit(row, merge(0, csa));
  for (std::size_t i = 1; row + i < rows; ++i) {
    csa = op.combine(csa, lift(row + i));
    emit(row + i, merge(i, csa));
  }
}

template <Monoid Op, class Lift, class Emit>
void slide_blocks(const Op& op, std::size_t rows, std::size_t window, std::size_t block_rows,
                  Lift& lift, Emit& emit) {
  LcsBlocks<Op, Lift> blocks(op, rows, window, block_rows, lift);
  auto block = blocks.block();
  for (std::size_t index = 0; index < blocks.count(); ++index) {
    poll();
    blocks.make(index, block);
    blocks.use(index, block, emit);
  }
}

// Any algorithm of slices, over a column: slices are folded here, the rest is the engine's.
template <class Engine, class Lift, class Emit>
void slide_slices(Engine engine, std::size_t rows, std::size_t range, std::size_t slide,
                  bool partial, Lift& lift, Emit& emit) {
  const std::size_t tail = range % slide;
  std::size_t result = 0;
  Pacer pace;
  for (std::size_t row = 0; rows - row >= slide; row += slide) {
    pace();
    const std::size_t end = row + slide;
    engine.add(fold_rows(engine.op(), row, end - tail, lift), false);
    if (tail > 0) engine.add(fold_rows(engine.op(), end - tail, end, lift), true);
    if (engine.close_slice() || partial) emit(result++, engine.query());
  }
}

// Slides W[range, slide] over a column: lift(i) is the State of row i, emit(j, state) takes the
// j-th result. partial (slide 1 only): one result a row, the first ones of what is there. chunk = 0
// takes the best one.
template <Monoid Op, class Lift, class Emit>
void slide_sba(const Op& op, std::size_t rows, std::size_t range, std::size_t slide,
               std::size_t chunk, Lift lift, Emit emit, bool partial = false) {
  if (boundary_results(rows, range, slide, partial) == 0) return;
  range = std::min(range, rows);
  if constexpr (overlaps_v<Op>) {
    if (slide == 1 && (chunk == 0 || chunk >= range)) {
      const std::size_t skipped = partial ? 0 : range - 1;
      auto emit_row = [&](std::size_t row, const auto& state) { emit(row - skipped, state); };
      slide_first_chunk(op, rows, range, partial, lift, emit_row);
      if (2 * range * sizeof(typename Op::State) <= kTwoChainBytes) {
        slide_two_chains(op, rows, range, lift, emit_row);
      } else {
        slide_blocks(op, rows, range, kBlockRows, lift, emit_row);
      }
      return;
    }
  }
  const std::size_t slices = range / slide;
  slide_slices(Sba<Op>(op, slices, range % slide != 0, chunk == 0 ? slices : chunk), rows, range,
               slide, partial, lift, emit);
}

}  // namespace slidefold
