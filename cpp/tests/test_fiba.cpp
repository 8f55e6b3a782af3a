// FiBA, single operations: lockstep with std::map, the papers' figures and slips, combine counts.
#include <cmath>

#include "check.hpp"
#include "fiba_lockstep.hpp"
#include "slidefold/algorithms/fiba.hpp"

using namespace slidefold;
using namespace slidefold::check;
using Strings = Fiba<Concat<false>>;

namespace {

// A tree of min_arity 2 that holds `letters` at times 1, 2, ..
Strings alphabet(const std::string& letters) {
  Strings tree(Concat<false>{}, 2, 4);
  std::int64_t t = 0;
  for (const char letter : letters) tree.insert(++t, std::string(1, letter));
  tree.check();
  return tree;
}

template <class Time>
void lockstep(int min_arity, int factor, Arrival arrival, int steps) {
  Driver<Time> driver(arrival,
                      static_cast<unsigned>(min_arity) * 10 + static_cast<unsigned>(arrival));
  Fiba<Concat<false>, Time> tree(Concat<false>{}, min_arity, factor * min_arity);
  for (int i = 0; i < steps; ++i) {
    const bool growing = i / (steps / 4) % 2 == 0;
    if (driver.below(10) < (growing ? 7u : 3u)) {
      const Time t = driver.next_time();
      const std::string v = driver.letter();
      tree.insert(t, v);
      driver.window[t] += v;
    } else {
      const Time t = driver.victim();
      CHECK_EQ(tree.evict(t), driver.window.erase(t) > 0);
    }
    if (driver.window.size() < 80 || i % 8 == 0) driver.compare(tree);
    driver.compare_range(tree);
  }
}

}  // namespace

TEST(every_arity_and_arrival_agrees_with_a_map) {
  for (int min_arity = 2; min_arity <= 16; ++min_arity) {
    for (const Arrival arrival : kArrivals) {
      lockstep<std::int64_t>(min_arity, 2, arrival, 1200);
      lockstep<std::int64_t>(min_arity, 4, arrival, 1200);
    }
  }
}

TEST(times_may_be_doubles) {
  for (const Arrival arrival : kArrivals) lockstep<double>(3, 4, arrival, 1200);
}

TEST(an_empty_tree_answers_the_identity) {
  Strings tree(Concat<false>{}, 4);
  tree.check();
  CHECK_EQ(tree.query(), "");
  CHECK_EQ(tree.query(0, 10), "");
  CHECK(!tree.evict(3));
  CHECK(!tree.next(0).has_value());
}

TEST(min_arity_below_two_is_refused) {
  CHECK_THROWS(Strings(Concat<false>{}, 1), std::invalid_argument);
  CHECK_THROWS(Strings(Concat<false>{}, 4, 7), std::invalid_argument);
}

TEST(equal_times_combine_in_order_of_arrival) {
  Strings tree = alphabet("abcdefghij");
  tree.insert(4, "x");
  tree.insert(10, "y");
  tree.insert(1, "z");
  tree.check();
  CHECK_EQ(tree.query(), "azbcdxefghijy");
  CHECK_EQ(tree.size(), 10u);
}

TEST(emptied_from_either_end_and_filled_again) {
  for (int min_arity = 2; min_arity <= 16; ++min_arity) {
    Strings tree(Concat<false>{}, min_arity, 2 * min_arity);
    for (int round = 0; round < 4; ++round) {
      for (int t = 0; t < 300; ++t) tree.insert(round % 2 == 0 ? t : 299 - t, "x");
      for (int t = 0; t < 300; ++t) {
        CHECK(tree.evict(round / 2 == 0 ? t : 299 - t));
        tree.check();
      }
      CHECK_EQ(tree.size(), 0u);
      CHECK_EQ(tree.query(), "");
    }
  }
}

// Evicts whatever the middle of the window is: most often an entry of the root or high up.
TEST(entries_of_the_root_are_evicted) {
  for (int min_arity = 2; min_arity <= 8; ++min_arity) {
    Driver<std::int64_t> driver(Arrival::kInOrder, 5);
    Strings tree(Concat<false>{}, min_arity, 2 * min_arity);
    for (std::int64_t t = 0; t < 400; ++t) {
      tree.insert(t, driver.letter());
      driver.window[t] = tree.query(t, t);
    }
    while (!driver.window.empty()) {
      auto middle = driver.window.begin();
      std::advance(middle, driver.window.size() / 2);
      CHECK(tree.evict(middle->first));
      driver.window.erase(middle);
      driver.compare(tree);
    }
  }
}

