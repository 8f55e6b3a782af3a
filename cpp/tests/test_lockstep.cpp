// Every algorithm beside a plain window, with operators that do not commute, in random
// interleavings. After each step the numbered invariants and the answer must hold.
#include "lockstep.hpp"

using namespace slidefold;
using namespace slidefold::test;

template <class Visit>
static void each(const Visit& visit) {
  each_algorithm<Concat<>, Compose<>, Largest<>>(visit);
}

TEST(an_empty_window_folds_to_the_identity) {
  each([](const std::string&, auto algorithm) {
    Pair pair{algorithm};
    pair.agree();
    algorithm.check(nullptr);
  });
}

TEST(every_step_agrees_with_a_plain_window) {
  each([](const std::string&, auto algorithm) {
    Random random(1);
    Pair pair{algorithm};
    for (std::size_t step = 0; step < steps(6000); ++step) {
      if (pair.window.empty() || below(random, 100) < insert_chance(step)) {
        pair.insert(decltype(pair)::Op::draw(random));
      } else {
        pair.evict();
      }
      // Some stretches ask all the time, some seldom: algorithms may work in their queries.
      pair.agree(step / 90 % 3 == 0 || below(random, 10) == 0);
    }
  });
}

// The steady state of a window of n rows, many times around any ring.
TEST(a_sliding_window_of_any_size_agrees) {
  each([](const std::string&, auto empty) {
    Random random(2);
    for (std::size_t n = 1; n <= 33; ++n) {
      Pair pair{empty};
      for (std::size_t step = 0; step < steps(8 * n + 40); ++step) {
        if (pair.window.size() == n) pair.evict();
        pair.insert(decltype(pair)::Op::draw(random));
        pair.agree();
      }
    }
  });
}

TEST(a_copy_is_independent) {
  each([](const std::string&, auto algorithm) {
    Random random(3);
    using P = Pair<decltype(algorithm)>;
    const auto walk = [&](P& pair, std::size_t count) {
      for (std::size_t step = 0; step < count; ++step) {
        if (pair.window.empty() || below(random, 2) == 0) {
          pair.insert(P::Op::draw(random));
        } else {
          pair.evict();
        }
        if (step % 4 == 0) pair.agree();
      }
    };
    P pair{algorithm};
    for (std::size_t round = 0; round < steps(60); ++round) {
      P copy = pair;
      walk(copy, 20);
      pair.agree();
      walk(pair, 30);
      copy.agree();
      P copy_of_copy = copy;
      walk(copy, 5);
      copy_of_copy.agree();
    }
  });
}

// What a caller reserves is only a hint.
TEST(reserving_changes_nothing) {
  each([](const std::string&, auto algorithm) {
    Random random(4);
    Pair pair{algorithm};
    for (std::size_t step = 0; step < 50; ++step) {
      pair.algorithm.reserve(step * 7 % 90);
      pair.insert(decltype(pair)::Op::draw(random));
      if (step % 3 == 0) pair.evict();
      pair.agree();
    }
  });
}
