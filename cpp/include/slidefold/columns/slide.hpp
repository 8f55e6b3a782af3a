// A whole column through a rows window.
//
// Layout: `lift(row)` gives a row's state, `emit(row, state)` takes the fold of the last `window`
//   rows; rows before the window is full see what is there.
// Invariants: emit is called once a row, in order.
// Cost: slide, drain: the algorithm's own. slide_two_stacks: 3 combines a row, 2 * window states.
// Paper: daba-in-order, section 4 and section 7 (static windows; fill and drain).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "slidefold/operator.hpp"

namespace slidefold {

template <class Algorithm, class Lift, class Emit>
void slide(Algorithm& algorithm, std::size_t rows, std::size_t window, Lift&& lift, Emit&& emit) {
  std::size_t row = 0;
  for (; row < rows && row < window; ++row) {
    algorithm.insert(lift(row));
    emit(row, algorithm.query());
  }
  for (; row < rows; ++row) {
    algorithm.evict();
    algorithm.insert(lift(row));
    emit(row, algorithm.query());
  }
}

// Fills the window row by row, empties it, and starts over.
template <class Algorithm, class Lift, class Emit>
void drain(Algorithm& algorithm, std::size_t rows, std::size_t window, Lift&& lift, Emit&& emit) {
  for (std::size_t row = 0; row < rows; ++row) {
    if (algorithm.size() == window) {
      while (algorithm.size() > 0) algorithm.evict();
    }
    algorithm.insert(lift(row));
    emit(row, algorithm.query());
  }
}

// Two-Stacks Lite on a static window, unrolled: its flips then come every `window` rows, so the
// front list is an array of suffix folds of the block before and agg_b a running fold of this
// block. The suffix folds of this block are made in the same loop, from its far end: two
// independent chains of combines overlap, which is what makes it faster than one step at a time.
template <Monoid Op, class Lift, class Emit>
void slide_two_stacks(const Op& op, std::size_t rows, std::size_t window, Lift&& lift,
                      Emit&& emit) {
  using State = typename Op::State;
  if (window == 1) {
    for (std::size_t row = 0; row < rows; ++row) emit(row, lift(row));
    return;
  }
  if (window >= rows) {
    if (rows == 0) return;
    State prefix = lift(0);
    emit(0, prefix);
    for (std::size_t row = 1; row < rows; ++row) {
      prefix = op.combine(prefix, lift(row));
      emit(row, prefix);
    }
    return;
  }
  std::vector<State> before(window), here(window);
  const auto block = [&](std::size_t base, auto&& fold) {
    State prefix = lift(base);
    State suffix = lift(base + window - 1);
    emit(base, fold(prefix, 0));
    here[window - 1] = suffix;
    for (std::size_t i = 1; i + 1 < window; ++i) {
      prefix = op.combine(prefix, lift(base + i));
      suffix = op.combine(lift(base + window - 1 - i), suffix);
      emit(base + i, fold(prefix, i));
      here[window - 1 - i] = suffix;
    }
    emit(base + window - 1, op.combine(prefix, lift(base + window - 1)));
  };
  block(0, [](const State& prefix, std::size_t) { return prefix; });
  std::size_t base = window;
  const auto both = [&](const State& prefix, std::size_t i) {
    return op.combine(before[i + 1], prefix);
  };
  for (; base + window <= rows; base += window) {
    before.swap(here);
    block(base, both);
  }
  if (base == rows) return;
  before.swap(here);
  State prefix = lift(base);
  emit(base, both(prefix, 0));
  for (std::size_t i = 1; base + i < rows; ++i) {
    prefix = op.combine(prefix, lift(base + i));
    emit(base + i, both(prefix, i));
  }
}

// Nanoseconds of each step (evict, insert, query) of a full window.
template <class Algorithm, class Lift, class Emit>
std::vector<std::int64_t> latencies(Algorithm& algorithm, std::size_t rows, std::size_t window,
                                    Lift&& lift, Emit&& emit) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::int64_t> steps(rows > window ? rows - window : 0);
  for (std::size_t row = 0; row < rows; ++row) {
    if (row < window) {
      algorithm.insert(lift(row));
      emit(row, algorithm.query());
      continue;
    }
    auto value = lift(row);
    const auto start = Clock::now();
    algorithm.evict();
    algorithm.insert(std::move(value));
    emit(row, algorithm.query());
    steps[row - window] = (Clock::now() - start).count();
  }
  return steps;
}

}  // namespace slidefold
