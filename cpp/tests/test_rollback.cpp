// An operator that fails at any of its calls leaves the window as it was, and a transaction of many
// steps can be taken back as a whole.
#include "lockstep.hpp"

using namespace slidefold;
using namespace slidefold::test;

template <class Visit>
static void each(const Visit& visit) {
  each_algorithm<Concat<true>, Compose<true>, Largest<true>>(visit);
}

// Runs a step again and again, failing at its first call of the operator, at its second, and so on
// until it succeeds. Returns how often it failed.
template <class P, class Step>
static std::size_t with_failures(P& pair, const Step& step) {
  for (int calls = 0;; ++calls) {
    fuse = calls;
    bool failed = false;
    try {
      step();
    } catch (const Failure&) {
      failed = true;
    }
    fuse = -1;
    pair.agree(false);
    if (!failed) return static_cast<std::size_t>(calls);
  }
}

TEST(a_failing_operator_leaves_the_window_as_it_was) {
  each([](const std::string&, auto algorithm) {
    Random random(11);
    Pair pair{algorithm};
    std::size_t failures = 0;
    for (std::size_t step = 0; step < steps(1200); ++step) {
      if (pair.window.empty() || below(random, 100) < insert_chance(step)) {
        const auto value = decltype(pair)::Op::draw(random);
        failures += with_failures(pair, [&] { pair.insert(value); });
      } else {
        failures += with_failures(pair, [&] { pair.evict(); });
      }
      if (below(random, 4) != 0) continue;
      failures += with_failures(pair, [&] { static_cast<void>(pair.query()); });
      pair.agree();
    }
    CHECK(failures > 100);
  });
}

TEST(a_transaction_of_many_steps_is_taken_back) {
  each([](const std::string&, auto algorithm) {
    Random random(12);
    Pair pair{algorithm};
    using Op = typename decltype(pair)::Op;
    for (std::size_t round = 0; round < steps(800); ++round) {
      auto after = pair.window;
      const std::size_t chance = insert_chance(8 * round);
      pair.algorithm.begin();
      for (std::size_t step = below(random, 40); step > 0; --step) {
        if (below(random, 5) == 0) {
          CHECK(Op{}.same(pair.algorithm.query(), fold(Op{}, after)));
        } else if (after.empty() || (after.size() < 80 && below(random, 100) < chance)) {
          after.push_back(Op::draw(random));
          static_cast<void>(pair.algorithm.insert(after.back()));
        } else {
          after.erase(after.begin());
          pair.algorithm.evict();
        }
      }
      if (below(random, 2) == 0) {
        pair.algorithm.rollback();
      } else {
        pair.algorithm.commit();
        pair.window = after;
      }
      pair.agree(below(random, 2) == 0);
    }
  });
}
