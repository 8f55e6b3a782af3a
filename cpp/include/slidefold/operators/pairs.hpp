// Two columns at once: covariance, correlation, trend, and the mean that forgets by half-lives.
//
// Layout: count, one of the values of each column (the pivot), the means' distances from the
// pivots,
//   and the sums of squared and mixed deviations that the result needs. decayed_mean: the newest
//   time, and the weight and the mean seen from there.
// Invariants: parts merge by the pairwise (Chan) formula; the means are never rounded to the size
// of
//   the values, so that times of 1e18 ns and prices near 1e9 keep their digits. Weights are
//   relative to the newest time, at most 1 a row: they never overflow, whatever the order of the
//   times.
// Cost: about twenty flops a combine; decayed_mean one exp2 and one division.
// Paper: none. All commute; floats: not invertible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "slidefold/operators/arithmetic.hpp"
#include "slidefold/operators/extremes.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

// a - b without overflow, and without rounding a and b first.
template <class T>
inline double distance(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<double>(static_cast<int128>(a) - b);
  } else {
    return a - b;
  }
}

enum class Joint { kCovariance, kCorrelation, kTrend };

template <Joint kind, class X, class Y>
struct TwoColumns {
  static constexpr bool commutative = true;
  std::int64_t ddof = 1;  // covariance only

  static constexpr bool needs_xx = kind == Joint::kCorrelation;
  static constexpr bool needs_yy = kind != Joint::kCovariance;
  static constexpr const char* kNegative = "a sum of squares is negative";
  template <int which>
  struct None {};  // two types: objects of one type cannot share a place

  using In = Pair<X, Y>;
  struct State {
    double n = 0;
    X x_pivot{};
    Y y_pivot{};
    double x_offset = 0, y_offset = 0;  // the means are pivot + offset
    double xy = 0;
    [[no_unique_address]] std::conditional_t<needs_yy, double, None<0>> yy{};
    [[no_unique_address]] std::conditional_t<needs_xx, double, None<1>> xx{};
    template <class Archive>
    void archive(Archive& a) {
      a.count(n);
      a(x_pivot, y_pivot, x_offset, y_offset, xy);
      if constexpr (needs_yy) a(yy);
      if constexpr (needs_xx) a(xx);
      if constexpr (Archive::kLoading && needs_yy) expect(!(yy < 0), kNegative);
      if constexpr (Archive::kLoading && needs_xx) expect(!(xx < 0), kNegative);
    }
  };
  using Out = double;

  State identity() const { return {}; }
  State lift(const In& pair) const {
    State one;
    one.n = 1;
    one.x_pivot = pair.arg;
    one.y_pivot = pair.key;
    const double x = distance(pair.arg, pair.arg);  // NaN for what is not finite
    const double y = distance(pair.key, pair.key);
    one.xy = x + y;
    if constexpr (needs_yy) one.yy = x + y;
    if constexpr (needs_xx) one.xx = x + y;
    return one;
  }
  State combine(const State& older, const State& newer) const {
    if (older.n == 0) return newer;
    if (newer.n == 0) return older;
    State both = older;
    both.n = older.n + newer.n;
    const double share = newer.n / both.n;
    const double dx = distance(newer.x_pivot, older.x_pivot) + (newer.x_offset - older.x_offset);
    const double dy = distance(newer.y_pivot, older.y_pivot) + (newer.y_offset - older.y_offset);
    both.x_offset += dx * share;
    both.y_offset += dy * share;
    both.xy += newer.xy + dx * dy * older.n * share;
    if constexpr (needs_yy) both.yy += newer.yy + dy * dy * older.n * share;
    if constexpr (needs_xx) both.xx += newer.xx + dx * dx * older.n * share;
    return both;
  }
  // A column that does not vary has neither correlation nor trend.
  bool defined(const State& state) const {
    if constexpr (kind == Joint::kCovariance) return state.n > static_cast<double>(ddof);
    if constexpr (kind == Joint::kTrend) return state.n >= 2 && state.yy != 0;
    if constexpr (kind == Joint::kCorrelation) {
      return state.n >= 2 && state.xx != 0 && state.yy != 0;
    }
  }
  Out lower(const State& state) const {
    if constexpr (kind == Joint::kCovariance) {
      return state.xy / (state.n - static_cast<double>(ddof));
    } else if constexpr (kind == Joint::kTrend) {
      return state.xy / state.yy;
    } else {
      // One root rounds less; the product of the sums of squares may leave the range of floats.
      double scale = std::sqrt(state.xx * state.yy);
      if (!std::isnormal(scale)) scale = std::sqrt(state.xx) * std::sqrt(state.yy);
      const double r = state.xy / scale;
      return r != r ? r : std::clamp(r, -1.0, 1.0);
    }
  }
};

