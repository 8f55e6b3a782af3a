// DABA Lite over a whole column and a static window, unrolled.
//
// Layout: as in algorithms/daba_lite.hpp, with the cursors in local variables. A step is an evict
// and
//   an insert, each with its fixup. Between flips the fixups shrink m times and then shift m times,
//   so whole runs of steps need no case distinction.
// Invariants: as in algorithms/daba_lite.hpp.
// Cost: 4 combines a row on average and at most 6; the window rounded up to a power of two states.
// Paper: daba-in-order, section 6.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "slidefold/operator.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold {

template <Monoid Op, class Lift, class Emit>
void slide_daba_lite(const Op& op, std::size_t rows, std::size_t window, Lift&& lift, Emit&& emit) {
  using State = typename Op::State;
  using Cursor = std::uint64_t;
  Buffer<State> slots(std::bit_ceil(std::min(window, std::max<std::size_t>(rows, 1))));
  State* const base = slots.data();
  const Cursor mask = slots.size() - 1;
  Cursor f = 0, l = 0, r = 0, a = 0, b = 0, e = 0;
  State agg_ra = op.identity(), agg_b = op.identity();
  const auto at = [base, mask](Cursor i) -> State& { return base[i & mask]; };

  const auto fixup = [&] {
    if (f == b) {  // singleton, or empty
      b = a = r = l = e;
      return;
    }
    if (l == b) {  // flip
      l = f;
      a = b = e;
      agg_ra = agg_b;
    }
    if (l == r) {  // shift
      ++a, ++r, ++l;
    } else {  // shrink
      at(l) = op.combine(at(l), agg_ra);
      ++l;
      if (a != b) at(a - 1) = op.combine(at(a - 1), at(a));
      --a;
    }
  };
  const auto insert = [&](const State& value) {
    at(e) = value;
    agg_b = b == e ? value : op.combine(agg_b, value);
    ++e;
    fixup();
  };
  const auto answer = [&](std::size_t row) {
    emit(row, b == e ? at(f) : op.combine(at(f), agg_b));
  };

  std::size_t row = 0;
  for (; row < std::min(rows, window); ++row) {
    insert(lift(row));
    answer(row);
  }
  while (row < rows) {
    ++f;
    fixup();
    insert(lift(row));
    answer(row++);
    if (b == e) continue;
    // Steps whose two fixups both shrink. At least one shrink has been since the flip, so a < b.
    State accumulator = at(a);
    for (std::size_t run = std::min<std::size_t>((r - l) / 2, rows - row); run > 0; --run) {
      ++f;
      at(l) = op.combine(at(l), agg_ra);
      at(l + 1) = op.combine(at(l + 1), agg_ra);
      l += 2;
      at(a - 1) = accumulator = op.combine(at(a - 1), accumulator);
      at(a - 2) = accumulator = op.combine(at(a - 2), accumulator);
      a -= 2;
      const State value = lift(row);
      at(e++) = value;
      agg_b = op.combine(agg_b, value);
      emit(row++, op.combine(at(f), agg_b));
    }
    if (l != r) continue;
    // Steps whose two fixups both shift.
    for (std::size_t run = std::min<std::size_t>((b - l) / 2, rows - row); run > 0; --run) {
      ++f;
      l += 2;
      const State value = lift(row);
      at(e++) = value;
      agg_b = op.combine(agg_b, value);
      emit(row++, op.combine(at(f), agg_b));
    }
    r = a = l;
  }
}

}  // namespace slidefold
