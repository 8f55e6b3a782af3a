// A float sum that keeps what rounding takes away.
//
// Layout: the rounded sum and the rest, together about 106 bits.
// Invariants: |low| <= ulp(high) / 2 while high is finite, else low is 0.
// Cost: twenty flops a combine; the error is about n * 2^-104 of the sum of absolute inputs, so
// that
//   lower rounds once for any window that fits in memory.
// Paper: none. Commutes; not invertible, as an infinity cannot be taken away.
#pragma once

#include <cmath>

#include "slidefold/operator.hpp"

namespace slidefold {

struct CompensatedSum {
  static constexpr bool commutative = true;
  using In = double;
  struct State {
    double high = 0, low = 0;
    template <class Archive>
    void archive(Archive& a) {
      a(high, low);
    }
  };
  using Out = double;
  State identity() const { return {}; }
  State lift(double value) const { return {value, 0}; }
  State combine(const State& older, const State& newer) const {
    const State high = exact_sum(older.high, newer.high);
    if (!std::isfinite(high.high)) return {high.high, 0};  // the rest would be inf - inf
    const State low = exact_sum(older.low, newer.low);
    const State both = quick_sum(high.high, high.low + low.high);
    return quick_sum(both.high, both.low + low.low);
  }
  Out lower(const State& state) const { return state.high + state.low; }

 private:
  // The rounded sum and what rounding took away, exactly (Knuth); the second form needs |a| >= |b|.
  static State exact_sum(double a, double b) {
    const double sum = a + b;
    const double part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
  }
  static State quick_sum(double a, double b) {
    const double sum = a + b;
    return {sum, b - (sum - a)};
  }
};

}  // namespace slidefold
