// Which place of sorted values a quantile is, and the value between two neighbours.
//
// Layout: none. Invariants: the result lies between its neighbours.
// Cost: O(1).
// Paper: none. The places are those of numpy: q * (n - 1), and what lies between two values is
//   taken as the interpolation says. No monoid: the order of all values has to be kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace slidefold {

enum class Between { kLinear, kLower, kHigher, kNearest, kMidpoint };

struct Quantile {
  double q = 0.5;
  Between between = Between::kLinear;

  // Whether the result is one of the values.
  bool picks() const { return between != Between::kLinear && between != Between::kMidpoint; }

  struct Place {
    std::size_t k;
    double share;  // of the way from the k-th value to the next
  };
  Place place(std::size_t n) const {
    const double at = q * static_cast<double>(n - 1);
    const std::size_t k = std::min(static_cast<std::size_t>(at), n - 1);
    const double share = at - static_cast<double>(k);
    switch (between) {
      case Between::kLinear:
        return {k, share};
      case Between::kLower:
        return {k, 0};
      case Between::kHigher:
        return {k + (share > 0 ? 1 : 0), 0};
      case Between::kNearest:  // of two that are as near the one at an even place
        return {k + (share > 0.5 || (share == 0.5 && k % 2 == 1) ? 1 : 0), 0};
      default:
        return {k, share > 0 ? 0.5 : 0};
    }
  }
};

// As numpy: from the nearer end, so that a share of 1 would give the other end exactly.
inline double lerp(double low, double high, double share) {
  if (share == 0 || low == high) return low;
  const double apart = high - low;
  if (!std::isfinite(apart)) return low * (1 - share) + high * share;
  return share < 0.5 ? low + apart * share : high - apart * (1 - share);
}
inline double lerp(std::int64_t low, std::int64_t high, double share) {
  // The difference is exact, however far from zero the two are.
  const auto apart =
      static_cast<double>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
  const auto from = static_cast<double>(low), to = static_cast<double>(high);
  if (share == 0 || low == high) return from;
  return share < 0.5 ? from + apart * share : to - apart * (1 - share);
}

// In whole units, rounded down: times and durations.
inline std::int64_t lerp_whole(std::int64_t low, std::int64_t high, double share) {
  const std::uint64_t apart = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  if (share == 0.5) return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + apart / 2);
  const long double steps = std::floor(static_cast<long double>(apart) * share);
  const std::uint64_t whole = std::min(static_cast<std::uint64_t>(steps), apart);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + whole);
}

}  // namespace slidefold
