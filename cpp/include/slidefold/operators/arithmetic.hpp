// Count, sum and mean.
//
// Layout: count: int64. sum: float64, or 128 bits for integers. mean: sum and count.
// Invariants: integer states are exact: 128 bits hold 2^64 values of 64 bits, and overflow is
// judged
//   only in lower, so that it never depends on the algorithm.
// Cost: one addition a field.
// Paper: reactive-aggregator-flatfat, Tables 1 and 2; integers are invertible, floats are not (a
//   1e16 passing through a running float sum leaves a trace for good).
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "slidefold/operator.hpp"

namespace slidefold {

__extension__ using int128 = __int128;

template <class T>
using SumState = std::conditional_t<std::is_integral_v<T>, int128, double>;

// Anything may be counted: the value itself is never looked at.
struct Anything {};

struct Count {
  static constexpr bool commutative = true, defined_when_empty = true, cheap_lift = true;
  using In = Anything;
  using State = std::int64_t;
  using Out = std::int64_t;
  State identity() const { return 0; }
  State lift(const In&) const { return 1; }
  State combine(State older, State newer) const { return older + newer; }
  State remove(State whole, State older) const { return whole - older; }
  Out lower(State state) const { return state; }
  bool same(State a, State b) const { return a == b; }
};

template <class T>
struct Sum {
  static constexpr bool commutative = true, cheap_lift = true;
  static constexpr bool fallible = std::is_integral_v<T>;  // lower may overflow
  static constexpr bool only_lower_fails = true;
  using In = T;
  using State = SumState<T>;
  using Out = T;
  State identity() const { return 0; }
  State lift(T value) const { return value; }
  State combine(State older, State newer) const { return older + newer; }
  State remove(State whole, State older) const
    requires std::is_integral_v<T>
  {
    return whole - older;
  }
  Out lower(State state) const {
    if constexpr (std::is_integral_v<T>) {
      if (state > std::numeric_limits<T>::max() || state < std::numeric_limits<T>::min()) {
        throw ResultOverflow("the sum needs more than 64 bits");
      }
    }
    return static_cast<T>(state);
  }
  bool same(State a, State b) const
    requires std::is_integral_v<T>
  {
    return a == b;
  }
  // Whatever is summed of states with these magnitudes in all has a result, if they fit.
  static State magnitude(State state)
    requires std::is_integral_v<T>
  {
    return state < 0 ? -state : state;
  }
  static bool fits(State magnitudes)
    requires std::is_integral_v<T>
  {
    return magnitudes <= std::numeric_limits<T>::max();
  }
};

template <class T>
struct Mean {
  static constexpr bool commutative = true, cheap_lift = true;
  using In = T;
  struct State {
    SumState<T> sum = 0;
    std::int64_t n = 0;
    template <class Archive>
    void archive(Archive& a) {
      a(sum, n);
    }
  };
  using Out = double;
  State identity() const { return {}; }
  State lift(T value) const { return {value, 1}; }
  State combine(const State& older, const State& newer) const {
    return {older.sum + newer.sum, older.n + newer.n};
  }
  State remove(const State& whole, const State& older) const
    requires std::is_integral_v<T>
  {
    return {whole.sum - older.sum, whole.n - older.n};
  }
  bool defined(const State& state) const { return state.n > 0; }
  Out lower(const State& state) const {
    return static_cast<double>(state.sum) / static_cast<double>(state.n);
  }
  bool same(const State& a, const State& b) const
    requires std::is_integral_v<T>
  {
    return a.sum == b.sum && a.n == b.n;
  }
};

}  // namespace slidefold
