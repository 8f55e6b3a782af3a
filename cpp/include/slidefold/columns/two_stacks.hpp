// Two-Stacks Lite over a whole column, unrolled: a static window, and one that fills and drains.
//
// Layout: the flips come every `window` rows, so the front list is an array of suffix folds of the
//   block before, and agg_b a running fold of this block. There are two ways to make the suffix
//   folds of this block. Rows that are cheap to lift are lifted again, from the block's far end and
//   in the same loop; their folds take the slots that this block has just used up, so that the
//   array is read upwards and downwards in turn. Other rows are kept, each in the slot that it has
//   just used up, and folded in place at the end of the block, as the algorithm itself does.
// Invariants: I1 before step i of a block, the suffix folds from row i+1 of the block before are in
//   the array, and the slot that step i writes is free. I2 the combines are those of
//   algorithms/two_stacks_lite.hpp, with the same arguments, but for folds that no row sees.
// Cost: 3 combines per row; `window` states, which the next column or group uses again.
// Paper: daba-in-order, section 4.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "slidefold/interrupt.hpp"
#include "slidefold/operator.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold {

// A copy for the time of a loop, if that is a copy of bytes. The compiler keeps it in registers; a
// member it would load again after each result that is written.
template <class T>
using LoopCopy = std::conditional_t<std::is_trivially_copyable_v<T>, T, T&>;

// lift(row) makes a state, emit(row, state) takes a fold. Both are copied: they point to what they
// change.
template <Monoid Op, class Lift, class Emit>
class TwoStacksColumn {
  using State = typename Op::State;

 public:
  TwoStacksColumn(const Op& op, std::size_t window, const Lift& lift, const Emit& emit)
      : op_(op), window_(window), lift_(lift), emit_(emit) {}

  // The rows first to last, into an empty window.
  void slide(std::size_t first, std::size_t last) {
    if (window_ == 1) return each(first, last);
    if (window_ >= last - first) return grow(first, last);
    if (folds_.empty()) folds_ = Buffer<State>(window_);
    fill(first);
    std::size_t base = first + window_;
    bool downwards = false;
    for (; last - base >= window_; poll()) {
      const std::size_t stop = base + std::min(last - base, std::max(window_, kPollRows));
      for (; stop - base >= window_; base += window_) {
        if constexpr (cheap_lift_v<Op>) {
          downwards ? overlapped_block<true>(base) : overlapped_block<false>(base);
          downwards = !downwards;
        } else {
          block(base);
        }
      }
    }
    if (base < last) downwards ? rest<true>(base, last) : rest<false>(base, last);
  }

  void drain(std::size_t first, std::size_t last) {
    if (window_ == 1) return each(first, last);
    if (window_ < last - first && folds_.empty()) folds_ = Buffer<State>(window_);
    std::size_t base = first;
    for (RowPoll polled; last - base > window_; base += window_) {
      polled(window_);
      fill(base);
    }
    grow(base, last);
  }

 private:
  void each(std::size_t first, std::size_t last) {
    LoopCopy<Lift> lift = lift_;
    LoopCopy<Emit> emit = emit_;
    in_blocks(first, last, [&](std::size_t row) { emit(row, lift(row)); });
  }

  // The column's last rows, if the window was empty before.
  void grow(std::size_t base, std::size_t last) {
    if (base == last) return;
    LoopCopy<const Op> op = op_;
    LoopCopy<Lift> lift = lift_;
    LoopCopy<Emit> emit = emit_;
    State prefix = lift(base);
    emit(base, prefix);
    in_blocks(base + 1, last, [&](std::size_t row) {
      prefix = op.combine(prefix, lift(row));
      emit(row, prefix);
    });
  }

