// Two-Stacks Lite over a whole column and a static window, unrolled.
//
// Layout: on a static window the flips come every `window` rows, so the front list is an array of
//   suffix folds of the block before, and agg_b a running fold of this block. The suffix folds of
//   this block are made in the same loop, from its far end, and take the slots that this block has
//   just used up: one array serves both, read upwards and downwards in turn.
// Invariants: I1 before step i of a block, the suffix folds from row i+1 of the block before are in
//   the array, and the slot that step i writes is free.
// Cost: 3 combines a row in two independent chains, which overlap; `window` states.
// Paper: daba-in-order, section 4.
#pragma once

#include <cstddef>

#include "slidefold/operator.hpp"
#include "slidefold/storage/buffer.hpp"

namespace slidefold {

template <Monoid Op, class Lift, class Emit>
class TwoStacksColumn {
  using State = typename Op::State;

 public:
  TwoStacksColumn(const Op& op, std::size_t rows, std::size_t window, Lift& lift, Emit& emit)
      : op_(op), rows_(rows), window_(window), lift_(lift), emit_(emit) {}

  void run() {
    if (window_ == 1) {
      for (std::size_t row = 0; row < rows_; ++row) emit_(row, lift_(row));
      return;
    }
    if (window_ >= rows_) return grow(rows_);
    grow(window_);
    folds_ = Buffer<State>(window_);
    suffixes_of_first_block();
    bool downwards = false;
    std::size_t base = window_;
    for (; base + window_ <= rows_; base += window_, downwards = !downwards) {
      downwards ? block<true>(base) : block<false>(base);
    }
    if (base < rows_) downwards ? rest<true>(base) : rest<false>(base);
  }

 private:
  // Rows while the window still grows.
  void grow(std::size_t count) {
    if (count == 0) return;
    State prefix = lift_(0);
    emit_(0, prefix);
    for (std::size_t row = 1; row < count; ++row) {
      prefix = op_.combine(prefix, lift_(row));
      emit_(row, prefix);
    }
  }

  void suffixes_of_first_block() {
    State suffix = lift_(window_ - 1);
    folds_[window_ - 1] = suffix;
    for (std::size_t i = window_ - 1; i-- > 1;) {
      suffix = op_.combine(lift_(i), suffix);
      folds_[i] = suffix;
    }
  }

  // The fold of the block before, from its row i on.
  template <bool kDownwards>
  const State& before(std::size_t i) const {
    return folds_[kDownwards ? window_ - 1 - i : i];
  }

  template <bool kDownwards>
  void block(std::size_t base) {
    const std::size_t far = window_ - 1;
    State prefix = lift_(base);
    State suffix = lift_(base + far);
    emit_(base, op_.combine(before<kDownwards>(1), prefix));
    folds_[kDownwards ? far : 0] = suffix;
    for (std::size_t i = 1; i < far; ++i) {
      prefix = op_.combine(prefix, lift_(base + i));
      suffix = op_.combine(lift_(base + far - i), suffix);
      emit_(base + i, op_.combine(before<kDownwards>(i + 1), prefix));
      folds_[kDownwards ? far - i : i] = suffix;
    }
    emit_(base + far, op_.combine(prefix, lift_(base + far)));
  }

  template <bool kDownwards>
  void rest(std::size_t base) {
    State prefix = lift_(base);
    emit_(base, op_.combine(before<kDownwards>(1), prefix));
    for (std::size_t i = 1; base + i < rows_; ++i) {
      prefix = op_.combine(prefix, lift_(base + i));
      emit_(base + i, op_.combine(before<kDownwards>(i + 1), prefix));
    }
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
  TwoStacksColumn(op, rows, window, lift, emit).run();
}

}  // namespace slidefold
