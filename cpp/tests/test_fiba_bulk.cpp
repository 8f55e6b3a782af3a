// FiBA, bulk operations: lockstep with std::map, combine counts, memory that is given back.
#include <memory>

#include "check.hpp"
#include "fiba_lockstep.hpp"
#include "slidefold/algorithms/fiba.hpp"

using namespace slidefold;
using namespace slidefold::check;

namespace {

struct Batch {
  std::vector<std::int64_t> times;
  std::vector<std::string> values;
};

Batch batch(Driver<std::int64_t>& driver, std::size_t n) {
  Batch made;
  for (std::size_t i = 0; i < n; ++i) {
    made.times.push_back(driver.next_time());
    made.values.push_back(driver.letter());
  }
  if (driver.below(2) == 0) std::sort(made.times.begin(), made.times.end());
  return made;
}

void put(Driver<std::int64_t>& driver, const Batch& made) {
  for (std::size_t i = 0; i < made.times.size(); ++i)
    driver.window[made.times[i]] += made.values[i];
}

// A time up to which to evict: most often few entries, sometimes nearly all.
std::int64_t horizon(Driver<std::int64_t>& driver) {
  const auto& window = driver.window;
  if (window.empty()) return 0;
  auto at = window.begin();
  std::advance(at, driver.below(window.size()) / (1 + driver.below(6)));
  if (driver.below(6) == 0)
    at = std::prev(window.end(),
                   1 + static_cast<long>(driver.below(std::min<std::size_t>(4, window.size()))));
  return at->first - static_cast<std::int64_t>(driver.below(2));
}

template <bool kFallible>
int random_steps(int min_arity, int factor, Arrival arrival, int steps, unsigned seed) {
  int fuse = -1, failures = 0;
  Concat<kFallible> op;
  op.fuse = &fuse;
  Driver<std::int64_t> driver(arrival, seed);
  Fiba<Concat<kFallible>> tree(op, min_arity, factor * min_arity);
  for (int i = 0; i < steps; ++i) {
    const std::size_t kind = driver.below(20);
    const Batch made = batch(driver, kind < 6   ? 1
                                     : kind < 9 ? driver.below(12)
                                                : driver.below(120));
    const std::int64_t t = kind < 17 ? driver.victim() : horizon(driver);
    if (kFallible && driver.below(2) == 0) fuse = static_cast<int>(driver.below(25));
    try {
      transact(tree, [&] {
        if (kind < 6) return tree.insert(made.times[0], made.values[0]);
        if (kind < 10)
          return tree.bulk_insert(made.times.data(), made.values.data(), made.times.size());
        if (kind < 17) return void(tree.evict(t));
        tree.bulk_evict(t);
      });
      if (kind < 10) put(driver, made);
      if (kind >= 10 && kind < 17) driver.window.erase(t);
      if (kind >= 17) driver.window.erase(driver.window.begin(), driver.window.upper_bound(t));
    } catch (const Failure&) {
      ++failures;
    }
    fuse = -1;
    driver.compare(tree);
    driver.compare_range(tree);
  }
  return failures;
}

}  // namespace

TEST(every_arity_and_arrival_agrees_with_a_map) {
  for (int min_arity = 2; min_arity <= 16; ++min_arity) {
    for (const Arrival arrival : kArrivals) {
      random_steps<false>(min_arity, 2, arrival, 300, static_cast<unsigned>(min_arity));
      random_steps<false>(min_arity, 4, arrival, 150, static_cast<unsigned>(min_arity));
    }
  }
}

TEST(a_failing_combine_leaves_the_tree_as_it_was) {
  for (const int min_arity : {2, 4, 8}) {
    for (const Arrival arrival : kArrivals)
      CHECK(random_steps<true>(min_arity, 2, arrival, 300, 9) > 5);
  }
}

