// DABA Lite over a whole column, unrolled: a static window, and one that fills and drains.
//
// Layout: on a static window of n rows the flips come every m = n/2 rows, rounded down. From one to
//   the next a window is three parts: a suffix fold of m rows, agg_ra, which folds the m rows after
//   them, and agg_b, the running fold of the rows since the flip. Meanwhile the suffix folds of the
//   middle m rows are made from their far end, to be the front after the next flip. Each takes the
//   slot of the front fold that has just left, so that one array serves both, read upwards and
//   downwards in turn. Rows that are cheap to lift are lifted again for it; others are kept in
//   `values`, which is used in the same way.
//   A window that grows flips at 2, 4, 8, .. rows, and one that drains at most once more.
// Invariants: I1 the combines are those of algorithms/daba_lite.hpp, with the same arguments. Some
//   are made at another time: a full window shrinks once per row, not twice in one half of a cycle
//   and never in the other; one that grows or drains shrinks all at the flip.
// Cost: 4 combines per row; n states, and n/2 for rows that are kept.
// Paper: daba-in-order, section 6.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "slidefold/interrupt.hpp"
#include "slidefold/operator.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold {

template <Monoid Op, class Lift, class Emit>
class DabaLiteColumn {
  using State = typename Op::State;

 public:
  DabaLiteColumn(const Op& op, std::size_t rows, std::size_t window, Lift& lift, Emit& emit)
      : op_(op),
        rows_(rows),
        window_(std::min(window, rows)),
        lift_(lift),
        emit_(emit),
        slots_(window_) {}

  void slide() {
    if (window_ <= 1) return each();
    polled_(window_);
    grow(0, window_);
    if (window_ == rows_) return;
    window_ % 2 == 0 ? cycles<true>() : cycles<false>();
  }

  void drain() {
    if (window_ <= 1) return each();
    for (std::size_t row = 0; row < rows_; row += window_) {
      polled_(window_);
      grow(row, std::min(window_, rows_ - row));
      if (row + window_ >= rows_) return;
      flip_while_draining();
    }
  }

 private:
  void each() {
    in_blocks(0, rows_, [&](std::size_t row) { emit_(row, lift_(row)); });
  }

  // Inserts `count` rows into an empty window.
  void grow(std::size_t base, std::size_t count) {
    State* const slots = slots_.data();
    State head = lift_(base);  // the fold of the front
    slots[0] = head;
    emit_(base, head);
    State agg_b = head;
    std::size_t front = 1;
    while (front < count) {
      // As many rows as the front has; the last one flips.
      const std::size_t row = base + front, cycle = std::min(front, count - front);
      State* const back = slots + front;
      State value = lift_(row);
      agg_b = value;
      back[0] = value;
      for (std::size_t i = 1; i < cycle; ++i) {
        emit_(row + i - 1, op_.combine(head, agg_b));
        value = lift_(row + i);
        agg_b = op_.combine(agg_b, value);
        back[i] = value;
      }
      const State whole = op_.combine(head, agg_b);
      emit_(row + cycle - 1, whole);
      if (cycle < front) break;
      head = whole;
      slots[0] = head;
      shrink(slots, front, agg_b, value);
      front *= 2;
    }
    front_ = front;
    agg_b_ = agg_b;
  }

  // The front of `half` folds, and the `half` rows after it that agg_ra folds, become one front.
  void shrink(State* front, std::size_t half, State agg_ra, State accumulator) {
    State* const last = front + 2 * half - 1;
    for (std::size_t i = 1; i < half; ++i) {
      front[i] = op_.combine(front[i], agg_ra);
      accumulator = op_.combine(last[-static_cast<std::ptrdiff_t>(i)], accumulator);
      last[-static_cast<std::ptrdiff_t>(i)] = accumulator;
    }
  }

  // The one flip of a window that drains: as many rows of the front are left as the back has.
  void flip_while_draining() {
    const std::size_t half = window_ - front_;
    if (half == 0) return;
    State* const left = slots_.data() + front_ - half;
    left[0] = op_.combine(left[0], agg_b_);
    shrink(left, half, agg_b_, slots_[window_ - 1]);
  }