TEST(a_copy_is_independent) {
  Strings tree = alphabet("abcdefghijklmnop");
  Strings copy = tree;
  tree.evict(1);
  copy.insert(0, "_");
  tree.check();
  copy.check();
  CHECK_EQ(tree.query(), "bcdefghijklmnop");
  CHECK_EQ(copy.query(), "_abcdefghijklmnop");
  copy = std::move(tree);
  copy.check();
  CHECK_EQ(copy.query(), "bcdefghijklmnop");
}

TEST(iteration_is_in_time_order) {
  const Strings tree = alphabet("abcdefghijklmnop");
  std::string seen;
  tree.for_each([&](std::int64_t, const std::string& v) { seen += v; });
  CHECK_EQ(seen, "abcdefghijklmnop");
  seen.clear();
  for (auto at = tree.next(0); at; at = tree.next(at->first)) seen += at->second;
  CHECK_EQ(seen, "abcdefghijklmnop");
}

// ---- the steps of figures 3 to 6 and 9, on trees of min_arity 2 that have them

TEST(figure_3_in_order_insert_touches_the_right_finger_only) {
  std::uint64_t combines = 0;
  Fiba<CountedSum> tree(CountedSum{&combines}, 2, 4);
  for (int t = 1; t <= 22; ++t) tree.insert(t, 1);
  combines = 0;
  while (true) {  // the first insert that splits nothing
    const auto bytes = tree.size();
    tree.insert(static_cast<std::int64_t>(bytes) + 1, 1);
    if (combines <= 2) break;
    combines = 0;
  }
  CHECK(combines <= 2);
  tree.check();
}

TEST(figure_3_out_of_order_insert_and_split) {
  Strings tree(Concat<false>{}, 2, 4);
  for (const int t : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 19, 20, 21, 22}) {
    tree.insert(t, std::string(1, static_cast<char>('a' + t - 1)));
  }
  tree.insert(18, "r");
  tree.check();
  tree.insert(16, "p");
  tree.check();
  CHECK_EQ(tree.query(), "abcdefghijklmnopqrstuv");
}

TEST(figure_3_evict_from_a_small_leaf_merges) {
  Strings tree = alphabet("abcdefghijklmnopqrstuv");
  CHECK(tree.evict(1));
  tree.check();
  CHECK(tree.evict(2));
  tree.check();
  CHECK_EQ(tree.query(), "cdefghijklmnopqrstuv");
}

TEST(figure_4_splits_up_to_the_root_increase_the_height) {
  Strings tree = alphabet("abc");
  CHECK_EQ(tree.height(), 1);
  tree.insert(4, "d");
  CHECK_EQ(tree.height(), 2);
  for (std::int64_t t = -1; tree.height() < 4; --t) {
    tree.insert(t, "x");
    tree.check();
  }
}

TEST(figure_5_merge_below_and_move_above) {
  // A left spine whose nodes have two children, next to a sibling of four: the merge of two leaves
  // leaves one child, and its sibling is too large to merge with.
  Strings tree = alphabet("abcdefghijklmnopqrstuvwxyz");
  for (std::int64_t t = 100; t < 140; ++t) tree.insert(t, "x");
  for (int t = 1; t <= 26; ++t) {
    CHECK(tree.evict(t));
    tree.check();
  }
  CHECK_EQ(tree.query(), std::string(40, 'x'));
}

TEST(figure_6_merges_up_to_the_root_decrease_the_height) {
  Strings tree = alphabet("abcdefghijklmnopqrstuvwxyz");
  int height = tree.height();
  int lower = 0;
  for (int t = 15; tree.size() > 1; t = t % 26 + 1) {
    tree.evict(t);
    tree.check();
    lower += tree.height() < height;
    height = tree.height();
  }
  CHECK(lower >= 2);
  CHECK_EQ(height, 1);
}

