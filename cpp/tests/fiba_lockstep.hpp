// What the FiBA tests share: operators that tell order and count their work, and a driver that does
// everything to a tree and to a std::map.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold::check {

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// String concatenation: does not commute, so swapped arguments show. `fuse` combines succeed, then
// one fails; negative: none ever does.
template <bool kFallible>
struct Concat {
  using State = std::string;
  static constexpr bool fallible = kFallible;
  int* fuse = nullptr;
  State identity() const { return ""; }
  State combine(const State& older, const State& newer) const {
    if constexpr (kFallible) {
      if (*fuse >= 0 && (*fuse)-- == 0) throw Failure("combine failed");
    }
    return older + newer;
  }
  bool same(const State& a, const State& b) const { return a == b; }
};

// A sum that counts its combines.
struct CountedSum {
  using State = double;
  std::uint64_t* combines;
  State identity() const { return 0; }
  State combine(State older, State newer) const { return ++*combines, older + newer; }
  bool same(State a, State b) const { return a == b; }
};

// One that may fail, so that a tree remembers which nodes a step touches.
struct JournaledSum : CountedSum {
  static constexpr bool fallible = true;
};

// kSteadyDelay: one source in order, another always behind by the same time.
enum class Arrival { kInOrder, kNearlyInOrder, kRandom, kReversed, kSteadyDelay };
inline constexpr Arrival kArrivals[] = {Arrival::kInOrder, Arrival::kNearlyInOrder,
                                        Arrival::kRandom, Arrival::kReversed,
                                        Arrival::kSteadyDelay};

template <class Time>
class Driver {
 public:
  using Window = std::map<Time, std::string>;
  Driver(Arrival arrival, unsigned seed) : arrival_(arrival), random_(seed) {}

  Window window;

  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  std::string letter() { return std::string(1, static_cast<char>('a' + below(26))); }

  Time next_time() {
    now_ += 1 + static_cast<std::int64_t>(below(2));
    switch (arrival_) {
      case Arrival::kInOrder:
        return static_cast<Time>(now_);
      case Arrival::kNearlyInOrder:
        return static_cast<Time>(now_ - static_cast<std::int64_t>(below(30)));
      case Arrival::kSteadyDelay:
        return static_cast<Time>(now_ - (below(3) == 0 ? 0 : 151));
      case Arrival::kRandom:
        return static_cast<Time>(below(3000));
      default:
        return static_cast<Time>(-now_);
    }
  }

  // A time to evict: the oldest, the youngest, any, or one that may not be there.
  Time victim() {
    const std::size_t kind = below(arrival_ == Arrival::kInOrder ? 2 : 5);
    if (window.empty() || kind == 4) return next_time();
    if (kind == 1 || kind == 2) {
      auto at = window.begin();
      std::advance(at, below(window.size()));
      if (kind == 1) return at->first;
    }
    return kind == 3 ? window.rbegin()->first : window.begin()->first;
  }

  std::string fold() const {
    std::string all;
    for (const auto& [t, v] : window) all += v;
    return all;
  }

  template <class Tree>
  void compare(const Tree& tree) {
    const std::vector<std::pair<Time, std::string>> contents(window.begin(), window.end());
    tree.check(&contents);
    if (tree.query() != fold()) throw std::logic_error("query is not the fold");
    if (tree.size() != window.size()) throw std::logic_error("size is not the number of times");
    if (window.empty()) return;
    if (tree.oldest() != window.begin()->first) throw std::logic_error("oldest");
    if (tree.youngest() != window.rbegin()->first) throw std::logic_error("youngest");
  }

  // A random range, often beyond the window's ends.
  template <class Tree>
  void compare_range(const Tree& tree) {
    if (window.empty()) return;
    const Time low = window.begin()->first - 2, high = window.rbegin()->first + 2;
    const auto width = static_cast<std::size_t>(high - low) + 1;
    Time since = low + static_cast<Time>(below(width)),
         until = low + static_cast<Time>(below(width));
    if (below(2) == 0) {  // exactly at entries
      since = window.lower_bound(std::min(since, window.rbegin()->first))->first;
      until = window.lower_bound(std::min(until, window.rbegin()->first))->first;
    }
    std::string truth;
    if (since <= until) {
      const auto end = window.upper_bound(until);
      for (auto at = window.lower_bound(since); at != end; ++at) truth += at->second;
    }
    if (tree.query(since, until) != truth) throw std::logic_error("range query");
  }

 private:
  Arrival arrival_;
  std::mt19937 random_;
  std::int64_t now_ = 0;
};

}  // namespace slidefold::check
