// The longest time between two neighbours.
//
// Layout: the first and the last time, and the longest gap between neighbours; nothing of one time.
// Invariants: none. Times that go back are as far apart as those that go on.
// Cost: a few comparisons a combine.
// Paper: none. The parts must be in time order, so that it does not commute.
#pragma once

#include <algorithm>
#include <cstdint>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

struct LongestGap {
  static constexpr bool commutative = false;
  using In = std::int64_t;
  struct State {
    std::int64_t n = 0, first = 0, last = 0;
    std::uint64_t gap = 0;
    template <class Archive>
    void archive(Archive& a) {
      a.count(n);
      a(first, last, gap);
    }
  };
  using Out = std::int64_t;
  State identity() const { return {}; }
  State lift(std::int64_t time) const { return {1, time, time, 0}; }
  State combine(const State& older, const State& newer) const {
    if (older.n == 0) return newer;
    if (newer.n == 0) return older;
    // The difference of two signed numbers fits an unsigned one.
    const auto [low, high] = std::minmax(older.last, newer.first);
    const std::uint64_t between =
        static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    return {older.n + newer.n, older.first, newer.last, std::max({older.gap, newer.gap, between})};
  }
  bool defined(const State& state) const { return state.n >= 2; }
  Out lower(const State& state) const {
    if (state.gap >> 63 != 0) throw ResultOverflow("the longest gap needs more than 64 bits");
    return static_cast<Out>(state.gap);
  }
};

}  // namespace slidefold
