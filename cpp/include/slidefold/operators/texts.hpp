// Operators that compare strings: extremes, how often they occur, the row that holds them, the k
// largest, the corners of M4.
//
// Layout: the string and whether there is one; a count or an argument beside it. top_k: the
// strings,
//   largest first.
// Invariants: strings compare byte by byte, which for UTF-8 is the order of code points. Of equal
//   ones the older stays. top_k holds at most k.
// Cost: one comparison a combine, O(k) for top_k; combine copies the string that wins.
// Paper: as extremes.hpp. All but the counts and top_k are selective, none is invertible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "slidefold/operators/extremes.hpp"
#include "slidefold/operators/positional.hpp"
#include "slidefold/operators/ranges.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

template <Extreme kind>
inline bool text_beyond(const std::string& a, const std::string& b) {
  return kind == Extreme::kMax ? a < b : b < a;
}

template <Extreme kind>
struct TextExtreme {
  static constexpr bool commutative = true;
  using In = std::string;
  struct State {
    std::string value;
    bool some = false;
    template <class Archive>
    void archive(Archive& a) {
      a(some);
      if (some) a(value);
    }
  };
  using Out = std::string;
  State identity() const { return {}; }
  State lift(std::string value) const { return {std::move(value), true}; }
  State combine(const State& older, const State& newer) const {
    return newer_wins(older, newer) ? newer : older;
  }
  void absorb(State& older, const State& newer) const {
    if (newer_wins(older, newer)) older = newer;
  }
  bool newer_wins(const State& older, const State& newer) const {
    return newer.some && (!older.some || text_beyond<kind>(older.value, newer.value));
  }
  bool defined(const State& state) const { return state.some; }
  Out lower(const State& state) const { return state.value; }
  bool same(const State& a, const State& b) const { return a.some == b.some && a.value == b.value; }
};

template <Extreme kind>
struct TextExtremeCount {
  static constexpr bool commutative = true;
  using In = std::string;
  struct State {
    std::string value;
    std::int64_t n = 0;
    template <class Archive>
    void archive(Archive& a) {
      a.count(n);
      a(value);
    }
  };
  using Out = std::int64_t;
  State identity() const { return {}; }
  State lift(std::string value) const { return {std::move(value), 1}; }
  State combine(const State& older, const State& newer) const {
    State both = older;
    absorb(both, newer);
    return both;
  }
  void absorb(State& older, const State& newer) const {
    if (newer.n == 0) return;
    if (older.n == 0 || text_beyond<kind>(older.value, newer.value)) {
      older = newer;
    } else if (older.value == newer.value) {
      older.n += newer.n;
    }
  }
  bool defined(const State& state) const { return state.n > 0; }
  Out lower(const State& state) const { return state.n; }
  bool same(const State& a, const State& b) const { return a.n == b.n && a.value == b.value; }
};

template <Extreme kind, class Arg>
struct TextExtremeBy {
  static constexpr bool commutative = false;
  using In = Pair<Arg, std::string>;
  struct State {
    std::string key;
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
  State lift(In pair) const { return {std::move(pair.key), std::move(pair.arg), true}; }
  State combine(const State& older, const State& newer) const {
    return newer_wins(older, newer) ? newer : older;
  }
  bool newer_wins(const State& older, const State& newer) const {
    return newer.some && (!older.some || text_beyond<kind>(older.key, newer.key));
  }
  bool defined(const State& state) const { return state.some; }
  Out lower(const State& state) const { return state.arg; }
  bool same(const State& a, const State& b) const {
    return a.some == b.some && a.key == b.key && (!a.some || same_value(a.arg, b.arg));
  }
};

// First, last, smallest and largest.
struct TextM4 {
  static constexpr bool commutative = false;
  using In = std::string;
  struct State {
    Corners<std::string> held;
    bool some = false;
    template <class Archive>
    void archive(Archive& a) {
      a(some);
      if (some) a(held.first, held.last, held.low, held.high);
    }
  };
  using Out = Corners<std::string>;
  State identity() const { return {}; }
  State lift(const std::string& value) const { return {{value, value, value, value}, true}; }
  State combine(const State& older, const State& newer) const {
    State both = older;
    absorb(both, newer);
    return both;
  }
  void absorb(State& older, const State& newer) const {
    if (!newer.some) return;
    if (!older.some) {
      older = newer;
      return;
    }
    older.held.last = newer.held.last;
    if (newer.held.low < older.held.low) older.held.low = newer.held.low;
    if (older.held.high < newer.held.high) older.held.high = newer.held.high;
  }
  bool defined(const State& state) const { return state.some; }
  Out lower(const State& state) const { return state.held; }
  bool same(const State& a, const State& b) const { return a.some == b.some && a.held == b.held; }
};

struct TextTopK {
  static constexpr bool commutative = true;
  std::size_t k = 1;

  using In = std::string;
  using State = std::vector<std::string>;
  using Out = std::vector<std::string>;
  State identity() const { return {}; }
  State lift(std::string value) const { return {std::move(value)}; }
  State combine(const State& older, const State& newer) const {
    State both(older.size() + newer.size());
    std::merge(older.begin(), older.end(), newer.begin(), newer.end(), both.begin(),
               std::greater<>{});
    both.resize(std::min(k, both.size()));
    return both;
  }
  template <class Archive>
  void archive(Archive& a, State& state) const {
    a(state);
    expect(state.size() <= k && std::is_sorted(state.begin(), state.end(), std::greater<>{}),
           "the largest values are too many or not in order");
  }
  Out lower(const State& state) const { return state; }
  bool same(const State& a, const State& b) const { return a == b; }
};

}  // namespace slidefold