  // The rows after the first window.
  template <bool kEven>
  void cycles() {
    const std::size_t half = window_ / 2;
    std::size_t row = window_, folded = window_ - front_;
    State agg_b = agg_b_;
    // Up to the first flip, where the front has `half` rows left.
    for (std::size_t i = 1; i < front_ - half; ++i, ++row) {
      if (row == rows_) return;
      const State value = lift_(row);
      agg_b = folded++ == 0 ? value : op_.combine(agg_b, value);
      emit_(row, op_.combine(slots_[i], agg_b));
    }
    if (row == rows_) return;
    agg_b_ = agg_b;
    if constexpr (!cheap_lift_v<Op>) {
      const std::size_t last = row - (kEven ? 0 : 1);
      values_ = Buffer<State>(half);
      for (std::size_t i = kEven ? 1 : 0; i < half; ++i) values_[i] = lift_(last - i);
    }
    for (bool downwards = false; row < rows_; row += half, downwards = !downwards) {
      const std::size_t count = std::min(half, rows_ - row);
      polled_(count);
      downwards ? cycle<kEven, true>(row, count) : cycle<kEven, false>(row, count);
    }
  }

  // From a flip to the next. If the window is even, the first row belongs to agg_ra still.
  template <bool kEven, bool kDownwards>
  void cycle(std::size_t row, std::size_t count) {
    const std::size_t half = window_ / 2, last = row - (kEven ? 0 : 1);
    State* const folds = slots_.data() + front_ - half;
    State* const values = values_.data();
    const auto fold = [=](std::size_t i) -> State& { return folds[kDownwards ? half - 1 - i : i]; };
    // The lifted row last - i. Where rows are kept, its slot now keeps the newer one.
    const auto exchanged = [=, this](std::size_t i, const State& newer) {
      if constexpr (cheap_lift_v<Op>) {
        return lift_(last - i);
      } else {
        static_cast<void>(this);  // Clang warns about a capture that one branch does not use
        return std::exchange(values[kDownwards ? half - (kEven ? 0 : 1) - i : i], newer);
      }
    };
    State value = lift_(row);
    State agg_ra, agg_b, suffix;
    std::size_t i = 1;
    if constexpr (kEven) {
      agg_ra = half == 1 ? value : op_.combine(agg_b_, value);
      emit_(row, op_.combine(fold(0), agg_ra));
      fold(0) = suffix = value;
      if (count == 1) return;
      agg_b = value = lift_(row + 1);
      suffix = op_.combine(exchanged(1, value), suffix);
      emit_(row + 1, op_.combine(op_.combine(fold(1), agg_ra), agg_b));
      fold(1) = suffix;
      i = 2;
    } else {
      agg_ra = agg_b_;
      agg_b = value;
      suffix = exchanged(0, value);
      emit_(row, op_.combine(op_.combine(fold(0), agg_ra), agg_b));
      fold(0) = suffix;
    }
    // No polls in here: the states of the loop must stay in registers. A row of the operators that
    // come here takes at most 15 ns, so a window of 10^7 rows polls every 75 ms.
    for (; i < count; ++i) {
      value = lift_(row + i);
      agg_b = op_.combine(agg_b, value);
      suffix = op_.combine(exchanged(i, value), suffix);
      emit_(row + i, op_.combine(op_.combine(fold(i), agg_ra), agg_b));
      fold(i) = suffix;
    }
    agg_b_ = agg_b;
  }

  const Op& op_;
  const std::size_t rows_;
  const std::size_t window_;
  Lift& lift_;
  Emit& emit_;
  Buffer<State> slots_;
  Buffer<State> values_;
  std::size_t front_ = 0;  // rows of the front when the window had grown
  State agg_b_{};
  RowPoll polled_;
};

template <Monoid Op, class Lift, class Emit>
void slide_daba_lite(const Op& op, std::size_t rows, std::size_t window, Lift&& lift, Emit&& emit) {
  DabaLiteColumn(op, rows, window, lift, emit).slide();
}

template <Monoid Op, class Lift, class Emit>
void drain_daba_lite(const Op& op, std::size_t rows, std::size_t window, Lift&& lift, Emit&& emit) {
  DabaLiteColumn(op, rows, window, lift, emit).drain();
}

}  // namespace slidefold
