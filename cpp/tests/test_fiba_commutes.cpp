// FiBA where combines commute: late entries are added to the aggregates that cover them.
#include <iterator>

#include "check.hpp"
#include "fiba_lockstep.hpp"
#include "slidefold/algorithms/fiba.hpp"

using namespace slidefold;
using namespace slidefold::check;

namespace {

// Sums of whole numbers are exact, so that each aggregate can be compared. A fallible one keeps a
// journal of the nodes that a step touches.
template <bool kCommutative, bool kFallible = false>
struct WholeSum {
  using State = std::int64_t;
  static constexpr bool commutative = kCommutative, fallible = kFallible;
  std::uint64_t* combines;
  State identity() const { return 0; }
  State combine(State older, State newer) const { return ++*combines, older + newer; }
  bool same(State a, State b) const { return a == b; }
};

template <class Op>
void lockstep(int min_arity, int factor, Arrival arrival, int steps) {
  std::uint64_t combines = 0;
  Fiba<Op> tree(Op{&combines}, min_arity, factor * min_arity);
  Driver<std::int64_t> driver(arrival, static_cast<unsigned>(31 * min_arity + factor));
  std::map<std::int64_t, std::int64_t> window;
  for (int step = 0; step < steps; ++step) {
    // Grows to a few hundred entries, then shrinks: roots and spines come and go.
    const bool growing = step % 900 < 600;
    const std::size_t kind = driver.below(10);
    if (window.empty() || kind < (growing ? 8u : 3u)) {
      const std::int64_t t = driver.next_time();
      const auto value = static_cast<std::int64_t>(1 + driver.below(1000));
      tree.insert(t, value);
      window[t] += value;
    } else if (kind == 9) {
      const std::int64_t until =
          std::next(window.begin(),
                    static_cast<std::ptrdiff_t>(driver.below(window.size() / 8 + 1)))
              ->first;
      tree.bulk_evict(until);
      window.erase(window.begin(), window.upper_bound(until));
    } else {
      auto at = window.begin();
      if (kind % 2 == 0) std::advance(at, driver.below(window.size()));
      CHECK(tree.evict(at->first));
      window.erase(at);
    }
    const std::vector<std::pair<std::int64_t, std::int64_t>> contents(window.begin(), window.end());
    tree.check(&contents);
    std::int64_t truth = 0;
    for (const auto& [t, value] : window) truth += value;
    CHECK(tree.query() == truth);
    CHECK(tree.size() == window.size());
  }
}

TEST(late_entries_keep_every_aggregate_right) {
  for (const Arrival arrival : kArrivals) {
    for (const int min_arity : {2, 3, 4, 8}) {
      lockstep<WholeSum<true>>(min_arity, 2, arrival, 1800);
      lockstep<WholeSum<true>>(min_arity, 4, arrival, 1800);
    }
    lockstep<WholeSum<true, true>>(2, 2, arrival, 1800);
    lockstep<WholeSum<false>>(2, 2, arrival, 1800);
  }
}

struct Costs {
  double combines, bytes;  // per round, per entry
};

// Rounds where every other entry is late by d.
template <class Op>
Costs costs(std::int64_t d) {
  std::uint64_t combines = 0;
  Fiba<Op> tree(Op{&combines});
  const std::int64_t n = 1 << 14, rounds = 1 << 14;
  for (std::int64_t i = 0; i < n + rounds; ++i) {
    if (i == n) combines = 0;
    tree.insert(2 * i, 1);
    if (i >= d) tree.insert(2 * (i - d) + 1, 1);
    if (i < n) continue;
    tree.evict(tree.oldest());
    tree.evict(tree.oldest());
    (void)tree.query();
  }
  return {static_cast<double>(combines) / static_cast<double>(rounds),
          static_cast<double>(tree.bytes()) / static_cast<double>(tree.size())};
}

TEST(a_late_entry_takes_few_combines) {
  for (const std::int64_t d : {8, 512}) {
    CHECK(costs<WholeSum<true>>(d).combines < 0.8 * costs<WholeSum<false>>(d).combines);
  }
}

// A leaf that splits at the young end is left with room for the late entries that still come into
// it, so that it is neither split again nor left half empty.
TEST(entries_that_are_a_little_late_leave_full_leaves) {
  for (const std::int64_t d : {1, 2, 4, 8}) {
    const Costs commuting = costs<WholeSum<true>>(d), other = costs<WholeSum<false>>(d);
    CHECK(commuting.bytes < 24);
    CHECK(other.bytes < 24);
  }
}

}  // namespace
