// The classic augmented B-tree: lockstep with std::map, costs, failures.
#include "check.hpp"
#include "fiba_lockstep.hpp"
#include "slidefold/algorithms/btree.hpp"

using namespace slidefold;
using namespace slidefold::check;

namespace {

template <bool kFallible>
int lockstep(int min_arity, Arrival arrival, int steps) {
  int fuse = -1, failures = 0;
  Concat<kFallible> op;
  op.fuse = &fuse;
  Driver<std::int64_t> driver(arrival, static_cast<unsigned>(min_arity));
  BTree<Concat<kFallible>> tree(op, min_arity);
  for (int i = 0; i < steps; ++i) {
    const bool insert = driver.below(10) < (i / (steps / 4) % 2 == 0 ? 7u : 3u);
    const std::int64_t t = insert ? driver.next_time() : driver.victim();
    const std::string v = driver.letter();
    if (kFallible && driver.below(2) == 0) fuse = static_cast<int>(driver.below(20));
    try {
      transact(tree, [&] { insert ? tree.insert(t, v) : void(tree.evict(t)); });
      if (insert) driver.window[t] += v;
      if (!insert) driver.window.erase(t);
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
    for (const Arrival arrival : kArrivals) lockstep<false>(min_arity, arrival, 600);
  }
}

TEST(a_failing_combine_leaves_the_tree_as_it_was) {
  for (const Arrival arrival : kArrivals) CHECK(lockstep<true>(2, arrival, 600) > 20);
}

TEST(an_insert_costs_the_logarithm_of_the_window) {
  std::uint64_t combines = 0;
  BTree<CountedSum> tree(CountedSum{&combines}, 4);
  for (std::int64_t t = 0; t < 1 << 16; ++t) tree.insert(t, 1);
  combines = 0;
  tree.insert(1 << 20, 1);
  CHECK(combines >= 8 && combines <= 200);
  combines = 0;
  CHECK_EQ(tree.query(), 65537.0);
  CHECK_EQ(combines, 0u);
}
