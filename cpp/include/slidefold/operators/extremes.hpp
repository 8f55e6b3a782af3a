// Min, max, how often the extreme occurs, and the row that holds it.
//
// Layout: values are kept as 64-bit integers of the same order, floats too: comparing integers is
// one
//   conditional move, where comparing floats with NaN is a branch that random values mispredict
//   (DABA Lite: 2x the throughput). max_count and min_count add a count, max_by and min_by the
//   argument and whether there is one.
// Invariants: NaN is one value and the largest of all: a max is NaN if any value is, a min only if
//   all are. Of equal values the older one stays; -0.0 equals 0.0 as a key.
// Cost: one comparison.
// Paper: reactive-aggregator-flatfat, Table 1; all are associative, none is invertible, and all but
//   the counts are selective.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "slidefold/operator.hpp"

namespace slidefold {

enum class Extreme { kMin, kMax };

// An integer in the order of the float: negative floats, whose bits count backwards, are flipped.
// A value beyond an infinity is then a NaN. Telling so by integers takes no branch, and a tenth
// less time in a column's max than comparing the float with itself.
inline std::int64_t ordered(double value) {
  using Limits = std::numeric_limits<double>;
  constexpr auto kInfinity = std::bit_cast<std::uint64_t>(Limits::infinity());
  const auto bits = std::bit_cast<std::int64_t>(value);
  const std::int64_t order = bits ^ ((bits >> 63) & std::numeric_limits<std::int64_t>::max());
  // ~kInfinity is minus infinity in this order.
  const bool nan = static_cast<std::uint64_t>(order) - ~kInfinity > kInfinity - ~kInfinity;
  return nan ? std::bit_cast<std::int64_t>(Limits::quiet_NaN()) : order;  // one, above infinity
}
inline std::int64_t ordered(std::int64_t value) { return value; }

template <class T>
inline T value_of(std::int64_t order) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<double>(order ^
                                 ((order >> 63) & std::numeric_limits<std::int64_t>::max()));
  } else {
    return order;
  }
}

// As a key, -0.0 is 0.0.
template <class T>
inline std::int64_t key_of(T value) {
  return ordered(value + T{0});
}

template <Extreme kind>
inline bool beyond(std::int64_t a, std::int64_t b) {
  return kind == Extreme::kMax ? a < b : b < a;
}

template <Extreme kind>
inline constexpr std::int64_t weakest =
    kind == Extreme::kMax ? std::numeric_limits<std::int64_t>::min()
                          : std::numeric_limits<std::int64_t>::max();

template <Extreme kind, class T>
struct MinMax {
  static constexpr bool commutative = true, cheap_lift = std::is_integral_v<T>;
  using In = T;
  using State = std::int64_t;
  using Out = T;
  State identity() const { return weakest<kind>; }
  State lift(T value) const { return ordered(value); }
  State combine(State older, State newer) const { return newer_wins(older, newer) ? newer : older; }
  bool newer_wins(State older, State newer) const { return beyond<kind>(older, newer); }
  Out lower(State state) const { return value_of<T>(state); }
  bool same(State a, State b) const { return a == b; }
};

template <Extreme kind, class T>
struct ExtremeCount {
  static constexpr bool commutative = true;
  using In = T;
  struct State {
    std::int64_t key = weakest<kind>;
    std::int64_t n = 0;
    template <class Archive>
    void archive(Archive& a) {
      a(key);
      a.count(n);
    }
  };
  using Out = std::int64_t;
  State identity() const { return {}; }
  State lift(T value) const { return {key_of(value), 1}; }
  State combine(const State& older, const State& newer) const {
    if (beyond<kind>(older.key, newer.key)) return newer;
    if (beyond<kind>(newer.key, older.key)) return older;
    return {older.key, older.n + newer.n};
  }
  bool defined(const State& state) const { return state.n > 0; }
  Out lower(const State& state) const { return state.n; }
  bool same(const State& a, const State& b) const { return a.n == b.n && a.key == b.key; }
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
    std::int64_t key = 0;
    Arg arg{};
    bool some = false;
    template <class Archive>
    void archive(Archive& a) {
      a(some);
      if (some) a(key, arg);
    }
  };
  using Out = Arg;
  State identity() const { return {}; }
  State lift(In pair) const { return {key_of(pair.key), std::move(pair.arg), true}; }
  State combine(const State& older, const State& newer) const {
    return newer_wins(older, newer) ? newer : older;
  }
  bool newer_wins(const State& older, const State& newer) const {
    return newer.some && (!older.some || beyond<kind>(older.key, newer.key));
  }
  bool defined(const State& state) const { return state.some; }
  Out lower(const State& state) const { return state.arg; }
  bool same(const State& a, const State& b) const {
    return a.some == b.some && (!a.some || (a.key == b.key && (a.arg == b.arg || a.arg != a.arg)));
  }
};

}  // namespace slidefold