TEST(bulk_evict_at_every_place) {
  for (const int min_arity : {2, 3, 5}) {
    Fiba<Concat<false>> full(Concat<false>{}, min_arity);
    std::string all;
    for (int t = 0; t < 150; ++t) {
      all += static_cast<char>('a' + t % 26);
      full.insert(2 * t, all.substr(all.size() - 1));
    }
    for (int until = -1; until < 300; ++until) {
      auto tree = full;
      tree.bulk_evict(until);
      tree.check();
      CHECK_EQ(tree.query(), all.substr(static_cast<std::size_t>(until / 2 + (until < 0 ? 0 : 1))));
    }
  }
}

TEST(bulks_of_every_size_into_every_place) {
  for (const int min_arity : {2, 4}) {
    for (std::size_t n : {1u, 2u, 3u, 7u, 40u, 500u}) {
      for (std::int64_t from = -5; from < 130; from += 3) {
        Fiba<Concat<false>> tree(Concat<false>{}, min_arity, 2 * min_arity);
        std::map<std::int64_t, std::string> window;
        for (int t = 0; t < 120; t += 2) tree.insert(t, window[t] += "x");
        std::vector<std::int64_t> times;
        for (std::size_t i = 0; i < n; ++i) times.push_back(from + static_cast<std::int64_t>(i));
        const std::vector<std::string> values(n, "y");
        tree.bulk_insert(times.data(), values.data(), n);
        tree.check();
        std::string truth;
        for (const std::int64_t t : times) window[t] += "y";
        for (const auto& [t, v] : window) truth += v;
        CHECK_EQ(tree.query(), truth);
      }
    }
  }
}

TEST(an_empty_bulk_changes_nothing) {
  Fiba<Concat<false>> tree(Concat<false>{}, 2);
  tree.bulk_insert(nullptr, nullptr, 0);
  tree.bulk_evict(7);
  tree.check();
  CHECK_EQ(tree.size(), 0u);
}

TEST(equal_times_in_a_bulk_combine_first_and_in_order) {
  Fiba<Concat<false>> tree(Concat<false>{}, 2);
  tree.insert(5, "a");
  const std::int64_t times[] = {7, 5, 7, 1, 5, 7};
  const std::string values[] = {"b", "c", "d", "e", "f", "g"};
  tree.bulk_insert(times, values, 6);
  tree.check();
  CHECK_EQ(tree.query(), "eacfbdg");
  CHECK_EQ(tree.size(), 3u);
}

// ---- costs

TEST(bulk_evict_costs_the_logarithm_of_the_bulk) {
  for (const int min_arity : {2, 4, 8}) {
    std::uint64_t combines = 0;
    Fiba<CountedSum> tree(CountedSum{&combines}, min_arity);
    std::int64_t t = 0, gone = 0;
    for (; t < 1 << 19; ++t) tree.insert(t, 1);
    for (int k = 3; k <= 15; ++k) {
      combines = 0;
      for (int i = 0; i < 4; ++i) tree.bulk_evict((gone += std::int64_t{1} << k) - 1);
      CHECK_EQ(tree.size(), static_cast<std::uint64_t>(t - gone));
      CHECK(combines / 4 <= static_cast<std::uint64_t>(12 * min_arity * k));
    }
    CHECK_EQ(tree.query(), static_cast<double>(t - gone));
  }
}

TEST(bulk_evict_touches_the_boundary_only) {
  for (const int min_arity : {2, 4, 8}) {
    std::uint64_t combines = 0;
    Fiba<JournaledSum> tree(JournaledSum{{&combines}}, min_arity);
    std::int64_t t = 0, gone = 0;
    for (; t < 1 << 19; ++t) tree.insert(t, 1);
    for (int k = 3; k <= 18; ++k) {
      std::size_t touched = 0;
      gone += std::int64_t{1} << k;
      transact(tree, [&] {
        tree.bulk_evict(gone - 1);
        touched = tree.touched();
      });
      CHECK(touched <= static_cast<std::size_t>(6 * k));
      CHECK_EQ(tree.query(), static_cast<double>(t - gone));
    }
  }
}

