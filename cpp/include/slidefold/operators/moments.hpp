// Variance, standard deviation, skewness, kurtosis and the geometric mean.
//
// Layout: var and std: count, one of the values (the pivot), the mean's distance from it, and the
//   sum of squared deviations. geomean: sum of logarithms and count.
// Invariants: two parts merge by the pairwise (Chan) formula. The mean is never rounded to the
//   size of the values, only its distance from one of them: 1e9 + noise keeps all its digits. So do
//   integers beyond 2^53: what a float has no room for is part of the distance.
// Cost: var twelve flops a combine; geomean one addition a combine and one logarithm a lift.
// Paper: reactive-aggregator-flatfat, Table 1 (SampleStdDev, GeometricMean), in a form that neither
//   cancels nor overflows. Floats: not invertible.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

template <class T>
struct Var {
  static constexpr bool commutative = true, cheap_lift = true;
  std::int64_t ddof = 1;
  bool root = false;  // the standard deviation

  using In = T;
  struct State {
    double n = 0, pivot = 0, offset = 0, m2 = 0;  // the mean is pivot + offset
    template <class Archive>
    void archive(Archive& a) {
      a.count(n);
      a(pivot, offset, m2);
      if constexpr (Archive::kLoading) expect(!(m2 < 0), "a sum of squares is negative");
    }
  };
  using Out = double;
  State identity() const { return {}; }
  State lift(T value) const {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      const double high = static_cast<double>(value >> 32) * 0x1p32;
      const auto low = static_cast<double>(value & 0xffffffff);
      const double pivot = high + low;
      return {1, pivot, low - (pivot - high), 0};  // exactly what rounding took from the pivot
    } else {
      const auto pivot = static_cast<double>(value);
      return {1, pivot, 0, pivot - pivot};  // NaN for what is not finite
    }
  }
  State combine(const State& older, const State& newer) const {
    const double n = older.n + newer.n;
    if (older.n == 0) return newer;
    if (newer.n == 0) return older;
    const double delta = (newer.pivot - older.pivot) + (newer.offset - older.offset);
    const double share = newer.n / n;
    return {n, older.pivot, older.offset + delta * share,
            older.m2 + newer.m2 + delta * delta * older.n * share};
  }
  bool defined(const State& state) const { return state.n > static_cast<double>(ddof); }
  Out lower(const State& state) const {
    const double var = state.m2 / (state.n - static_cast<double>(ddof));
    return root ? std::sqrt(var) : var;
  }
};

// Skewness and kurtosis, corrected for bias: G1 and G2 as in pandas. Parts merge by the pairwise
// formulas for third and fourth moments (Pebay 2008).
template <class T, bool kFourth>
struct Shape {
  static constexpr bool commutative = true;
  using In = T;
  struct State {
    double n = 0, pivot = 0, offset = 0, m2 = 0, m3 = 0, m4 = 0;
    template <class Archive>
    void archive(Archive& a) {
      a.count(n);
      a(pivot, offset, m2, m3, m4);
      if constexpr (Archive::kLoading) {
        expect(!(m2 < 0) && !(m4 < 0), "a sum of even powers is negative");
      }
    }
  };
  using Out = double;
  State identity() const { return {}; }
  State lift(T value) const {
    const auto one = Var<T>{}.lift(value);
    return {one.n, one.pivot, one.offset, one.m2, one.m2, one.m2};  // 0, or NaN
  }
  State combine(const State& a, const State& b) const {
    if (a.n == 0) return b;
    if (b.n == 0) return a;
    const double n = a.n + b.n;
    const double delta = (b.pivot - a.pivot) + (b.offset - a.offset);
    const double share = b.n / n, other = a.n / n;
    const double d2 = delta * delta;
    State both = a;
    both.n = n;
    both.offset = a.offset + delta * share;
    both.m2 = a.m2 + b.m2 + d2 * a.n * share;
    both.m3 = a.m3 + b.m3 + d2 * delta * a.n * share * (other - share) +
              3 * delta * (other * b.m2 - share * a.m2);
    if constexpr (kFourth) {
      both.m4 = a.m4 + b.m4 +
                d2 * d2 * a.n * share * (other * other - other * share + share * share) +
                6 * d2 * (other * other * b.m2 + share * share * a.m2) +
                4 * delta * (other * b.m3 - share * a.m3);
    }
    return both;
  }
  // Values that are all equal have neither.
  bool defined(const State& state) const { return state.n >= (kFourth ? 4 : 3); }
  Out lower(const State& state) const {
    const double n = state.n;
    if (state.m2 == 0) return kFourth ? -3 : 0;
    if constexpr (kFourth) {
      const double ratio = state.m4 / state.m2 / state.m2;
      return (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (n * ratio) - 3 * (n - 1));
    } else {
      return n * std::sqrt(n - 1) / (n - 2) * (state.m3 / state.m2 / std::sqrt(state.m2));
    }
  }
};

// Zero among the values gives 0, a negative one NaN.
template <class T>
struct Geomean {
  static constexpr bool commutative = true;
  using In = T;
  struct State {
    double log_sum = 0;
    std::int64_t n = 0;
    template <class Archive>
    void archive(Archive& a) {
      a(log_sum);
      a.count(n);
    }
  };
  using Out = double;
  State identity() const { return {}; }
  State lift(T value) const { return {std::log(static_cast<double>(value)), 1}; }
  State combine(const State& older, const State& newer) const {
    return {older.log_sum + newer.log_sum, older.n + newer.n};
  }
  bool defined(const State& state) const { return state.n > 0; }
  Out lower(const State& state) const {
    return std::exp(state.log_sum / static_cast<double>(state.n));
  }
};

}  // namespace slidefold
