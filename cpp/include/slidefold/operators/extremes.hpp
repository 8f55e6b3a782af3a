// Min, max, how often the extreme occurs, and the row that holds it.
//
// Layout: min, max: the value. max_count, min_count: value and count. max_by, min_by: key, argument
//   and whether there is one.
// Invariants: NaN is one value and the largest of all: a max is NaN if any value is, a min only if
//   all are. Of equal values the older one stays (-0.0 equals 0.0).
// Cost: one or two comparisons.
// Paper: reactive-aggregator-flatfat, Table 1; all are associative, none is invertible, and all but
//   the counts are selective.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "slidefold/operator.hpp"

namespace slidefold {

enum class Extreme { kMin, kMax };

// Whether `b` is strictly beyond `a`.
template <Extreme kind, class T>
inline bool beyond(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (kind == Extreme::kMax) return (a < b) | ((b != b) & (a == a));
    return (b < a) | ((a != a) & (b == b));
  } else {
    return kind == Extreme::kMax ? a < b : b < a;
  }
}

// The value that loses to every other one, or is one with it: NaN for a float min, since even
// infinity is below NaN.
template <Extreme kind, class T>
constexpr T weakest() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return kind == Extreme::kMax ? -Limits::infinity() : Limits::quiet_NaN();
  } else {
    return kind == Extreme::kMax ? Limits::lowest() : Limits::max();
  }
}

template <class T>
inline bool equal_value(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) return a == b || (a != a && b != b);
  return a == b;
}

template <Extreme kind, class T>
struct MinMax {
  static constexpr bool commutative = true;
  using In = T;
  using State = T;
  using Out = T;
  State identity() const { return weakest<kind, T>(); }
  State lift(T value) const { return value; }
  State combine(State older, State newer) const {
    if constexpr (std::is_floating_point_v<T>) {  // one comparison fewer than newer_wins
      if constexpr (kind == Extreme::kMax) return (older < newer) | (newer != newer) ? newer : older;
      return (newer < older) | (older != older) ? newer : older;
    } else {
      return newer_wins(older, newer) ? newer : older;
    }
  }
  bool newer_wins(State older, State newer) const { return beyond<kind>(older, newer); }
  Out lower(State state) const { return state; }
  bool same(State a, State b) const { return equal_value(a, b); }
};

template <Extreme kind, class T>
struct ExtremeCount {
  static constexpr bool commutative = true;
  using In = T;
  struct State {
    T value = weakest<kind, T>();
    std::int64_t n = 0;
  };
  using Out = std::int64_t;
  State identity() const { return {}; }
  State lift(T value) const { return {value, 1}; }
  State combine(const State& older, const State& newer) const {
    if (older.n == 0) return newer;
    if (newer.n == 0) return older;
    if (beyond<kind>(older.value, newer.value)) return newer;
    if (beyond<kind>(newer.value, older.value)) return older;
    return {older.value, older.n + newer.n};
  }
  bool defined(const State& state) const { return state.n > 0; }
  Out lower(const State& state) const { return state.n; }
  bool same(const State& a, const State& b) const {
    return a.n == b.n && (a.n == 0 || equal_value(a.value, b.value));
  }
};

template <class Arg, class Key>
struct Pair {
  Arg arg{};
  Key key{};
};

template <Extreme kind, class Arg, class Key>
struct ExtremeBy {
  static constexpr bool commutative = false;
  using In = Pair<Arg, Key>;
  struct State {
    Key key{};
    Arg arg{};
    bool some = false;
  };
  using Out = Arg;
  State identity() const { return {}; }
  State lift(In pair) const { return {pair.key, std::move(pair.arg), true}; }
  State combine(const State& older, const State& newer) const {
    return newer_wins(older, newer) ? newer : older;
  }
  bool newer_wins(const State& older, const State& newer) const {
    return newer.some && (!older.some || beyond<kind>(older.key, newer.key));
  }
  bool defined(const State& state) const { return state.some; }
  Out lower(const State& state) const { return state.arg; }
  bool same(const State& a, const State& b) const {
    return a.some == b.some && (!a.some || (equal_value(a.key, b.key) && equal_value(a.arg, b.arg)));
  }
};

}  // namespace slidefold
