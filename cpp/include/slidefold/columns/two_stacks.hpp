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
// Cost: 3 combines a row; `window` states.
// Paper: daba-in-order, section 4.
#pragma once

#include <algorithm>
#include <cstddef>

#include "slidefold/interrupt.hpp"
#include "slidefold/operator.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold {

template <Monoid Op, class Lift, class Emit>
class TwoStacksColumn {
  using State = typename Op::State;

 public:
  TwoStacksColumn(const Op& op, std::size_t rows, std::size_t window, Lift& lift, Emit& emit)
      : op_(op), rows_(rows), window_(window), lift_(lift), emit_(emit) {}

  void slide() {
    if (window_ == 1) return each();
    if (window_ >= rows_) return grow(0);
    folds_ = Buffer<State>(window_);
    fill(0);
    std::size_t base = window_;
    bool downwards = false;
    for (; base + window_ <= rows_; poll()) {
      const std::size_t stop = std::min(rows_, base + std::max(window_, kPollRows));
      for (; base + window_ <= stop; base += window_) {
        if constexpr (cheap_lift_v<Op>) {
          downwards ? overlapped_block<true>(base) : overlapped_block<false>(base);
          downwards = !downwards;
        } else {
          block(base);
        }
      }
    }
    if (base < rows_) downwards ? rest<true>(base) : rest<false>(base);
  }

  void drain() {
    if (window_ == 1) return each();
    if (window_ < rows_) folds_ = Buffer<State>(window_);
    std::size_t base = 0;
    for (RowPoll polled; rows_ - base > window_; base += window_) {
      polled(window_);
      fill(base);
    }
    grow(base);
  }

 private:
  void each() {
    in_blocks(0, rows_, [&](std::size_t row) { emit_(row, lift_(row)); });
  }

  // The column's last rows, if the window was empty before.
  void grow(std::size_t base) {
    if (base == rows_) return;
    State prefix = lift_(base);
    emit_(base, prefix);
    in_blocks(base + 1, rows_, [&](std::size_t row) {
      prefix = op_.combine(prefix, lift_(row));
      emit_(row, prefix);
    });
  }

  // A block of rows into an empty window, and the flip after it.
  void fill(std::size_t base) {
    const std::size_t far = window_ - 1;
    State* const folds = folds_.data();
    State prefix = lift_(base);
    emit_(base, prefix);
    if constexpr (cheap_lift_v<Op>) {
      State suffix = lift_(base + far);
      folds[far] = suffix;
      in_blocks(1, window_, [&](std::size_t i) {
        prefix = op_.combine(prefix, lift_(base + i));
        suffix = op_.combine(lift_(base + far - i), suffix);
        emit_(base + i, prefix);
        folds[far - i] = suffix;
      });
    } else {
      folds[0] = prefix;
      in_blocks(1, window_, [&](std::size_t i) {
        const State value = lift_(base + i);
        prefix = op_.combine(prefix, value);
        emit_(base + i, prefix);
        folds[i] = value;
      });
      flip(0);
    }
  }

  void flip(std::size_t first) {
    State* const folds = folds_.data();
    State suffix = folds[window_ - 1];
    in_blocks(first + 1, window_, [&](std::size_t step) {
      const std::size_t i = window_ - 1 - (step - first);
      suffix = op_.combine(folds[i], suffix);
      folds[i] = suffix;
    });
  }

  void block(std::size_t base) {
    const std::size_t far = window_ - 1;
    State* const folds = folds_.data();
    State prefix = lift_(base);
    emit_(base, op_.combine(folds[1], prefix));
    in_blocks(1, far, [&](std::size_t i) {
      const State value = lift_(base + i);
      prefix = op_.combine(prefix, value);
      emit_(base + i, op_.combine(folds[i + 1], prefix));
      folds[i] = value;
    });
    folds[far] = lift_(base + far);
    emit_(base + far, op_.combine(prefix, folds[far]));
    flip(1);
  }

  // The fold of the block before, from its row i on.
  template <bool kDownwards>
  const State& before(std::size_t i) const {
    return folds_[kDownwards ? window_ - 1 - i : i];
  }

  // Sums wait for each addition: two chains that overlap do 860 M rows/s, one after the other 420.
  // A max of floats waits for nothing, but lifts slowly: 400 and 480 (2^8 rows in cache, 3.4 GHz).
  template <bool kDownwards>
  void overlapped_block(std::size_t base) {
    const std::size_t far = window_ - 1;
    State prefix = lift_(base);
    State suffix = lift_(base + far);
    emit_(base, op_.combine(before<kDownwards>(1), prefix));
    folds_[kDownwards ? far : 0] = suffix;
    in_blocks(1, far, [&](std::size_t i) {
      prefix = op_.combine(prefix, lift_(base + i));
      suffix = op_.combine(lift_(base + far - i), suffix);
      emit_(base + i, op_.combine(before<kDownwards>(i + 1), prefix));
      folds_[kDownwards ? far - i : i] = suffix;
    });
    emit_(base + far, op_.combine(prefix, lift_(base + far)));
  }

  template <bool kDownwards>
  void rest(std::size_t base) {
    State prefix = lift_(base);
    emit_(base, op_.combine(before<kDownwards>(1), prefix));
    in_blocks(1, rows_ - base, [&](std::size_t i) {
      prefix = op_.combine(prefix, lift_(base + i));
      emit_(base + i, op_.combine(before<kDownwards>(i + 1), prefix));
    });
  }

  const Op& op_;
  const std::size_t rows_;
  const std::size_t window_;
  Lift& lift_;
  Emit& emit_;
  Buffer<State> folds_;
};

template <Monoid Op, class Lift, class Emit>
void slide_two_stacks(const Op& op, std::size_t rows, std::size_t window, Lift&& lift,
                      Emit&& emit) {
  TwoStacksColumn(op, rows, window, lift, emit).slide();
}

template <Monoid Op, class Lift, class Emit>
void drain_two_stacks(const Op& op, std::size_t rows, std::size_t window, Lift&& lift,
                      Emit&& emit) {
  TwoStacksColumn(op, rows, window, lift, emit).drain();
}

}  // namespace slidefold
