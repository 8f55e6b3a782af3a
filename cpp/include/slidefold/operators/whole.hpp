// Numbers that travel as int64: uint64 less 2^63, and decimals in units of their last digit.
//
// Layout: that of the operator over int64.
// Invariants: sums are those of the numbers themselves, not of their codes; 128 bits hold them.
//   Differences and order are the same for both.
// Cost: one addition a lift.
// Paper: none.
#pragma once

#include <cstdint>

#include "slidefold/operators/arithmetic.hpp"

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

}  // namespace slidefold
