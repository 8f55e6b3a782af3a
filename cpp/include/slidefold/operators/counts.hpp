// The k largest values, and how many values fall into each bin.
//
// Layout: top_k: ordered 64-bit integers (extremes.hpp), largest first. histogram: the bin of a
//   single value, or the counts of all bins.
// Invariants: top_k holds at most k values. A histogram's state holds counts or one bin, not both;
// a
//   value outside of the edges is the identity.
// Cost: top_k O(k) a combine. histogram O(log bins) a lift, O(bins) a combine; a singleton takes no
//   counts.
// Paper: none. Both commute; histograms are invertible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/operators/arithmetic.hpp"
#include "slidefold/operators/extremes.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

template <class T>
struct TopK {
  static constexpr bool commutative = true;
  std::size_t k = 1;

  using In = T;
  using State = std::vector<std::int64_t>;
  using Out = std::vector<T>;
  State identity() const { return {}; }
  State lift(T value) const { return {ordered(value)}; }
  State combine(const State& older, const State& newer) const {
    State both;
    both.reserve(std::min(k, older.size() + newer.size()));
    auto a = older.begin();
    auto b = newer.begin();
    while (both.size() < k && (a != older.end() || b != newer.end())) {
      const bool take_newer = a == older.end() || (b != newer.end() && *a < *b);
      both.push_back(take_newer ? *b++ : *a++);
    }
    return both;
  }
  void absorb(State& older, const State& newer) const {
    if (newer.size() != 1) {
      older = combine(older, newer);
    } else if (older.size() < k || older.back() < newer.front()) {
      older.insert(std::upper_bound(older.begin(), older.end(), newer.front(), std::greater<>{}),
                   newer.front());
      if (older.size() > k) older.pop_back();
    }
  }
  template <class Archive>
  void archive(Archive& a, State& state) const {
    a(state);
    expect(state.size() <= k && std::is_sorted(state.begin(), state.end(), std::greater<>{}),
           "the largest values are too many or not in order");
  }
  Out lower(const State& state) const {
    Out values;
    values.reserve(state.size());
    std::transform(state.begin(), state.end(), std::back_inserter(values), value_of<T>);
    return values;
  }
  bool same(const State& a, const State& b) const { return a == b; }
};

// Bins [e0, e1), [e1, e2), ... and the last one closed. For integers the edges are moved to the
// integers that they separate, so that comparing never rounds a value.
template <class T>
class Histogram {
 public:
  static constexpr bool commutative = true;
  using In = T;
  struct State {
    std::int64_t bin = -1;
    std::vector<std::int64_t> counts;
  };
  using Out = std::vector<std::int64_t>;

 private:
  using Edge = std::conditional_t<std::is_integral_v<T>, int128, double>;

 public:
  // Values may travel as codes that are `shift` smaller than they are.
  explicit Histogram(const std::vector<double>& edges, Edge shift = 0) {
    for (const double edge : edges) starts_.push_back(at_or_above(edge) - shift);
    starts_.pop_back();
    last_ = at_or_below(edges.back()) - shift;
  }

  template <class Archive>
  void archive(Archive& a, State& state) const {
    a(state.bin);
    const std::size_t counts = a.length(state.counts.size(), sizeof(std::int64_t));
    if constexpr (Archive::kLoading) state.counts.assign(counts, 0);
    for (std::int64_t& n : state.counts) a.count(n);
    const auto bins = static_cast<std::int64_t>(starts_.size());
    expect(state.counts.empty() ? -1 <= state.bin && state.bin < bins
                                : state.bin == -1 && state.counts.size() == starts_.size(),
           "a histogram has other bins");
  }

  State identity() const { return {}; }
  State lift(T value) const {
    const auto edge = static_cast<Edge>(value);
    if (!(starts_.front() <= edge && edge <= last_)) return {};  // NaN too
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), edge);
    return {after - starts_.begin() - 1, {}};
  }
  State combine(const State& older, const State& newer) const {
    State both = older;
    absorb(both, newer);
    return both;
  }
  void absorb(State& older, const State& newer) const { add(older, newer, 1); }
  State remove(const State& whole, const State& older) const {
    State rest = whole;
    add(rest, older, -1);
    return rest;
  }
  Out lower(const State& state) const {
    State copy = state;
    spread(copy);
    return std::move(copy.counts);
  }
  bool same(const State& a, const State& b) const { return lower(a) == lower(b); }

 private:
  static Edge at_or_above(double edge) { return rounded(std::ceil(edge), edge); }
  static Edge at_or_below(double edge) { return rounded(std::floor(edge), edge); }
  static Edge rounded(double whole, double edge) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Edge>(std::clamp(whole, -0x1p100, 0x1p100));  // also infinities
    } else {
      return edge;
    }
  }

  void spread(State& state) const {
    if (!state.counts.empty()) return;
    state.counts.assign(starts_.size(), 0);
    if (state.bin >= 0) state.counts[static_cast<std::size_t>(state.bin)] = 1;
    state.bin = -1;
  }
  void add(State& whole, const State& part, std::int64_t sign) const {
    if (part.bin < 0 && part.counts.empty()) return;
    if (sign > 0 && whole.bin < 0 && whole.counts.empty()) {
      whole = part;
      return;
    }
    spread(whole);
    if (part.bin >= 0) whole.counts[static_cast<std::size_t>(part.bin)] += sign;
    for (std::size_t i = 0; i < part.counts.size(); ++i) whole.counts[i] += sign * part.counts[i];
  }

  std::vector<Edge> starts_;  // of the bins
  Edge last_{};               // the largest value of the last bin
};

}  // namespace slidefold
