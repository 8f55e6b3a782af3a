// Every algorithm is saved and loaded in the middle of its history, then goes on beside itself; and
// no bytes at all, damaged or made up, make a loader do more than refuse.
#include "archive_round.hpp"
#include "lockstep.hpp"
#include "slidefold/operators/dyn.hpp"

using namespace slidefold;
using namespace slidefold::test;

// An operator behind its algebra, as the bindings run those that have no template of their own.
template <class Erased, class Op>
struct Behind : Erased {
  Behind() : Erased{{AlgebraOf<Op>::table(), std::make_shared<const Op>()}} {}
  using State = typename Erased::State;
  static State draw(Random& random) {
    const Behind op;
    if constexpr (std::is_same_v<Erased, AnyOp>) {
      return op.made([&](void* out) { ::new (out) typename Op::State(Op::draw(random)); });
    } else {
      State state;
      ::new (state.bytes) typename Op::State(Op::draw(random));
      return state;
    }
  }
};
using AnyConcat = Behind<AnyOp, Concat<>>;
using AnyCompose = Behind<AnyOp, Compose<>>;
using AnyLargest = Behind<AnyOp, Largest<>>;
using DynCompose = Behind<DynOp<16>, Compose<>>;
using DynLargest = Behind<DynOp<16>, Largest<>>;

template <class Visit>
static void each(const Visit& visit) {
  each_algorithm<Concat<>, Compose<>, Largest<>>(visit);
  each_algorithm<AnyConcat, AnyCompose, AnyLargest>(visit);
  each_algorithm<DynCompose, DynCompose, DynLargest>(visit);
}

template <class P>
static void step(P& pair, Random& random, std::size_t number) {
  if (pair.window.empty() || below(random, 100) < insert_chance(number)) {
    pair.insert(P::Op::draw(random));
  } else {
    pair.evict();
  }
}

TEST(a_loaded_algorithm_goes_on_as_the_saved_one) {
  each([](const std::string&, auto empty) {
    using P = Pair<decltype(empty)>;
    Random random(5);
    P pair{empty};
    for (std::size_t number = 0; number < steps(1200); ++number) {
      step(pair, random, number);
      if (below(random, 3) == 0) pair.query();  // some algorithms rearrange
      if (number % 7 != 0) continue;
      P twin{empty};
      const std::string bytes = saved(pair.algorithm);
      CHECK_EQ(bytes, saved(pair.algorithm));
      load(twin.algorithm, bytes);
      CHECK_EQ(saved(twin.algorithm), bytes);
      twin.window = pair.window;
      Random ahead = random;  // both draw the same values
      P original = pair;
      for (std::size_t more = 0; more < 12; ++more) {
        Random too = ahead;
        step(twin, too, number + more);
        step(original, ahead, number + more);
        twin.agree(more % 2 == 0);
        if (more % 2 == 0) original.query();
        CHECK_EQ(saved(twin.algorithm), saved(original.algorithm));
      }
    }
  });
}

// A loaded window holds its invariants; then steps and answers do no harm, whatever they mean.
template <class Op, class Algorithm>
static void survive(Algorithm& loaded, Random& random) {
  for (std::size_t number = 0; number < 6; ++number) {
    try {
      transact(loaded, [&] { static_cast<void>(loaded.insert(Op::draw(random))); });
    } catch (const std::length_error&) {  // a FlatFat of fixed capacity
    }
    transact(loaded, [&] { static_cast<void>(loaded.query()); });
    for (std::size_t i = 0; i < 2 && loaded.size() > 0; ++i) {
      transact(loaded, [&] { loaded.evict(); });
    }
  }
}

template <class Algorithm>
static std::string small_state(const Algorithm& empty, Random& random, std::size_t size) {
  Pair<Algorithm> pair{empty};
  using Op = typename Pair<Algorithm>::Op;
  for (std::size_t i = 0; i < size; ++i) pair.insert(Op::draw(random));
  for (std::size_t i = 0; i < size / 2; ++i) {
    pair.evict();
    pair.query();
    pair.insert(Op::draw(random));
  }
  return saved(pair.algorithm);
}

TEST(truncated_and_extended_states_are_refused) {
  each([](const std::string&, auto empty) {
    Random random(6);
    const std::string bytes = small_state(empty, random, 9);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      auto twin = empty;
      CHECK_THROWS(load(twin, bytes.substr(0, length)), BadState);
    }
    auto twin = empty;
    CHECK_THROWS(load(twin, bytes + '\0'), BadState);
  });
}

TEST(damaged_states_do_no_harm) {
  each([](const std::string&, auto empty) {
    Random random(7);
    using Op = typename Pair<decltype(empty)>::Op;
    for (const std::size_t size : {0, 1, 5, 9}) {
      const std::string bytes = small_state(empty, random, size);
      each_flip(bytes, [&](const std::string& damaged) {
        auto twin = empty;
        if (loads(twin, damaged)) survive<Op>(twin, random);
      });
      for (std::size_t round = 0; round < steps(400); ++round) {
        std::string damaged = bytes;
        for (std::size_t change = 0; change <= round % 4 && !damaged.empty(); ++change) {
          damaged[below(random, damaged.size())] = static_cast<char>(below(random, 256));
        }
        auto twin = empty;
        if (loads(twin, damaged)) survive<Op>(twin, random);
      }
    }
  });
}
