// The moment sketch: quantiles from a handful of moments.
//
// Layout: count, extremes, one value (the pivot) and the mean's distance from it, and the sums of
// the
//   2nd to k-th powers of the deviations from the mean, in units of a power of two that is at least
//   the range. A single value has no sums.
// Invariants: |sum of p-th powers| <= n: nothing overflows, and a change of unit is exact. Parts
// merge
//   by the pairwise formula for central moments (Pebay), so that values far from zero keep their
//   digits.
// Cost: k^2 multiplications a combine. A quantile solves for the density of largest entropy with
// these
//   moments (Newton on k+1 Chebyshev coefficients), once a result.
// Paper: pba-parallel-boundary, section 7 (algebraic sketches). Commutes; floats: not invertible.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

inline constexpr std::size_t kMostMoments = 15;  // more are below the rounding errors

template <class T>
struct MomentSketch {
  static constexpr bool commutative = true;
  std::size_t k = 10;

  using In = T;
  struct State {
    double n = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    double pivot = 0, offset = 0;  // the mean is pivot + offset
    std::int64_t unit = 0;         // sums are of (deviation / 2^unit)^p
    std::int64_t wild = 0;         // values that are not finite, or beyond 1e300
    std::vector<double> sums;      // of powers 2..k; empty: all 0
  };
  using Out = State;

  template <class Archive>
  void archive(Archive& a, State& state) const {
    a.count(state.n);
    a(state.low, state.high, state.pivot, state.offset, state.unit);
    a.count(state.wild);
    a(state.sums);
    if constexpr (Archive::kLoading) {
      expect(state.sums.empty() || state.sums.size() == k - 1, "the moments are not as many");
      expect(-2000 < state.unit && state.unit < 2000, "the unit of the moments is not a float");
      const double range = state.high - state.low;
      const bool spans = -1e300 <= state.low && state.low <= state.high && state.high <= 1e300;
      const bool placed = state.low <= state.pivot && state.pivot <= state.high &&
                          std::abs(state.offset) <= 2 * range;
      expect(state.n == 0 || (spans && placed), "the moments are not those of values");
      if (state.sums.empty()) return;
      // Powers of deviations below the unit; rounding may add to their sum.
      const bool small = std::all_of(state.sums.begin(), state.sums.end(),
                                     [&](double sum) { return std::abs(sum) <= 2 * state.n; });
      expect(range > 0 && state.n > 1 && small && state.unit == std::ilogb(range) + 1,
             "the moments are not those of values");
    }
  }

  State identity() const { return {}; }
  State lift(T value) const {
    const auto x = static_cast<double>(value);
    State one;
    if (!(std::abs(x) <= 1e300)) {
      one.wild = 1;
    } else {
      one.n = 1;
      one.low = one.high = one.pivot = x;
    }
    return one;
  }
  State combine(const State& older, const State& newer) const {
    if (older.n == 0 || newer.n == 0) {
      State both = older.n == 0 ? newer : older;
      both.wild = older.wild + newer.wild;
      return both;
    }
    State both;
    both.n = older.n + newer.n;
    both.low = std::min(older.low, newer.low);
    both.high = std::max(older.high, newer.high);
    both.wild = older.wild + newer.wild;
    both.pivot = older.pivot;
    const double delta = (newer.pivot - older.pivot) + (newer.offset - older.offset);
    both.offset = older.offset + delta * (newer.n / both.n);
    if (both.low == both.high) return both;
    both.unit = std::ilogb(both.high - both.low) + 1;
    both.sums.assign(k - 1, 0);
    const double step = std::ldexp(delta, -static_cast<int>(both.unit));
    shift(older, -step * (newer.n / both.n), both);
    shift(newer, step * (older.n / both.n), both);
    return both;
  }
  bool defined(const State& state) const { return state.n > 0 || state.wild > 0; }
  Out lower(const State& state) const { return state; }

 private:
  // Adds the sums of a part, moved from its own mean to the common one.
  void shift(const State& part, double by, State& to) const {
    std::array<double, kMostMoments + 1> sums{};  // of powers 0..k, in the new unit
    sums[0] = part.n;
    const int finer = static_cast<int>(part.unit - to.unit);
    for (std::size_t p = 2; p <= part.sums.size() + 1; ++p) {
      sums[p] = std::ldexp(part.sums[p - 2], finer * static_cast<int>(p));
    }
    for (std::size_t p = 2; p <= k; ++p) {
      double total = 0, power = 1, choose = 1;  // by^j, p over j
      for (std::size_t j = 0; j <= p; ++j) {
        total += choose * power * sums[p - j];
        power *= by;
        choose = choose * static_cast<double>(p - j) / static_cast<double>(j + 1);
      }
      to.sums[p - 2] += total;
    }
  }
};

}  // namespace slidefold
