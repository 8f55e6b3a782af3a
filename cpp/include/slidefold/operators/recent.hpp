// The n-th youngest value, and the distinct values in the order in which they first came.
//
// Layout: nth: the youngest n values, oldest first. collect_distinct: the values.
// Invariants: nth holds at most n values; the values of collect_distinct differ pairwise, where NaN
//   is one value and -0.0 is 0.0.
// Cost: nth O(n) a combine. collect_distinct O(values of both parts) a combine; a part of few
// values
//   is compared with all of the other, a larger one through a hash table made for the occasion.
// Paper: reactive-aggregator-flatfat, Table 1 (Collect, Select nth). Neither commutes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/operators/extremes.hpp"
#include "slidefold/operators/hash.hpp"
#include "slidefold/operators/positional.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

template <class T>
struct Nth {
  static constexpr bool commutative = false;
  std::size_t n = 1;  // 1 is the youngest

  using In = T;
  using State = std::vector<T>;
  using Out = T;
  State identity() const { return {}; }
  State lift(T value) const {
    State one;
    one.push_back(std::move(value));
    return one;
  }
  State combine(const State& older, const State& newer) const {
    const std::size_t kept = std::min(older.size(), n - newer.size());
    State both;
    both.reserve(kept + newer.size());
    both.insert(both.end(), older.end() - static_cast<std::ptrdiff_t>(kept), older.end());
    both.insert(both.end(), newer.begin(), newer.end());
    return both;
  }
  void absorb(State& older, const State& newer) const {
    const std::size_t kept = std::min(older.size(), n - newer.size());
    older.erase(older.begin(), older.end() - static_cast<std::ptrdiff_t>(kept));
    older.insert(older.end(), newer.begin(), newer.end());
  }
  template <class Archive>
  void archive(Archive& a, State& state) const {
    a(state);
    expect(state.size() <= n, "nth holds more values than it keeps");
  }
  bool defined(const State& state) const { return state.size() == n; }
  Out lower(const State& state) const { return state.front(); }
  bool same(const State& a, const State& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_value<T>);
  }
};

template <class T>
struct CollectDistinct {
  static constexpr bool commutative = false;
  using In = T;
  using State = std::vector<T>;
  using Out = std::vector<T>;
  State identity() const { return {}; }
  State lift(T value) const {
    State one;
    one.push_back(std::move(value));
    return one;
  }
  State combine(const State& older, const State& newer) const {
    State both;
    both.reserve(older.size() + newer.size());
    both.insert(both.end(), older.begin(), older.end());
    absorb(both, newer);
    return both;
  }
  void absorb(State& older, const State& newer) const {
    constexpr std::size_t few = 4;  // below, comparing with all is faster than hashing them
    if (newer.size() > few && older.size() > few) return absorb_many(older, newer);
    const std::size_t known = older.size();
    for (const T& value : newer) {
      const auto end = older.begin() + static_cast<std::ptrdiff_t>(known);
      const auto equal = [&](const T& other) { return same_value(other, value); };
      if (std::find_if(older.begin(), end, equal) == end) older.push_back(value);
    }
  }
  Out lower(const State& state) const { return state; }
  bool same(const State& a, const State& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_value<T>);
  }
  template <class Archive>
  void archive(Archive& a, State& state) const {
    a(state);
    if constexpr (Archive::kLoading) expect(distinct(state), "a value is there twice");
  }

 private:
  static bool distinct(State values) {
    if (values.size() < 2) return true;
    std::sort(values.begin(), values.end(), [](const T& a, const T& b) {
      if constexpr (std::is_floating_point_v<T>) return key_of(a) < key_of(b);
      return a < b;
    });
    return std::adjacent_find(values.begin(), values.end(), same_value<T>) == values.end();
  }

  // Finds values of `older` in a table of their positions, with linear probing.
  static void absorb_many(State& older, const State& newer) {
    const std::size_t known = older.size();
    const std::size_t mask = std::bit_ceil(2 * known) - 1;
    std::vector<std::size_t> table(mask + 1, known);  // `known` marks a free place
    const auto place_of = [&](const T& value) {
      std::size_t place = hash_value(value) & mask;
      while (table[place] != known && !same_value(older[table[place]], value)) {
        place = (place + 1) & mask;
      }
      return place;
    };
    for (std::size_t i = 0; i < known; ++i) table[place_of(older[i])] = i;
    for (const T& value : newer) {
      if (table[place_of(value)] == known) older.push_back(value);
    }
  }
};

}  // namespace slidefold