TEST(small_unsorted_bulks_go_in_one_by_one_and_large_ones_sorted) {
  for (const std::int64_t n : {2, 23, 24, 47, 48, 95, 96, 200}) {
    Fiba<Concat<false>> bulk(Concat<false>{}, 2), loop(Concat<false>{}, 2);
    std::vector<std::int64_t> times;
    std::vector<std::string> values;
    for (std::int64_t i = 0; i < n; ++i) {
      times.push_back(i % 2 == 0 ? 1000 + i : 500 + i / 4);  // one in order, one late, some equal
      values.push_back(std::string(1, static_cast<char>('a' + i % 26)));
    }
    for (std::int64_t t = 0; t < 900; t += 3) bulk.insert(t, "-"), loop.insert(t, "-");
    bulk.bulk_insert(times.data(), values.data(), times.size());
    for (std::size_t i = 0; i < times.size(); ++i) loop.insert(times[i], values[i]);
    bulk.check();
    CHECK_EQ(bulk.query(), loop.query());
    CHECK_EQ(bulk.size(), loop.size());
  }
}

// A time that counts its comparisons.
struct CountedTime {
  std::int64_t t = 0;
  static inline std::uint64_t comparisons = 0;
  friend bool operator<(CountedTime a, CountedTime b) { return ++comparisons, a.t < b.t; }
};

TEST(a_bulk_with_a_steady_delay_is_merged_and_not_sorted) {
  const std::int64_t n = 1 << 14;
  std::uint64_t combines = 0;
  Fiba<CountedSum, CountedTime> tree(CountedSum{&combines});
  std::vector<CountedTime> times;
  for (std::int64_t i = 0; i < n; ++i) times.push_back({i % 2 == 0 ? i + n : i});
  tree.bulk_insert(times.data(), std::vector<double>(times.size(), 1.0).data(), times.size());
  CHECK(CountedTime::comparisons < 8 * static_cast<std::uint64_t>(n));  // a sort needs 14 and more
  CHECK_EQ(tree.query(), static_cast<double>(n));
}

TEST(a_bulk_of_equal_times_is_one_entry) {
  for (const std::size_t n : {2u, 64u, 300u}) {
    Fiba<Concat<false>> tree(Concat<false>{}, 2);
    tree.insert(1, "<");
    tree.bulk_insert(std::vector<std::int64_t>(n, 7).data(),
                     std::vector<std::string>(n, "x").data(), n);
    tree.check();
    CHECK_EQ(tree.size(), 2u);
    CHECK_EQ(tree.query(), "<" + std::string(n, 'x'));
  }
}

TEST(equal_times_of_an_unsorted_bulk_combine_in_the_order_in_which_they_come) {
  Driver<std::int64_t> driver(Arrival::kRandom, 5);
  for (int round = 0; round < 200; ++round) {
    Fiba<Concat<false>> tree(Concat<false>{}, 2);
    std::map<std::int64_t, std::string> truth;
    std::vector<std::int64_t> times;
    std::vector<std::string> values;
    for (std::int64_t i = 0; i < 100; ++i) {
      times.push_back(i / 4 + static_cast<std::int64_t>(driver.below(8)));
      values.push_back(driver.letter());
      truth[times.back()] += values.back();
    }
    tree.bulk_insert(times.data(), values.data(), times.size());
    std::string expected;
    for (const auto& [t, value] : truth) expected += value;
    CHECK_EQ(tree.query(), expected);
    CHECK_EQ(tree.size(), truth.size());
    tree.check();
  }
}

TEST(bulk_insert_combines_less_than_a_loop) {
  for (const std::int64_t d : {0, 256, 4096}) {
    std::uint64_t combines = 0;
    Fiba<CountedSum> bulk(CountedSum{&combines}, 4);
    std::vector<std::int64_t> times;
    for (std::int64_t t = 0; t < 1 << 15; ++t) bulk.insert(2 * t, 1);
    const auto base = 2 * ((std::int64_t{1} << 15) - d) + 1;
    for (std::int64_t i = 0; i < 1024; ++i)
      times.push_back(base + 2 * (d == 0 ? i : i * d / 1024 + i % 2));
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    const std::vector<double> values(times.size(), 1.0);
    auto loop = bulk;
    combines = 0;
    bulk.bulk_insert(times.data(), values.data(), times.size());
    const std::uint64_t in_bulk = combines;
    combines = 0;
    for (const std::int64_t t : times) loop.insert(t, 1);
    CHECK(in_bulk <= combines);
    bulk.check();
    CHECK_EQ(bulk.query(), loop.query());
  }
}

