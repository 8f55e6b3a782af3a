// How far values lie apart: range, relative variation, and the four corners of M4.
//
// Layout: extremes as ordered 64-bit integers (extremes.hpp); relative_variation adds the sum and
//   the count, m4 the first and the last value.
// Invariants: NaN is the largest value, so all three show it; integer differences and sums take 128
//   bits and are judged only in lower. No byte of a state is left uninitialised.
// Cost: two comparisons a combine.
// Paper: reactive-aggregator-flatfat, Table 1 (RelativeVariation, M4). None is invertible, m4 does
//   not commute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "slidefold/operators/arithmetic.hpp"
#include "slidefold/operators/extremes.hpp"

namespace slidefold {

// The smallest and the largest value.
struct Extent {
  std::int64_t low = weakest<Extreme::kMin>;
  std::int64_t high = weakest<Extreme::kMax>;

  void absorb(const Extent& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
  }
  bool operator==(const Extent&) const = default;
  template <class Archive>
  void archive(Archive& a) {
    a(low, high);
    expect(low <= high || *this == Extent{}, "the smallest value is larger than the largest");
  }
};

// The difference of two values: exact for integers.
template <class T>
inline SumState<T> width_of(const Extent& span) {
  return static_cast<SumState<T>>(value_of<T>(span.high)) -
         static_cast<SumState<T>>(value_of<T>(span.low));
}

template <class T>
struct Range {
  static constexpr bool commutative = true;
  static constexpr bool fallible = std::is_integral_v<T>;  // lower may overflow
  using In = T;
  using State = Extent;
  using Out = T;
  State identity() const { return {}; }
  State lift(T value) const { return {ordered(value), ordered(value)}; }
  State combine(State older, const State& newer) const {
    older.absorb(newer);
    return older;
  }
  Out lower(const State& state) const {
    const SumState<T> width = width_of<T>(state);
    if constexpr (std::is_integral_v<T>) {
      if (width > std::numeric_limits<T>::max()) {
        throw ResultOverflow("the range needs more than 64 bits");
      }
    }
    return static_cast<T>(width);
  }
  bool same(const State& a, const State& b) const { return a == b; }
};

template <class T>
struct RelativeVariation {
  static constexpr bool commutative = true;
  using In = T;
  struct State {
    SumState<T> sum = 0;
    Extent span;
    std::int64_t n = 0;
    std::int64_t unused = 0;  // fills what alignment would leave open
    template <class Archive>
    void archive(Archive& a) {
      archive_sum(a, sum);
      a(span);
      a.count(n);
    }
  };
  using Out = double;
  State identity() const { return {}; }
  State lift(T value) const { return {value, {ordered(value), ordered(value)}, 1, 0}; }
  State combine(State older, const State& newer) const {
    older.sum += newer.sum;
    older.span.absorb(newer.span);
    older.n += newer.n;
    return older;
  }
  bool defined(const State& state) const { return state.n > 0; }
  Out lower(const State& state) const {
    const auto mean = static_cast<double>(state.sum) / static_cast<double>(state.n);
    return static_cast<double>(width_of<T>(state.span)) / mean;
  }
};

template <class T>
struct Corners {
  T first{}, last{}, low{}, high{};
  bool operator==(const Corners&) const = default;
};

template <class T>
struct M4 {
  static constexpr bool commutative = false;
  using In = T;
  struct State {
    T first{}, last{};
    Extent span;
    std::int64_t some = 0;
    template <class Archive>
    void archive(Archive& a) {
      a(first, last, span, some);
      expect(some == 0 || some == 1, "a truth value is neither 0 nor 1");
    }
  };
  using Out = Corners<T>;
  State identity() const { return {}; }
  State lift(T value) const { return {value, value, {ordered(value), ordered(value)}, 1}; }
  State combine(const State& older, const State& newer) const {
    if (newer.some == 0) return older;
    if (older.some == 0) return newer;
    State both{older.first, newer.last, older.span, 1};
    both.span.absorb(newer.span);
    return both;
  }
  bool defined(const State& state) const { return state.some != 0; }
  Out lower(const State& state) const {
    return {state.first, state.last, value_of<T>(state.span.low), value_of<T>(state.span.high)};
  }
  bool same(const State& a, const State& b) const {
    const auto equal = [](T x, T y) { return x == y || (x != x && y != y); };
    return a.some == b.some && a.span == b.span && equal(a.first, b.first) && equal(a.last, b.last);
  }
};

}  // namespace slidefold
