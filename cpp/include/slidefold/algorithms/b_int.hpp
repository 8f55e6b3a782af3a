// BInt: the folds of base intervals, which are aligned runs of 2^k values.
//
// Layout: values have absolute positions, F the oldest and E the end. Level k is a ring of the
//   folds of the base intervals [j*2^k, (j+1)*2^k) that lie in the window, oldest first. Level 0
//   holds the values; its cursors are their positions.
// Invariants: I1 level 0 is [F, E). I2 level k holds the intervals ceil(F / 2^k) <= j <
//   floor(E / 2^k), and there are levels for all of them. I3 every fold is that of its interval.
// Cost: insert amortised < 1 combine, at most log2 n: it completes an interval at every level whose
//   size divides its position. evict 0. query: the window is cut into the fewest base intervals, at
//   most 2 log2 n of them. Fewer than 2n states.
// Paper: Arasu and Widom, "Resource Sharing in Continuous Sliding-Window Aggregates" (2004), as
//   described in reactive-aggregator-flatfat, sections 6.2 and 7. There a window has a fixed size;
//   here the rings grow and shrink with it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold {

template <class Op>
struct BIntTypes {
  using State = typename Op::State;
  struct Store {
    // A level that is made in a step which fails stays, empty, until a step succeeds.
    std::vector<Ring<State, fallible_v<Op>>> levels{1};
    bool open = false;
    void add_level() {
      levels.emplace_back();
      if (open) levels.back().begin();
    }
    // A small window keeps no memory of the levels that it had when it was large.
    void drop_empty() {
      while (levels.size() > 1 && levels.back().empty()) levels.pop_back();
    }
    void begin() {
      for (auto& level : levels) level.begin();
      open = true;
    }
    void commit() {
      for (auto& level : levels) level.commit();
      open = false;
      drop_empty();
    }
    void rollback() {
      for (auto& level : levels) level.rollback();
      open = false;
    }
  };
  struct Marks {};
};

template <Monoid Op>
class BInt : public Undoable<typename BIntTypes<Op>::Store, typename BIntTypes<Op>::Marks,
                             fallible_v<Op>> {
 public:
  using State = typename Op::State;
  using Position = std::uint64_t;

  explicit BInt(Op op) : op_(std::move(op)) {}

  std::size_t size() const { return levels()[0].size(); }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& level : levels()) sum += level.bytes();
    return sum;
  }
  void reserve(std::size_t count) { levels()[0].reserve(count); }

  void insert(State value) {
    const Position at = end();
    levels()[0].push_back(std::move(value));
    // The intervals that end with the value, while the older half is in the window as well.
    for (unsigned k = 0; (at >> k) % 2 == 1 && ((at >> k) - 1) << k >= front(); ++k) {
      if (levels().size() == k + 1) this->store_.add_level();
      const Position newer = at >> k;
      levels()[k + 1].push_back(op_.combine(fold(k, newer - 1), fold(k, newer)));
    }
  }

  void evict() {
    const Position from = front();
    for (unsigned k = 0; k < levels().size() && !levels()[k].empty(); ++k) {
      levels()[k].pop_front();
      if ((from >> k) % 2 == 1) break;  // no larger interval begins here
    }
    if constexpr (!fallible_v<Op>) this->store_.drop_empty();
  }

  State query() {
    const Position to = end();
    Position at = front();
    if (at == to) return op_.identity();
    State result = interval(at, to);
    while (at < to) absorb(op_, result, interval(at, to));
    return result;
  }

  void check(const std::vector<State>* contents) const;

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    for (const auto& level : levels()) level.for_each(visit);
  }

  template <class Archive>
  void archive(Archive& a) {
    const std::size_t count = a.length(levels().size());
    if constexpr (Archive::kLoading) {
      expect(1 <= count && count <= 64, "the number of levels is wrong");
      levels().clear();
      levels().resize(count);
    }
    for (unsigned k = 0; k < count; ++k) {
      levels()[k].archive(a, [&](auto& state) { archive_state(a, op_, state); });
      if constexpr (Archive::kLoading)
        expect(fits(k), "a level holds other intervals than it must");
    }
  }

 private:
  auto& levels() { return this->store_.levels; }
  const auto& levels() const { return this->store_.levels; }
  Position front() const { return levels()[0].first(); }
  Position end() const { return levels()[0].last(); }

  // The first interval of a level that begins in the window.
  Position first(unsigned k) const { return (front() + (Position{1} << k) - 1) >> k; }
  const State& fold(unsigned k, Position interval) const {
    const auto& level = levels()[k];
    return level[level.at(static_cast<std::size_t>(interval - first(k)))];
  }

  // The fold of the largest base interval from `at` on that ends by `to`; moves `at` behind it.
  const State& interval(Position& at, Position to) const {
    const unsigned within = static_cast<unsigned>(std::bit_width(to - at)) - 1;
    const unsigned k = at == 0 ? within : std::min<unsigned>(std::countr_zero(at), within);
    const State& result = fold(k, at >> k);
    at += Position{1} << k;
    return result;
  }

  // I2 of one level.
  bool fits(unsigned k) const {
    const Position from = first(k), to = end() >> k;
    return levels()[k].size() == (from < to ? to - from : 0);
  }

  Op op_;
};

template <Monoid Op>
void BInt<Op>::check(const std::vector<State>* contents) const {
  for (unsigned k = 0; k < levels().size(); ++k) {
    require(fits(k), "I2: a level holds the base intervals inside the window");
  }
  const auto height = static_cast<unsigned>(levels().size());
  require(end() >> height <= first(height), "I2: no interval lacks its level");
  if (contents == nullptr) return;
  const auto& v = *contents;
  require(v.size() == size(), "I1: level 0 is the window");
  for (unsigned k = 0; k < levels().size(); ++k) {
    const auto& level = levels()[k];
    for (std::size_t rank = 0; rank < level.size(); ++rank) {
      const auto from = static_cast<std::size_t>(((first(k) + rank) << k) - front());
      State expected = v[from];
      for (std::size_t i = 1; i < std::size_t{1} << k; ++i) {
        expected = op_.combine(expected, v[from + i]);
      }
      require_same(op_, level[level.at(rank)], expected, "I3: an interval holds its fold");
    }
  }
}

}  // namespace slidefold