// ---- memory

// A bulk ends inside a leaf, where the next one goes on: the leaf is split there, not in its
// middle.
TEST(bulks_with_a_steady_delay_leave_full_leaves) {
  for (const std::int64_t m : {64, 128, 256}) {
    std::uint64_t combines = 0;
    Fiba<CountedSum> tree(CountedSum{&combines});
    for (std::int64_t t = 0; t < 1 << 17; t += m) {
      std::vector<std::int64_t> times;
      for (std::int64_t i = t; i < t + m; ++i) times.push_back(i % 2 == 0 ? i : i - 1024);
      tree.bulk_insert(times.data(), std::vector<double>(times.size(), 1.0).data(), times.size());
    }
    tree.check();
    CHECK(static_cast<double>(tree.bytes()) < 24.5 * static_cast<double>(tree.size()));
  }
}

TEST(memory_of_a_window_that_shrank_is_reused_then_given_back) {
  std::uint64_t combines = 0;
  Fiba<CountedSum> tree(CountedSum{&combines}, 4);
  std::int64_t t = 0;
  for (; t < 400000; ++t) tree.insert(t, 1);
  const std::size_t full = tree.bytes();
  tree.bulk_evict(t - 50001);
  CHECK_EQ(tree.size(), 50000u);
  CHECK(tree.bytes() > full / 2);  // nothing is freed at once
  for (int i = 0; i < 1000; ++i) tree.insert(t++, 1);
  CHECK(tree.bytes() <= full + 4096);  // reused; 4096 for the list of what waits
  for (std::int64_t i = 0; i < 400000; ++i) {
    tree.evict(t - 51000);
    tree.insert(t++, 1);
  }
  CHECK(tree.bytes() < full / 2);
  tree.check();
}

// A small rest of a large tree: its memory is that of a small tree at once, and so is a copy's.
template <class Op>
static void gives_back_at_once(const Op& op) {
  for (const std::int64_t rest : {0, 1, 9, 1000}) {
    Fiba<Op> tree(op, 4), small(op, 4);
    std::int64_t t = 0;
    for (; t < 200000; ++t) tree.insert(t, 1);
    const std::size_t full = tree.bytes();
    transact(tree, [&] { tree.bulk_evict(t - rest - 1); });
    CHECK_EQ(tree.size(), static_cast<std::uint64_t>(rest));
    CHECK(tree.bytes() < full / 10);
    CHECK(Fiba<Op>(tree).bytes() <= tree.bytes());
    tree.check();
    for (std::int64_t i = 0; i < 2000; ++i) tree.insert(t++, 1);
    tree.check();
    CHECK_EQ(tree.query(), static_cast<double>(rest + 2000));
  }
}

TEST(a_small_rest_of_a_large_tree_keeps_little_memory) {
  std::uint64_t combines = 0;
  gives_back_at_once(CountedSum{&combines});
  gives_back_at_once(JournaledSum{{&combines}});
}

namespace {

// A state that knows how many of its kind own something.
struct Owner {
  std::shared_ptr<int> held;
};
struct LastOwner {
  using State = Owner;
  State identity() const { return {}; }
  State combine(const State&, const State& newer) const { return newer; }
};

}  // namespace

TEST(states_are_released_when_their_slots_are_reused_and_when_the_tree_goes) {
  const auto held = std::make_shared<int>(1);
  {
    Fiba<LastOwner> tree(LastOwner{}, 2);
    for (int t = 0; t < 5000; ++t) tree.insert(t, {held});
    tree.bulk_evict(4989);
    for (int t = 5000; t < 30000; ++t) {
      tree.insert(t, {held});
      tree.evict(t - 10);
    }
    CHECK_EQ(tree.size(), 10u);
    CHECK(held.use_count() < 200);
    for (int t = 29990; t < 30000; ++t) CHECK(tree.evict(t));
    const auto copy = tree;
    CHECK_EQ(copy.size(), 0u);
  }
  CHECK_EQ(held.use_count(), 1);
}
