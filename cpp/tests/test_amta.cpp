// Amta evicts in bulk, at positions aligned with its trees and not.
#include "lockstep.hpp"

using namespace slidefold;
using namespace slidefold::test;

template <class P>
static void bulk_evict(P& pair, std::size_t count) {
  transact(pair.algorithm, [&] { pair.algorithm.bulk_evict(count); });
  pair.window.erase(pair.window.begin(), pair.window.begin() + std::ptrdiff_t(count));
}

TEST(any_bulk_of_any_window_agrees) {
  Random random(31);
  for (std::size_t n = 0; n <= 20; ++n) {
    for (std::size_t count = 0; count <= n; ++count) {
      for (std::size_t shift = 0; shift < steps(16); ++shift) {
        Pair pair{Amta<Concat<>>(Concat<>{})};
        for (std::size_t i = 0; i < shift + n; ++i) {
          if (i == shift / 2) pair.agree();  // a split somewhere
          pair.insert(Concat<>::draw(random));
          if (i >= n) pair.evict();
        }
        bulk_evict(pair, count);
        pair.agree(shift % 2 == 0);
        pair.insert("x");
        pair.agree();
      }
    }
  }
}

template <bool kFallible>
static void random_bulks(std::size_t count) {
  Random random(32);
  Pair pair{Amta<Concat<kFallible>>(Concat<kFallible>{})};
  for (std::size_t step = 0; step < count; ++step) {
    fuse = kFallible ? int(below(random, 6)) - 1 : -1;
    try {
      if (below(random, 100) < 60) {
        for (std::size_t i = below(random, 12); i > 0; --i) pair.insert(Concat<>::draw(random));
      } else {
        bulk_evict(pair, below(random, std::min<std::size_t>(pair.window.size(), 20) + 1));
      }
      if (below(random, 3) == 0) static_cast<void>(pair.query());
    } catch (const Failure&) {
    }
    fuse = -1;
    pair.agree(below(random, 3) == 0);
    if (below(random, 40) == 0) bulk_evict(pair, pair.window.size());
  }
}

TEST(random_bulks_agree) { random_bulks<false>(steps(10000)); }
TEST(random_bulks_agree_after_failures) { random_bulks<true>(steps(10000)); }
