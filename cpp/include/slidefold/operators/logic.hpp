// Truth and bits: any, all, and the bitwise and, or, xor of integers.
//
// Layout: any counts the values that are true, all those that are not; bits keep one integer.
// Invariants: a float is false if it is 0.0 or -0.0, and true otherwise, NaN too.
// Cost: one addition or one bitwise operation a combine.
// Paper: reactive-aggregator-flatfat, Table 1. All commute. Counting makes any and all invertible,
//   and a bit that is flipped twice is as it was; and and or forget.
#pragma once

#include <cstdint>

#include "slidefold/operator.hpp"

namespace slidefold {

enum class Quantifier { kAny, kAll };

template <Quantifier kind, class T>
struct Truth {
  static constexpr bool commutative = true;
  using In = T;
  using State = std::int64_t;  // how many values decide: the true ones for any, the others for all
  using Out = bool;
  State identity() const { return 0; }
  State lift(T value) const { return (value != T{}) == (kind == Quantifier::kAny) ? 1 : 0; }
  State combine(State older, State newer) const { return older + newer; }
  State remove(State whole, State older) const { return whole - older; }
  Out lower(State state) const { return (state > 0) == (kind == Quantifier::kAny); }
  bool same(State a, State b) const { return a == b; }
  template <class Archive>
  void archive(Archive& a, State& state) const {
    a.count(state);
  }
};

enum class Bitwise { kAnd, kOr, kXor };

template <Bitwise kind>
struct Bits {
  static constexpr bool commutative = true;
  using In = std::int64_t;
  using State = std::int64_t;
  using Out = std::int64_t;
  State identity() const { return kind == Bitwise::kAnd ? -1 : 0; }
  State lift(In value) const { return value; }
  State combine(State older, State newer) const {
    if constexpr (kind == Bitwise::kAnd) return older & newer;
    if constexpr (kind == Bitwise::kOr) return older | newer;
    return older ^ newer;
  }
  State remove(State whole, State older) const
    requires(kind == Bitwise::kXor)
  {
    return whole ^ older;
  }
  Out lower(State state) const { return state; }
  bool same(State a, State b) const { return a == b; }
};

}  // namespace slidefold
