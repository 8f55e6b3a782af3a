// A window can be emptied and refilled for ever: its memory stays bounded, and what was evicted is
// released.
#include "lockstep.hpp"

using namespace slidefold;
using namespace slidefold::test;

template <bool kFallible, class Visit>
static void each(const Visit& visit) {
  using Op = Tokens<kFallible>;
  each_algorithm<Op, Op, Op>(visit);
}

template <class Algorithm>
static void slide(Algorithm& algorithm, Random& random, std::size_t inserts, std::size_t evicts) {
  for (; inserts > 0; --inserts) {
    auto value = OpOf<Algorithm>::draw(random);
    transact(algorithm, [&] { static_cast<void>(algorithm.insert(std::move(value))); });
  }
  for (; evicts > 0; --evicts) {
    if (evicts % 3 == 0) transact(algorithm, [&] { static_cast<void>(algorithm.query()); });
    transact(algorithm, [&] { algorithm.evict(); });
  }
}

template <bool kFallible>
static void empty_and_refill() {
  each<kFallible>([](const std::string&, auto algorithm) {
    Random random(41);
    slide(algorithm, random, 100, 0);
    const std::size_t bytes = algorithm.bytes();
    slide(algorithm, random, 0, 100);
    for (std::size_t round = 0; round < steps(400); ++round) {
      slide(algorithm, random, 100, 100);
      CHECK_EQ(algorithm.size(), 0);
      CHECK(algorithm.bytes() <= 2 * bytes);
      // A fallible operator's last transaction may still hold what it would restore.
      CHECK(Token::held.size() <= (kFallible ? 4 : 0));
    }
    slide(algorithm, random, 60, 0);
    for (std::size_t round = 0; round < steps(2000); ++round) {
      slide(algorithm, random, 1 + round % 7, 0);
      slide(algorithm, random, 0, 1 + round % 7);
      CHECK_EQ(algorithm.size(), 60);
      CHECK(algorithm.bytes() <= 2 * bytes);
    }
    slide(algorithm, random, 0, 60);
    CHECK(Token::held.size() <= (kFallible ? 4 : 0));
  });
  CHECK_EQ(Token::held.size(), 0);
}

TEST(emptied_and_refilled_for_ever) { empty_and_refill<false>(); }
TEST(emptied_and_refilled_for_ever_with_a_journal) { empty_and_refill<true>(); }

TEST(a_copy_releases_what_it_holds) {
  each<false>([](const std::string&, auto algorithm) {
    Random random(42);
    slide(algorithm, random, 40, 5);
    const std::size_t before = Token::held.size();
    {
      auto copy = algorithm;
      CHECK_EQ(Token::held.size(), 2 * before);
      slide(copy, random, 20, 30);
    }
    CHECK_EQ(Token::held.size(), before);
  });
}

// No state that folds an evicted value outlives it; in a batch, the next query at the latest.
// DabaLite keeps one: agg_ra, until it is needed again.
TEST(what_is_evicted_is_released) {
  each<false>([](const std::string& name, auto algorithm) {
    Random random(45);
    for (std::size_t step = 0; step < steps(3000); ++step) {
      const std::size_t most = step / 200 % 2 == 0 ? 70 : 20;
      slide(algorithm, random, below(random, 4), 0);
      while (algorithm.size() > most || (algorithm.size() > 0 && below(random, 3) != 0)) {
        slide(algorithm, random, 0, 1);
      }
      if (name == "FlatFat, batched" || below(random, 3) == 0) {
        static_cast<void>(algorithm.query());
      }
      const auto oldest = Token::held.lower_bound(Token::next - algorithm.size());
      const auto stale = std::distance(Token::held.begin(), oldest);
      CHECK(stale <= (name.starts_with("DabaLite") ? 1 : 0));
    }
  });
}

// Memory follows the window down again, also after values were pushed as a whole.
template <bool kFallible>
static void shrink_again() {
  each<kFallible>([](const std::string& name, auto algorithm) {
    if (name == "FlatFat of 100" || name == "SlickDeque") return;  // a fixed size; one token
    Random random(43);
    slide(algorithm, random, 10, 0);
    const std::size_t small = algorithm.bytes();
    slide(algorithm, random, 4000, 0);
    static_cast<void>(algorithm.query());
    const std::size_t full = algorithm.bytes();
    CHECK(full > 8 * small);
    slide(algorithm, random, 0, 4000);
    CHECK(algorithm.bytes() <= std::max(4 * small, full / 16));
    CHECK_EQ(algorithm.size(), 10);
  });
}
TEST(shrinking_windows_give_memory_back) { shrink_again<false>(); }
TEST(shrinking_windows_give_memory_back_with_a_journal) { shrink_again<true>(); }

TEST(a_deque_of_falling_values_gives_memory_back) {
  SlickDeque<Tokens<>> algorithm(Tokens<>{});  // nothing wins, so all stay
  Random random(46);
  slide(algorithm, random, 4010, 4000);
  CHECK(algorithm.bytes() <= 64 * 4 * sizeof(Token));
}

// All states that hold something are visited, each once.
template <bool kFallible>
static void visit_all() {
  each<kFallible>([](const std::string&, auto algorithm) {
    Random random(47);
    for (int round = 0; round < 60; ++round) {
      slide(algorithm, random, below(random, 20), 0);
      slide(algorithm, random, 0, below(random, std::min<std::size_t>(algorithm.size() + 1, 15)));
      if (algorithm.size() > 60) slide(algorithm, random, 0, algorithm.size() - 60);
      transact(algorithm, [&] { static_cast<void>(algorithm.query()); });
      std::multiset<Token::Name> visited;
      algorithm.for_states([&](const Token& token) {
        if (token.full()) visited.insert(token.name());
      });
      CHECK(visited == Token::held);
    }
  });
}
TEST(all_states_are_visited) { visit_all<false>(); }
TEST(all_states_are_visited_with_a_journal) { visit_all<true>(); }

// DESIGN, section 4: the states an algorithm keeps for a window of n.
TEST(no_more_states_than_promised) {
  using Op = Tokens<>;
  const auto most = [](const std::string& name, std::size_t n) -> std::size_t {
    const std::size_t slots = std::bit_ceil(n + 1);  // a slide inserts before it evicts
    const auto log2 = static_cast<std::size_t>(std::bit_width(n));
    if (name == "Recalc" || name == "SlickDeque" || name == "FlatFit") return n;
    if (name == "SubtractOnEvict" || name == "TwoStacksLite") return n + 1;
    if (name.starts_with("DabaLite")) return n + 2;
    if (name == "FlatFat of 100") return 2 * 128 - 1;
    if (name.starts_with("FlatFat")) return 2 * slots - 1;
    if (name == "Amta") return 2 * n + 2 * log2 + 1;
    return 2 * n;  // TwoStacks, Daba
  };
  each_algorithm<Op, Op, Op>([&](const std::string& name, auto algorithm) {
    Random random(44);
    for (std::size_t n = 1; n < 90; ++n) {
      slide(algorithm, random, 1, 0);
      for (std::size_t i = 0; i < 3 * n; ++i) {
        if (i % 4 != 0) static_cast<void>(algorithm.query());
        CHECK(Token::held.size() <= most(name, n));
        slide(algorithm, random, 1, 0);
        CHECK(Token::held.size() <= most(name, n + 1));
        slide(algorithm, random, 0, 1);
      }
    }
  });
}