// The mean of x, each value with a weight.
template <class X, class Y>
struct WeightedMean {
  static constexpr bool commutative = true;
  using In = Pair<X, Y>;
  struct State {
    std::int64_t n = 0;
    double sum = 0, weight = 0;
    template <class Archive>
    void archive(Archive& a) {
      a.count(n);
      a(sum, weight);
    }
  };
  using Out = double;
  State identity() const { return {}; }
  State lift(const In& pair) const {
    const auto weight = static_cast<double>(pair.key);
    return {1, static_cast<double>(pair.arg) * weight, weight};
  }
  State combine(const State& older, const State& newer) const {
    return {older.n + newer.n, older.sum + newer.sum, older.weight + newer.weight};
  }
  // Weights that cancel have no mean.
  bool defined(const State& state) const { return state.n > 0 && state.weight != 0; }
  Out lower(const State& state) const { return state.sum / state.weight; }
};

// The sum of x that forgets by half-lives, seen from the newest time.
template <class X, class Y>
struct DecayedSum {
  static constexpr bool commutative = true;
  double half_life = 1;
  using In = Pair<X, Y>;
  struct State {
    Y newest{};
    std::int64_t n = 0;
    double sum = 0;
    template <class Archive>
    void archive(Archive& a) {
      a(newest);
      a.count(n);
      a(sum);
    }
  };
  using Out = double;
  State identity() const { return {}; }
  State lift(const In& pair) const { return {pair.key, 1, static_cast<double>(pair.arg)}; }
  State combine(const State& older, const State& newer) const {
    if (older.n == 0) return newer;
    if (newer.n == 0) return older;
    const double ahead = newer.newest == older.newest ? 0 : distance(newer.newest, older.newest);
    const double faded = ahead == 0 ? 1 : std::exp2(-std::abs(ahead) / half_life);
    const bool newer_leads = ahead >= 0;
    return {newer_leads ? newer.newest : older.newest, older.n + newer.n,
            newer_leads ? older.sum * faded + newer.sum : older.sum + newer.sum * faded};
  }
  bool defined(const State& state) const { return state.n > 0; }
  Out lower(const State& state) const { return state.sum; }
};

template <class X, class Y>
struct DecayedMean {
  static constexpr bool commutative = true;
  double half_life = 1;

  using In = Pair<X, Y>;
  struct State {
    Y newest{};
    double weight = 0;  // 0: nothing yet
    double mean = 0;
    template <class Archive>
    void archive(Archive& a) {
      a(newest, weight, mean);
      if constexpr (!Archive::kLoading) return;
      expect(!(weight < 0) && !(weight > 0x1p62), "a weight is negative or too large");
    }
  };
  using Out = double;

  State identity() const { return {}; }
  State lift(const In& pair) const { return {pair.key, 1, static_cast<double>(pair.arg)}; }
  State combine(const State& older, const State& newer) const {
    if (older.weight == 0) return newer;
    if (newer.weight == 0) return older;
    // The distance of equal infinities is 0; their difference would be NaN.
    const double ahead = newer.newest == older.newest ? 0 : distance(newer.newest, older.newest);
    const double faded = ahead == 0 ? 1 : std::exp2(-std::abs(ahead) / half_life);
    const bool newer_leads = ahead >= 0;
    const double older_weight = newer_leads ? older.weight * faded : older.weight;
    const double newer_weight = newer_leads ? newer.weight : newer.weight * faded;
    const double weight = older_weight + newer_weight;
    // A product with each share instead of a sum: neither overflows near the limits of floats.
    return {newer_leads ? newer.newest : older.newest, weight,
            older.mean * (older_weight / weight) + newer.mean * (newer_weight / weight)};
  }
  bool defined(const State& state) const { return state.weight != 0; }
  Out lower(const State& state) const { return state.mean; }
};

}  // namespace slidefold
