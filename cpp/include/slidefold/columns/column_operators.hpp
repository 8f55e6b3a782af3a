// Operators as whole columns fold them: fewer types than events need, and a way with nulls.
//
// Layout: what a column is asked for is a number of the operator here and not a type of its own:
//   min is a max of flipped keys, geomean a mean of logarithms, max_by and min_by the row of the
//   largest key, and covariance, correlation and trend share one state. Rows are half words.
// Invariants: I1 results are those of the operators of the same names. I2 a null changes no fold:
//   where an operator has `neutral`, that value does not; where it has `lift(value, present)`, what
//   that gives for a row that is not present; else its identity.
// Cost: as the operators of the same names; the loops are compiled for 16 types instead of 37.
// Paper: none.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "slidefold/operators/arithmetic.hpp"
#include "slidefold/operators/extremes.hpp"
#include "slidefold/operators/moments.hpp"
#include "slidefold/operators/pairs.hpp"

namespace slidefold {

template <class T>
struct ColumnSum : Sum<T> {
  static constexpr T neutral() { return 0; }
};

// The value, or 0: without a branch, which nulls at random would mispredict.
inline double present_or_zero(double value, bool present) {
  const auto mask = ~std::uint64_t{0} * static_cast<std::uint64_t>(present);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & mask);
}
inline std::int64_t present_or_zero(std::int64_t value, bool present) {
  return present ? value : 0;
}

template <class T>
struct ColumnMean : Mean<T> {
  using State = typename Mean<T>::State;
  bool logarithms = false;  // of the values: the result is their geometric mean

  State lift(T value, bool present) const { return {present_or_zero(value, present), present}; }
  double lower(const State& state) const {
    const double mean = Mean<T>::lower(state);
    return logarithms ? std::exp(mean) : mean;
  }
};

template <class T>
struct ColumnExtreme {
  static constexpr bool commutative = true, cheap_lift = std::is_integral_v<T>;
  std::int64_t flip = 0;  // -1 for the smallest value: flipped keys come in the opposite order

  using In = T;
  using State = std::int64_t;
  using Out = T;
  State identity() const { return weakest<Extreme::kMax>; }
  State lift(T value) const { return ordered(value) ^ flip; }
  State combine(State older, State newer) const { return older < newer ? newer : older; }
  Out lower(State state) const { return value_of<T>(state ^ flip); }
  // The first or the last of all values, NaN included.
  T neutral() const {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T>) return flip == 0 ? Limits::min() : Limits::max();
    return flip == 0 ? -Limits::infinity() : Limits::quiet_NaN();
  }
};

// The row of the largest key, the oldest one of equals.
template <class Key>
struct LargestRow {
  static constexpr bool commutative = false, cheap_lift = true;
  std::int64_t flip = 0;  // -1: of the smallest one

  using In = Pair<std::uint32_t, Key>;
  struct State {
    std::int64_t key = weakest<Extreme::kMax>;
    std::int64_t row = -1;
  };
  using Out = std::uint32_t;
  State identity() const { return {}; }
  State lift(const In& pair, bool present) const {
    const std::int64_t absent = std::int64_t{present} - 1;  // all bits, or none: not a branch
    const std::int64_t key = key_of(pair.key) ^ flip;
    return {(key & ~absent) | (weakest<Extreme::kMax> & absent), std::int64_t{pair.arg} | absent};
  }
  // Two conditional moves: a struct that is chosen as a whole takes four times as long.
  State combine(const State& older, const State& newer) const {
    const bool wins = (older.key < newer.key) | (older.row < 0);
    return {wins ? newer.key : older.key, wins ? newer.row : older.row};
  }
  bool defined(const State& state) const { return state.row >= 0; }
  Out lower(const State& state) const { return static_cast<Out>(state.row); }
};

// What stands in that row of another column.
template <class Key>
struct AtLargestRow : LargestRow<Key> {
  using Out = std::uint64_t;
  const std::uint64_t* words = nullptr;
  Out lower(const typename LargestRow<Key>::State& state) const {
    return words[static_cast<std::size_t>(state.row)];
  }
};

// What correlation keeps is enough for the other two as well.
template <class X, class Y>
struct ColumnJoint : TwoColumns<Joint::kCorrelation, X, Y> {
  using Correlation = TwoColumns<Joint::kCorrelation, X, Y>;
  using State = typename Correlation::State;
  Joint kind = Joint::kCorrelation;

  bool defined(const State& state) const {
    if (kind == Joint::kCovariance) return state.n > static_cast<double>(this->ddof);
    if (kind == Joint::kTrend) return state.n >= 2 && state.yy != 0;
    return Correlation::defined(state);
  }
  double lower(const State& state) const {
    if (kind == Joint::kCovariance) return state.xy / (state.n - static_cast<double>(this->ddof));
    if (kind == Joint::kTrend) return state.xy / state.yy;
    return Correlation::lower(state);
  }
};

}  // namespace slidefold