TEST(figure_9_evict_inner_takes_a_neighbour_from_a_leaf) {
  for (int t = 1; t <= 26; ++t) {
    Strings tree = alphabet("abcdefghijklmnopqrstuvwxyz");
    CHECK(tree.evict(t));
    tree.check();
    std::string rest = "abcdefghijklmnopqrstuvwxyz";
    rest.erase(static_cast<std::size_t>(t - 1), 1);
    CHECK_EQ(tree.query(), rest);
  }
}

// ---- slips in the papers: these fail with the printed versions

// Figure 7, line 61: a node under a root of two borrows from the left spine; the left aggregates of
// the sibling change, but no node that is recorded is on the left spine.
TEST(slip_borrowing_from_the_left_spine_under_a_root_of_two) {
  Strings tree = alphabet("abcd");  // [1 2] 3 [4]
  CHECK_EQ(tree.height(), 2);
  CHECK(tree.evict(4));  // the right leaf is empty and borrows 3; 2 goes up
  tree.check();
  CHECK_EQ(tree.height(), 2);
  CHECK_EQ(tree.query(), "abc");
}

// Figure 10, line 20: i + 1 < arity - 2 leaves out the last but one child.
TEST(slip_a_range_query_does_not_skip_the_last_inner_child) {
  const Strings tree = alphabet("abcdefghijklmnopqrstuvwxyz");
  const std::string all = "abcdefghijklmnopqrstuvwxyz";
  for (int since = 1; since <= 26; ++since) {
    for (int until = since; until <= 26; ++until) {
      const auto from = static_cast<std::size_t>(since - 1);
      CHECK_EQ(tree.query(since, until), all.substr(from, static_cast<std::size_t>(until) - from));
    }
  }
}

// Section 2: i_from is the smallest index with t_from <= t_i, i_to the largest with t_i <= t_to.
TEST(slip_a_range_holds_all_entries_between_its_bounds) {
  const Strings tree = alphabet("abcdefghij");
  CHECK_EQ(tree.query(3, 7), "cdefg");  // as printed: from the largest, 10, to the smallest, 1
  CHECK_EQ(tree.query(-5, 50), "abcdefghij");
  CHECK_EQ(tree.query(7, 3), "");
}

// ---- costs, in combines

namespace {

// n entries, of which d lie behind a gap where slides take place.
template <class Op>
Fiba<Op> tree_with_gap(Op op, int min_arity, std::int64_t n, std::int64_t d) {
  Fiba<Op> tree(op, min_arity, 2 * min_arity);
  for (std::int64_t t = 0; t < n - d; ++t) tree.insert(t, 1);
  for (std::int64_t i = 0; i < d; ++i) tree.insert((std::int64_t{1} << 40) + i, 1);
  return tree;
}

// Changes of nodes per slide at distance d behind the youngest.
double touched_at_distance(int min_arity, std::int64_t n, std::int64_t d) {
  std::uint64_t combines = 0, touched = 0;
  auto tree = tree_with_gap(JournaledSum{{&combines}}, min_arity, n, d);
  const std::int64_t slides = 2048;
  for (std::int64_t i = 0; i < slides; ++i) {
    transact(tree, [&] {
      CHECK(tree.evict(i));
      tree.insert(n - d + i, 1);
      touched += tree.touched();
    });
  }
  return static_cast<double>(touched) / static_cast<double>(slides);
}

// Combines per slide at distance d behind the youngest, over many slides.
double combines_at_distance(int min_arity, std::int64_t n, std::int64_t d) {
  std::uint64_t combines = 0;
  auto tree = tree_with_gap(CountedSum{&combines}, min_arity, n, d);
  const std::int64_t slides = 4096;
  combines = 0;
  for (std::int64_t i = 0; i < slides; ++i) {
    CHECK(tree.evict(i));
    tree.insert(n - d + i, 1);
  }
  return static_cast<double>(combines) / static_cast<double>(slides);
}

}  // namespace

TEST(in_order_cost_does_not_grow_with_the_window) {
  for (const int min_arity : {2, 4, 8}) {
    for (const int k : {10, 14, 18, 22}) {
      const double cost = combines_at_distance(min_arity, std::int64_t{1} << k, 0);
      CHECK(cost < 9);
      CHECK(std::abs(cost - combines_at_distance(min_arity, 1 << 10, 0)) < 0.2);
      const double nodes = touched_at_distance(min_arity, std::int64_t{1} << k, 0);
      CHECK(nodes < 6);
      CHECK(std::abs(nodes - touched_at_distance(min_arity, 1 << 10, 0)) < 0.2);
    }
  }
}