  // A block of rows into an empty window, and the flip after it.
  void fill(std::size_t base) {
    LoopCopy<const Op> op = op_;
    LoopCopy<Lift> lift = lift_;
    LoopCopy<Emit> emit = emit_;
    const std::size_t far = window_ - 1;
    State* const folds = folds_.data();
    State prefix = lift(base);
    emit(base, prefix);
    if constexpr (cheap_lift_v<Op>) {
      State suffix = lift(base + far);
      folds[far] = suffix;
      in_blocks(1, window_, [&](std::size_t i) {
        prefix = op.combine(prefix, lift(base + i));
        suffix = op.combine(lift(base + far - i), suffix);
        emit(base + i, prefix);
        folds[far - i] = suffix;
      });
    } else {
      folds[0] = prefix;
      in_blocks(1, window_, [&](std::size_t i) {
        const State value = lift(base + i);
        prefix = op.combine(prefix, value);
        emit(base + i, prefix);
        folds[i] = value;
      });
      flip(0);
    }
  }

  void flip(std::size_t first) {
    LoopCopy<const Op> op = op_;
    State* const folds = folds_.data();
    State suffix = folds[window_ - 1];
    in_blocks(first + 1, window_, [&](std::size_t step) {
      const std::size_t i = window_ - 1 - (step - first);
      suffix = op.combine(folds[i], suffix);
      folds[i] = suffix;
    });
  }

  void block(std::size_t base) {
    LoopCopy<const Op> op = op_;
    LoopCopy<Lift> lift = lift_;
    LoopCopy<Emit> emit = emit_;
    const std::size_t far = window_ - 1;
    State* const folds = folds_.data();
    State prefix = lift(base);
    emit(base, op.combine(folds[1], prefix));
    in_blocks(1, far, [&](std::size_t i) {
      const State value = lift(base + i);
      prefix = op.combine(prefix, value);
      emit(base + i, op.combine(folds[i + 1], prefix));
      folds[i] = value;
    });
    folds[far] = lift(base + far);
    emit(base + far, op.combine(prefix, folds[far]));
    flip(1);
  }

  // Sums wait for each addition: two chains that overlap do 860 M rows/s, one after the other 420.
  // A max of floats waits for nothing, but lifts slowly: 400 and 480 (2^8 rows in cache, 3.4 GHz).
  template <bool kDownwards>
  void overlapped_block(std::size_t base) {
    LoopCopy<const Op> op = op_;
    LoopCopy<Lift> lift = lift_;
    LoopCopy<Emit> emit = emit_;
    const std::size_t far = window_ - 1;
    State* const folds = folds_.data();
    State prefix = lift(base);
    State suffix = lift(base + far);
    emit(base, op.combine(folds[kDownwards ? far - 1 : 1], prefix));
    folds[kDownwards ? far : 0] = suffix;
    in_blocks(1, far, [&](std::size_t i) {
      prefix = op.combine(prefix, lift(base + i));
      suffix = op.combine(lift(base + far - i), suffix);
      // The fold of the block before, from its row i + 1 on.
      emit(base + i, op.combine(folds[kDownwards ? far - 1 - i : i + 1], prefix));
      folds[kDownwards ? far - i : i] = suffix;
    });
    emit(base + far, op.combine(prefix, lift(base + far)));
  }

  template <bool kDownwards>
  void rest(std::size_t base, std::size_t last) {
    LoopCopy<const Op> op = op_;
    LoopCopy<Lift> lift = lift_;
    LoopCopy<Emit> emit = emit_;
    const std::size_t far = window_ - 1;
    const State* const folds = folds_.data();
    State prefix = lift(base);
    emit(base, op.combine(folds[kDownwards ? far - 1 : 1], prefix));
    in_blocks(1, last - base, [&](std::size_t i) {
      prefix = op.combine(prefix, lift(base + i));
      emit(base + i, op.combine(folds[kDownwards ? far - 1 - i : i + 1], prefix));
    });
  }

  const Op op_;
  const std::size_t window_;
  Lift lift_;
  Emit emit_;
  Buffer<State> folds_;
};

template <Monoid Op, class Lift, class Emit>
void slide_two_stacks(const Op& op, std::size_t rows, std::size_t window, const Lift& lift,
                      const Emit& emit) {
  TwoStacksColumn(op, window, lift, emit).slide(0, rows);
}

template <Monoid Op, class Lift, class Emit>
void drain_two_stacks(const Op& op, std::size_t rows, std::size_t window, const Lift& lift,
                      const Emit& emit) {
  TwoStacksColumn(op, window, lift, emit).drain(0, rows);
}

}  // namespace slidefold
