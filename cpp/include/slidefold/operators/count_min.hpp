// Count-min: how often a value occurred, never too few.
//
// Layout: hashes with their counts, sorted, while they take less room than the table would; then
//   depth rows of width counters. A value adds to one counter of each row, derived from its hash.
// Invariants: I1 sparse hashes are sorted, their counts positive. I2 sparse only with at most
//   cells/4 hashes (half the table's bytes). I3 counters are sums of counts, so that taking a part
//   away is exact.
// Cost: combine O(sparse hashes) or width * depth; a singleton holds one hash.
// Paper: none. Commutes and is invertible. With width e/epsilon and depth ln(1/(1-confidence)) an
//   estimate is too large by more than epsilon * (all counts) with a probability below
//   1-confidence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/operators/bloom.hpp"
#include "slidefold/operators/hash.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

struct CountMin {
  static constexpr bool commutative = true;
  std::size_t width = 1, depth = 1;

  struct Counted {
    std::uint64_t hash = 0;
    std::int64_t count = 0;
    bool operator==(const Counted&) const = default;
    template <class Archive>
    void archive(Archive& a) {
      a(hash);
      a.count(count);
      if constexpr (Archive::kLoading) expect(count > 0, "a value was counted that never came");
    }
  };
  struct State {
    std::vector<Counted> few;
    std::vector<std::int64_t> cells;  // row by row, or empty
  };

  template <class Archive>
  void archive(Archive& a, State& state) const {
    a(state.few);
    const std::size_t cells = a.length(state.cells.size(), sizeof(std::int64_t));
    if constexpr (Archive::kLoading) state.cells.assign(cells, 0);
    for (std::int64_t& n : state.cells) a.count(n);
    const auto before = [](const Counted& x, const Counted& y) { return x.hash >= y.hash; };
    expect(state.cells.empty() || (state.cells.size() == width * depth && state.few.empty()),
           "the counters are not those of this table");
    expect(std::adjacent_find(state.few.begin(), state.few.end(), before) == state.few.end(),
           "the hashes are not in order");
  }

  State identity() const { return {}; }
  State lift(std::uint64_t hash) const { return {{{hash, 1}}, {}}; }
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
  State lower(State state) const {
    spread(state);
    return state;
  }
  bool same(const State& a, const State& b) const {
    if (a.cells.empty() && b.cells.empty()) return a.few == b.few;
    return lower(a).cells == lower(b).cells;
  }

  // The cell of a hash in a row: rows use different multiples of the hash's own step.
  static std::size_t cell(std::uint64_t hash, std::size_t row, std::size_t width) {
    return row * width + static_cast<std::size_t>(mix64(hash + row) % width);
  }

 private:
  void spread(State& state) const {
    if (!state.cells.empty()) return;
    state.cells.assign(width * depth, 0);
    for (const Counted& counted : state.few) put(state, counted.hash, counted.count);
    state.few = {};
  }
  void put(State& state, std::uint64_t hash, std::int64_t count) const {
    for (std::size_t row = 0; row < depth; ++row) state.cells[cell(hash, row, width)] += count;
  }
  void add(State& whole, const State& part, std::int64_t sign) const {
    if (whole.cells.empty() && part.cells.empty()) {
      for (const auto& [hash, count] : part.few) add_one(whole.few, hash, sign * count);
      if (whole.few.size() > width * depth / 4) spread(whole);
      return;
    }
    spread(whole);
    for (const auto& [hash, count] : part.few) put(whole, hash, sign * count);
    for (std::size_t i = 0; i < part.cells.size(); ++i) whole.cells[i] += sign * part.cells[i];
  }
  static void add_one(std::vector<Counted>& few, std::uint64_t hash, std::int64_t count) {
    const auto at =
        std::lower_bound(few.begin(), few.end(), hash,
                         [](const Counted& counted, std::uint64_t h) { return counted.hash < h; });
    if (at == few.end() || at->hash != hash) {
      few.insert(at, {hash, count});
    } else if ((at->count += count) == 0) {
      few.erase(at);
    }
  }
};

// What a window's counts lower to.
struct CountMinSketch {
  std::vector<std::int64_t> cells;
  std::size_t width = 0, depth = 0;
  BloomKey key = BloomKey::kReal;

  std::int64_t estimate(std::uint64_t hash) const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t row = 0; row < depth; ++row) {
      least = std::min(least, cells[CountMin::cell(hash, row, width)]);
    }
    return least;
  }
  // All counts together: every value adds to one cell of a row.
  std::int64_t total() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += cells[i];
    return sum;
  }
};

template <class T>
struct CountMinOf : CountMin {
  using In = T;
  using Out = CountMinSketch;
  State lift(const T& value) const { return CountMin::lift(hash_value(value)); }
  Out lower(const State& state) const {
    return {std::move(CountMin::lower(state).cells), width, depth, BloomOf<T>::key};
  }
};

}  // namespace slidefold
