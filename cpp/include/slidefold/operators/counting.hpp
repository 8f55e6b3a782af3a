// An operator that counts how often it combines: bounds are claims about this number.
//
// Layout: the operator and a shared counter.
// Invariants: combine, remove, newer_wins and absorb each count one.
// Cost: one relaxed atomic addition a call.
// Paper: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "slidefold/operator.hpp"

namespace slidefold {

template <Monoid Inner>
struct Counting : Inner {
  using State = typename Inner::State;
  std::shared_ptr<std::atomic<std::int64_t>> combines =
      std::make_shared<std::atomic<std::int64_t>>(0);

  explicit Counting(Inner inner) : Inner(std::move(inner)) {}

  State combine(const State& older, const State& newer) const {
    count();
    return Inner::combine(older, newer);
  }
  State remove(const State& whole, const State& older) const
    requires Invertible<Inner>
  {
    count();
    return Inner::remove(whole, older);
  }
  bool newer_wins(const State& older, const State& newer) const
    requires Selective<Inner>
  {
    count();
    return Inner::newer_wins(older, newer);
  }
  void absorb(State& older, const State& newer) const {
    count();
    slidefold::absorb(static_cast<const Inner&>(*this), older, newer);
  }

 private:
  void count() const { combines->fetch_add(1, std::memory_order_relaxed); }
};

}  // namespace slidefold
