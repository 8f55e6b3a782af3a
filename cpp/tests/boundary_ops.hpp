// Operators for the tests of the boundary aggregators.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "slidefold/operator.hpp"

namespace slidefold::check {

// Does not commute: swapped or missing parts show.
struct Concat {
  using State = std::string;
  State identity() const { return {}; }
  State combine(const State& older, const State& newer) const { return older + newer; }
  void absorb(State& older, const State& newer) const { older += newer; }
  bool same(const State& a, const State& b) const { return a == b; }
};

// The same as numbers: hashes of strings, and what they are shifted by.
struct Hash {
  struct State {
    std::uint64_t hash = 0;
    std::uint64_t shift = 1;
    bool operator==(const State&) const = default;
    template <class Archive>
    void archive(Archive& a) {
      a(hash, shift);
    }
  };
  State identity() const { return {}; }
  State combine(const State& older, const State& newer) const {
    return {older.hash * newer.shift + newer.hash, older.shift * newer.shift};
  }
  bool same(const State& a, const State& b) const { return a == b; }
  static State lift(std::size_t row) {
    return {row * 0x9E3779B97F4A7C15u + 1, 0xBF58476D1CE4E5B9u};
  }
};

struct Max {
  using State = double;
  State identity() const { return -1e300; }
  State combine(State older, State newer) const { return older < newer ? newer : older; }
  bool same(State a, State b) const { return a == b; }
};

// Fails now and then, when armed.
struct Failing : Concat {
  static constexpr bool fallible = true;
  bool* armed;
  std::mt19937* random;
  State combine(const State& older, const State& newer) const {
    if (*armed && (*random)() % 6 == 0) throw std::runtime_error("combine failed");
    return older + newer;
  }
  void absorb(State& older, const State& newer) const { older = combine(older, newer); }
};

struct FailingHash : Hash {
  static constexpr bool fallible = true;
  const std::thread::id* mine;  // the only thread that may run it
  bool* armed;
  State combine(const State& older, const State& newer) const {
    if (std::this_thread::get_id() != *mine) std::abort();
    if (*armed) throw std::runtime_error("combine failed");
    return Hash::combine(older, newer);
  }
};

// Counts combines: those of the thread that made it, and those of any other.
struct Counted {
  struct Counts {
    std::thread::id mine = std::this_thread::get_id();
    std::size_t own = 0;
    std::atomic<std::size_t> others = 0;
  };
  using State = double;
  Counts* counts;
  State identity() const { return -1e300; }
  State combine(State older, State newer) const {
    if (std::this_thread::get_id() == counts->mine) {
      ++counts->own;
    } else {
      ++counts->others;
    }
    return std::max(older, newer);
  }
};

inline std::string letter(std::size_t i) { return std::string(1, static_cast<char>('a' + i % 26)); }

inline std::string last(const std::string& all, std::size_t count) {
  return count < all.size() ? all.substr(all.size() - count) : all;
}

inline std::vector<std::string> letters(const std::string& all) {
  std::vector<std::string> result;
  for (const char c : all) result.emplace_back(1, c);
  return result;
}

}  // namespace slidefold::check