TEST(out_of_order_cost_grows_with_the_logarithm_of_the_distance) {
  const std::int64_t n = 1 << 18;
  for (const int min_arity : {2, 4, 8}) {
    const double near = combines_at_distance(min_arity, n, 16);
    const double middle = combines_at_distance(min_arity, n, 256);
    const double far = combines_at_distance(min_arity, n, 65536);
    CHECK(near < middle && middle < far);
    CHECK(far < 5 * near);  // log 65536 / log 16 = 4
    const double larger = combines_at_distance(min_arity, 4 * n, 256);
    CHECK(std::abs(larger - middle) < 0.1 * middle);  // the window's size does not matter
    const double few = touched_at_distance(min_arity, n, 16);
    const double more = touched_at_distance(min_arity, n, 65536);
    CHECK(more < 5 * few);
    CHECK(std::abs(touched_at_distance(min_arity, 4 * n, 65536) - more) < 1.1);  // a level
  }
}

TEST(query_combines_at_most_twice) {
  std::uint64_t combines = 0;
  Fiba<CountedSum> tree(CountedSum{&combines}, 2, 4);
  for (int t = 0; t < 5000; ++t) {
    tree.insert(t * 7919 % 5003, 1);
    combines = 0;
    CHECK_EQ(tree.query(), t + 1.0);
    CHECK(combines <= 2);
  }
}

TEST(a_range_query_at_the_young_end_costs_the_logarithm_of_its_length) {
  std::uint64_t combines = 0;
  Fiba<CountedSum> tree(CountedSum{&combines}, 4);
  const std::int64_t n = 1 << 18;
  for (std::int64_t t = 0; t < n; ++t) tree.insert(t, 1);
  for (int k = 4; k <= 17; ++k) {
    combines = 0;
    CHECK_EQ(tree.query(n - (std::int64_t{1} << k), n), static_cast<double>(1 << k));
    CHECK(combines <= static_cast<std::uint64_t>(16 * k));
  }
}

TEST(filled_in_order_an_entry_takes_at_most_28_bytes) {
  std::uint64_t combines = 0;
  Fiba<CountedSum> tree(CountedSum{&combines});
  for (int t = 0; t < 200000; ++t) tree.insert(t, 1);
  CHECK(static_cast<double>(tree.bytes()) / 200000 <= 28);
}

// ---- failures

TEST(a_failing_combine_leaves_the_tree_as_it_was) {
  for (const int min_arity : {2, 3, 8}) {
    for (const Arrival arrival : kArrivals) {
      int fuse = -1, failures = 0;
      Driver<std::int64_t> driver(arrival, 77);
      Fiba<Concat<true>> tree(Concat<true>{&fuse}, min_arity, 2 * min_arity);
      for (int i = 0; i < 1500; ++i) {
        const bool insert = driver.below(10) < (i / 400 % 2 == 0 ? 7u : 4u);
        const std::int64_t t = insert ? driver.next_time() : driver.victim();
        const std::string v = driver.letter();
        fuse = driver.below(2) == 0 ? static_cast<int>(driver.below(20)) : -1;
        try {
          transact(tree, [&] { insert ? tree.insert(t, v) : void(tree.evict(t)); });
          if (insert) driver.window[t] += v;
          if (!insert) driver.window.erase(t);
        } catch (const Failure&) {
          ++failures;
        }
        fuse = -1;
        driver.compare(tree);
      }
      CHECK(failures > 50);
    }
  }
}

TEST(a_successful_step_can_be_taken_back) {
  int fuse = -1;
  Driver<std::int64_t> driver(Arrival::kNearlyInOrder, 3);
  Fiba<Concat<true>> tree(Concat<true>{&fuse}, 2);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t t = driver.below(3) == 0 ? driver.victim() : driver.next_time();
    const bool insert = driver.below(3) != 0;
    const bool keep = driver.below(2) == 0;
    tree.begin();
    insert ? tree.insert(t, "x") : void(tree.evict(t));
    keep ? tree.commit() : tree.rollback();
    if (keep && insert) driver.window[t] += "x";
    if (keep && !insert) driver.window.erase(t);
    driver.compare(tree);
  }
}
