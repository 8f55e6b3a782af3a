// Every algorithm, and a driver that runs one in lockstep with a plain deque.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "monoids.hpp"
#include "slidefold/algorithms/amta.hpp"
#include "slidefold/algorithms/b_int.hpp"
#include "slidefold/algorithms/daba.hpp"
#include "slidefold/algorithms/daba_lite.hpp"
#include "slidefold/algorithms/flat_fat.hpp"
#include "slidefold/algorithms/flat_fit.hpp"
#include "slidefold/algorithms/recalc.hpp"
#include "slidefold/algorithms/slick_deque.hpp"
#include "slidefold/algorithms/subtract_on_evict.hpp"
#include "slidefold/algorithms/two_stacks.hpp"
#include "slidefold/algorithms/two_stacks_lite.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold::test {

// Fewer steps under a sanitizer, or with SLIDEFOLD_QUICK set.
inline std::size_t steps(std::size_t count) {
  bool quick = std::getenv("SLIDEFOLD_QUICK") != nullptr;
#ifdef __SANITIZE_ADDRESS__
  quick = true;
#endif
  return quick ? (count + 7) / 8 : count;
}

// Calls visit(name, algorithm) with each algorithm over the given operators, empty.
template <class Any, class Group, class Choice, class Visit>
void each_algorithm(const Visit& visit) {
  const auto named = [&](const std::string& name, auto algorithm) {
    try {
      visit(name, std::move(algorithm));
    } catch (const std::exception& error) {
      throw std::logic_error(name + ": " + error.what());
    }
  };
  const Any any;
  named("Recalc", Recalc<Any>(any));
  named("SubtractOnEvict", SubtractOnEvict<Group>(Group{}));
  named("TwoStacks", TwoStacks<Any>(any));
  named("TwoStacksLite", TwoStacksLite<Any>(any));
  named("Daba", Daba<Any>(any));
  named("Daba in a ring", Daba<Any, Ring>(any));
  named("DabaLite", DabaLite<Any>(any));
  named("DabaLite in a ring", DabaLite<Any, Ring>(any));
  named("SlickDeque", SlickDeque<Choice>(Choice{}));
  named("FlatFat", FlatFat<Any>(any));
  named("FlatFat, batched", FlatFat<Any>(any, 0, true));
  named("FlatFat of 100", FlatFat<Any>(any, 100));
  named("FlatFit", FlatFit<Any>(any));
  named("Amta", Amta<Any>(any));
  named("BInt", BInt<Any>(any));
}

// The operator of an algorithm.
template <template <class...> class Algorithm, class Op>
Op op_of(const Algorithm<Op>&);
template <template <class, template <class, bool> class> class Algorithm, class Op,
          template <class, bool> class Queue>
Op op_of(const Algorithm<Op, Queue>&);
template <class Algorithm>
using OpOf = decltype(op_of(std::declval<const Algorithm&>()));

template <class Op>
typename Op::State fold(const Op& op, const std::vector<typename Op::State>& values) {
  typename Op::State result = op.identity();
  for (const auto& value : values) result = op.combine(result, value);
  return result;
}

// An algorithm beside the window it should hold. Every step is one transaction.
template <class Algorithm>
struct Pair {
  using Op = OpOf<Algorithm>;
  using State = typename Op::State;

  Algorithm algorithm;
  std::vector<State> window{};

  void insert(const State& value) {
    transact(algorithm, [&] { static_cast<void>(algorithm.insert(value)); });
    window.push_back(value);
  }
  void evict() {
    transact(algorithm, [&] { algorithm.evict(); });
    window.erase(window.begin());
  }
  State query() {
    return transact(algorithm, [&] { return algorithm.query(); });
  }
  void agree(bool ask = true) {
    CHECK_EQ(algorithm.size(), window.size());
    algorithm.check(&window);
    if (!ask) return;
    CHECK(Op{}.same(query(), fold(Op{}, window)));
    algorithm.check(&window);
  }
};
template <class Algorithm>
Pair(Algorithm) -> Pair<Algorithm>;  // Clang deduces it from an aggregate only since version 17

// Chance of an insert, in percent: the window grows, shrinks, idles, drains, and fills again.
inline std::size_t insert_chance(std::size_t step) {
  constexpr std::size_t kPhases[] = {70, 50, 30, 50, 90, 0};
  return kPhases[step / 60 % 6];
}

}  // namespace slidefold::test
