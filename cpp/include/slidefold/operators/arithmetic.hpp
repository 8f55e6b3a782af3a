// Count, sum and mean.
//
// Layout: count: int64. sum: float64, or 128 bits for integers. mean: sum and count.
// Invariants: integer states are exact: 128 bits hold 2^64 values of 64 bits, and overflow is
// judged
//   only in lower, so that it never depends on the algorithm.
//   The mean of integers is that sum divided once: it is the float nearest to the exact mean.
// Cost: one addition a field.
// Paper: reactive-aggregator-flatfat, Tables 1 and 2; integers are invertible, floats are not (a
//   1e16 passing through a running float sum leaves a trace for good).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "slidefold/operator.hpp"

namespace slidefold {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

// How many bits an integer needs.
inline int bits_of(uint128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(low));
}

// The float nearest to whole / parts, for integers that a float may not hold. It is seldom called,
// and the loops that might call it are better without it inside.
[[gnu::noinline]] inline double long_ratio(int128 whole, int128 parts) {
  const bool negative = whole < 0;
  auto rest = static_cast<uint128>(negative ? -whole : whole);
  const auto divisor = static_cast<uint128>(parts);
  if (rest == 0) return 0;
  const int bits = bits_of(rest);
  const int wanted = std::max(0, 63 + bits_of(divisor) - bits);  // a quotient of 63 bits or more
  const int shift = std::min(wanted, 127 - bits);
  rest <<= shift;
  uint128 quotient = rest / divisor;
  rest -= quotient * divisor;
  for (int i = shift; i < wanted; ++i) {  // where parts are large, what is left bit by bit
    rest *= 2;
    const bool bit = rest >= divisor;
    quotient = 2 * quotient + (bit ? 1 : 0);
    if (bit) rest -= divisor;
  }
  // More than 54 bits, and the last one says whether anything is left: converting rounds once.
  quotient |= rest != 0 ? 1 : 0;
  const auto word = static_cast<std::uint64_t>(quotient);
  const double rounded =
      word == quotient ? static_cast<double>(word) : static_cast<double>(quotient);
  const double found = rounded * std::bit_cast<double>(std::uint64_t(1023 - wanted) << 52);
  return negative ? -found : found;
}

// The float nearest to whole / parts, where parts > 0 and both have at most 126 bits.
inline double ratio(int128 whole, int128 parts) {
  constexpr std::int64_t exact = std::int64_t{1} << 53;  // up to here floats hold every integer
  const auto short_whole = static_cast<std::int64_t>(whole);
  const auto short_parts = static_cast<std::int64_t>(parts);
  const bool fits = short_whole == whole && -exact <= short_whole && short_whole <= exact &&
                    short_parts == parts && short_parts <= exact;
  if (!fits) [[unlikely]]
    return long_ratio(whole, parts);
  return static_cast<double>(short_whole) / static_cast<double>(short_parts);
}

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
  template <class Archive>
  void archive(Archive& a, State& state) const {
    a.count(state);
  }
};

// Visits the sum of a state: exact ones are limited when they are loaded.
template <class Archive, class State>
void archive_sum(Archive& a, State& sum) {
  if constexpr (std::is_same_v<State, int128>) {
    a.total(sum);
  } else {
    a(sum);
  }
}

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
  template <class Archive>
  void archive(Archive& a, State& state) const {
    archive_sum(a, state);
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
      archive_sum(a, sum);
      a.count(n);
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
    if constexpr (std::is_integral_v<T>) {
      return ratio(state.sum, state.n);
    } else {
      return state.sum / static_cast<double>(state.n);
    }
  }
  bool same(const State& a, const State& b) const
    requires std::is_integral_v<T>
  {
    return a.sum == b.sum && a.n == b.n;
  }
};

}  // namespace slidefold
