// First, last, concatenation and collection: operators that tell the order of their values.
//
// Layout: first, last: a value and whether there is one. concat: a string. collect: a vector.
// Invariants: combine(older, newer) keeps time order; concat and collect never commute.
// Cost: first, last O(1); concat and collect copy their states, O(length) a combine.
// Paper: reactive-aggregator-flatfat, Table 1 (Collect). First and last are selective.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"

namespace slidefold {

// Equality for check(): NaN is one value.
template <class T>
inline bool same_value(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) return a == b || (a != a && b != b);
  return a == b;
}

// A value or null, where nulls are kept as values.
template <class T>
struct Maybe {
  T value{};
  std::int64_t some = 0;  // as wide as a number, so that no byte is left open
  bool operator==(const Maybe& other) const {
    return some == other.some && (some == 0 || same_value(value, other.value));
  }
  template <class Archive>
  void archive(Archive& a) {
    a(value);
    a(some);
    expect(some == 0 || some == 1, "a truth value is neither 0 nor 1");
  }
};

enum class End { kFirst, kLast };

template <End end, class T>
struct AtEnd {
  static constexpr bool commutative = false;
  using In = T;
  struct State {
    T value{};
    bool some = false;
    template <class Archive>
    void archive(Archive& a) {
      a(some);
      if (some) a(value);
    }
  };
  using Out = T;
  State identity() const { return {}; }
  State lift(T value) const { return {std::move(value), true}; }
  State combine(const State& older, const State& newer) const {
    return newer_wins(older, newer) ? newer : older;
  }
  bool newer_wins(const State& older, const State& newer) const {
    return end == End::kLast ? newer.some : !older.some;
  }
  bool defined(const State& state) const { return state.some; }
  Out lower(const State& state) const { return state.value; }
  bool same(const State& a, const State& b) const {
    return a.some == b.some && (!a.some || same_value(a.value, b.value));
  }
};

struct Concat {
  static constexpr bool commutative = false;
  using In = std::string;
  using State = std::string;
  using Out = std::string;
  State identity() const { return {}; }
  State lift(In value) const { return value; }
  State combine(const State& older, const State& newer) const { return older + newer; }
  void absorb(State& older, const State& newer) const { older += newer; }
  Out lower(const State& state) const { return state; }
  bool same(const State& a, const State& b) const { return a == b; }
};

template <class T>
struct Collect {
  static constexpr bool commutative = false;
  using In = T;
  using State = std::vector<T>;
  using Out = std::vector<T>;
  State identity() const { return {}; }
  State lift(T value) const { return {std::move(value)}; }
  State combine(const State& older, const State& newer) const {
    State both;
    both.reserve(older.size() + newer.size());
    both.insert(both.end(), older.begin(), older.end());
    both.insert(both.end(), newer.begin(), newer.end());
    return both;
  }
  void absorb(State& older, const State& newer) const {
    older.insert(older.end(), newer.begin(), newer.end());
  }
  Out lower(const State& state) const { return state; }
  bool same(const State& a, const State& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_value<T>);
  }
};

}  // namespace slidefold
