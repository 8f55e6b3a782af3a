// A whole column through a rows window.
//
// Layout: `lift(row)` gives a row's state, `emit(row, state)` takes the fold of the last `window`
//   rows; rows before the window is full see what is there.
// Invariants: emit is called once per row, in order.
// Cost: the algorithm's own.
// Paper: daba-in-order, section 7 (static windows; fill and drain).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/interrupt.hpp"

namespace slidefold {

// A window that drains is filled row by row, emptied, and filled again.
template <class Algorithm, class Lift, class Emit>
void slide(Algorithm& algorithm, std::size_t rows, std::size_t window, bool drain, Lift&& lift,
           Emit&& emit) {
  const std::size_t leaving = drain ? window : 1;
  std::size_t room = window;
  Pacer pace;
  for (std::size_t row = 0; row < rows; ++row, --room) {
    pace();
    if (room == 0) {
      for (; room < leaving; ++room) algorithm.evict();
    }
    algorithm.insert(lift(row));
    emit(row, algorithm.query());
  }
}

// Nanoseconds of each step (evict, insert, query) of a full window.
template <class Algorithm, class Lift, class Emit>
std::vector<std::int64_t> latencies(Algorithm& algorithm, std::size_t rows, std::size_t window,
                                    Lift&& lift, Emit&& emit) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::int64_t> steps(rows > window ? rows - window : 0);
  Pacer pace;
  for (std::size_t row = 0; row < rows; ++row) {
    pace();
    auto value = lift(row);
    const auto start = Clock::now();
    if (row >= window) algorithm.evict();
    algorithm.insert(std::move(value));
    emit(row, algorithm.query());
    if (row >= window) steps[row - window] = (Clock::now() - start).count();
  }
  return steps;
}

}  // namespace slidefold
