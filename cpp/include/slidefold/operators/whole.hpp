// Numbers that travel as int64: uint64 less 2^63, and decimals in units of their last digit.
//
// Layout: that of the operator over int64.
// Invariants: sums are those of the numbers themselves, not of their codes; 128 bits hold them.
//   Differences and order are the same for both.
// Cost: one addition a lift.
// Paper: none.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "slidefold/operators/arithmetic.hpp"
#include "slidefold/operators/ranges.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

// An operator over int64 with a sum in its state, for codes of uint64.
template <class Op>
struct Unsigned : Op {
  typename Op::State lift(std::int64_t code) const {
    typename Op::State one = Op::lift(code);
    one.sum += int128{1} << 63;
    return one;
  }
};

// The mean of decimals, `unit` of whose last digits make 1.
struct DecimalMean : Mean<std::int64_t> {
  std::int64_t unit = 1;
  Out lower(const State& state) const {
    return ratio(state.sum, static_cast<int128>(state.n) * unit);
  }
};

// The sum of uint64, read and returned as the bits of an int64.
struct UnsignedSum : Sum<std::int64_t> {
  State lift(std::int64_t bits) const { return static_cast<std::uint64_t>(bits); }
  Out lower(State state) const {
    if (state > static_cast<int128>(~std::uint64_t{0})) {
      throw ResultOverflow("a sum needs more than 64 bits");
    }
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(state));
  }
};

// The difference of the largest and the smallest uint64, of codes less 2^63, as the bits of an
// int64.
struct UnsignedRange : Range<std::int64_t> {
  static constexpr bool fallible = false;
  Out lower(const State& state) const {
    return static_cast<std::int64_t>(width_of<std::int64_t>(state));
  }
};

// The mean of whole numbers as one, rounded half to even.
struct WholeMean : Mean<std::int64_t> {
  using Out = std::int64_t;
  Out lower(const State& state) const {
    int128 quotient = state.sum / state.n, rest = state.sum % state.n;
    if (rest < 0) {
      rest += state.n;
      --quotient;
    }
    const bool up = 2 * rest > state.n || (2 * rest == state.n && (quotient & 1) != 0);
    return static_cast<std::int64_t>(quotient + (up ? 1 : 0));
  }
};

// 16 bytes, the lowest first, as Arrow has decimals of 128 bits.
inline std::string decimal_bytes(int128 value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline int128 power_of_ten(std::int64_t digits) {
  int128 power = 1;
  for (; digits > 0; --digits) power *= 10;
  return power;
}

// The sum of decimals in units of their last digit, with at most so many digits.
struct DecimalSum : Sum<std::int64_t> {
  std::int64_t digits = 38;
  std::string type;  // of the values, for an error
  using Out = std::string;
  Out lower(State state) const {
    const int128 limit = power_of_ten(digits);
    if (state >= limit || state <= -limit) refuse();
    return decimal_bytes(state);
  }
  [[noreturn]] void refuse() const {
    throw ResultOverflow("a sum of " + type + " needs more than " + std::to_string(digits) +
                         " digits");
  }
};

// The same of decimals that take 128 bits, given as their bytes.
struct WideDecimalSum {
  static constexpr bool commutative = true, fallible = true, only_lower_fails = true;
  DecimalSum narrow;  // the result type
  using In = std::string;
  struct State {
    std::uint64_t low = 0, middle = 0, high = 0;  // 192 bits
    template <class Archive>
    void archive(Archive& a) {
      a(low, middle, high);
    }
  };
  using Out = std::string;
  State identity() const { return {}; }
  State lift(const In& bytes) const {
    State state;
    expect(bytes.size() >= 16, "a decimal has 16 bytes");
    std::memcpy(&state.low, bytes.data(), 8);
    std::memcpy(&state.middle, bytes.data() + 8, 8);
    state.high = (state.middle >> 63) != 0 ? ~std::uint64_t{0} : 0;
    return state;
  }
  State combine(const State& older, const State& newer) const {
    const uint128 low = static_cast<uint128>(older.low) + newer.low;
    const uint128 middle = static_cast<uint128>(older.middle) + newer.middle + (low >> 64);
    return {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(middle),
            older.high + newer.high + static_cast<std::uint64_t>(middle >> 64)};
  }
  Out lower(const State& state) const {
    if (state.high != ((state.middle >> 63) != 0 ? ~std::uint64_t{0} : 0)) narrow.refuse();
    return narrow.lower(
        static_cast<int128>((static_cast<uint128>(state.middle) << 64) | state.low));
  }
  bool same(const State& a, const State& b) const {
    return a.low == b.low && a.middle == b.middle && a.high == b.high;
  }
};

}  // namespace slidefold
