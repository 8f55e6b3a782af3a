// Rounds of a window, timed one by one or all together: what the papers' experiments measure.
//
// Layout: a round evicts, inserts and queries; `prepare(round)` lifts what comes before its clock
//   starts. A swing fills a window one item at a time, and evicts down to `low` when it is full.
// Invariants: the result has one number for the whole run, or one per round.
// Cost: the algorithm's own, and up to four readings of the clock per round.
// Paper: daba-in-order, section 7; fiba-out-of-order, section 5; fiba-bulk, section 7;
//   pba-parallel-boundary, section 5; reactive-aggregator-flatfat, section 6.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "slidefold/interrupt.hpp"

namespace slidefold {

enum class Timed { kRun, kRound, kEvict, kInsert };

struct Rounds {
  std::size_t window = 1;    // items when the rounds begin, or the most of a swing
  std::size_t count = 0;     // rounds, or the items of a swing
  std::size_t bulk = 1;      // items that leave and come in a round
  std::size_t slice = 1;     // rows that are folded into an item
  std::size_t distance = 0;  // trees: items that are younger than those that come
  std::size_t small = 0;     // trees: a second window over the youngest items; 0 for none
  bool twin = false;         // trees: the second window has a tree of its own
  bool swing = false;        // fill and evict down to `low`, again and again
  std::size_t low = 0;
  bool bulk_evict = false;  // one call for all that leave, where there is one
  bool bulk_insert = false;
  bool eager = false;           // trees: free what was evicted at once
  bool count_combines = false;  // combines instead of nanoseconds
  Timed timed = Timed::kRun;
};

// Nanoseconds, or the calls of combine.
struct RoundClock {
  const std::atomic<std::int64_t>* combines = nullptr;
  std::int64_t now() const {
    if (combines != nullptr) return combines->load(std::memory_order_relaxed);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

// Keeps a result that nobody reads from being optimized away.
template <class T>
void use(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

template <class Prepare, class Evict, class Insert, class Query>
std::vector<std::int64_t> run_rounds(std::size_t count, Timed timed, RoundClock clock,
                                     Prepare&& prepare, Evict&& evict, Insert&& insert,
                                     Query&& query) {
  Pacer pace;
  if (timed == Timed::kRun) {
    const std::int64_t start = clock.now();
    for (std::size_t round = 0; round < count; ++round) {
      pace();
      prepare(round);
      evict(round);
      insert(round);
      query();
    }
    return {clock.now() - start};
  }
  std::vector<std::int64_t> taken(count);
  for (std::size_t round = 0; round < count; ++round) {
    pace();
    prepare(round);
    std::int64_t start = clock.now(), end = start;
    evict(round);
    if (timed == Timed::kEvict) end = clock.now();
    if (timed == Timed::kInsert) start = clock.now();
    insert(round);
    if (timed == Timed::kInsert) end = clock.now();
    query();
    if (timed == Timed::kRound) end = clock.now();
    taken[round] = end - start;
  }
  return taken;
}

// insert(item) and query() until `window` items are there, then evict() down to `low`.
template <class Insert, class Evict, class Query>
std::vector<std::int64_t> run_swing(const Rounds& rounds, RoundClock clock, Insert&& insert,
                                    Evict&& evict, Query&& query) {
  Pacer pace;
  std::size_t size = 0;
  const std::int64_t start = clock.now();
  for (std::size_t item = 0; item < rounds.count; ++item) {
    pace();
    insert(item);
    query();
    if (++size < rounds.window) continue;
    for (; size > rounds.low; --size) evict();
  }
  return {clock.now() - start};
}

// The rounds of an algorithm in order. lift(item) gives the state of an item. With `leaving`, that
// many items leave in each round; else as many as come.
template <class Algorithm, class Lift>
std::vector<std::int64_t> in_order_rounds(Algorithm& algorithm, const Rounds& rounds,
                                          RoundClock clock, const std::int64_t* leaving,
                                          Lift&& lift) {
  using State = decltype(lift(std::size_t{}));
  const auto query = [&] { use(algorithm.query()); };
  if (rounds.swing) {
    return run_swing(
        rounds, clock, [&](std::size_t item) { algorithm.insert(lift(item)); },
        [&] { algorithm.evict(); }, query);
  }
  std::size_t next = 0;
  Pacer pace;
  for (; next < rounds.window; ++next) {
    pace();
    algorithm.insert(lift(next));
  }
  std::vector<State> incoming(rounds.bulk);
  return run_rounds(
      rounds.count, rounds.timed, clock,
      [&](std::size_t) {
        for (State& state : incoming) state = lift(next++);
      },
      [&](std::size_t round) {
        const std::size_t gone =
            leaving == nullptr ? rounds.bulk : static_cast<std::size_t>(leaving[round]);
        if constexpr (requires { algorithm.bulk_evict(gone); }) {
          if (rounds.bulk_evict) return algorithm.bulk_evict(gone);
        }
        for (std::size_t i = 0; i < gone; ++i) algorithm.evict();
      },
      [&](std::size_t) {
        for (State& state : incoming) algorithm.insert(std::move(state));
      },
      query);
}

}  // namespace slidefold
