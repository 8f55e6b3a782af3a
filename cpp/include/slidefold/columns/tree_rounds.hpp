// Rounds of a tree that is ordered by time (rounds.hpp).
//
// Layout: `distance` items with high times are there before the rounds begin, and what comes gets
//   low, rising times: each of them has exactly that many younger items. The oldest leave.
// Invariants: the tree holds `window` items at the end of each round.
// Cost: the tree's own.
// Paper: fiba-out-of-order, section 5.1.1 (the adversarial generator) and 5.1.4 (window sharing);
//   fiba-bulk, section 7.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "slidefold/columns/rounds.hpp"

namespace slidefold {

// The deferred free list of a tree, emptied at once: what its absence would cost.
template <class Tree>
struct EagerlyFreed : Tree {
  using Tree::Tree;
  explicit EagerlyFreed(const Tree& tree) : Tree(tree) {}
  void free_all() {
    if constexpr (requires { this->nodes_.deferred(); }) {
      while (this->nodes_.deferred() > 0) this->nodes_.tidy();
    }
  }
};

// A tree whose items get times as the generator says.
template <class Tree, class State>
class LateItems {
  using Time = std::int64_t;
  static constexpr Time kHigh = Time{1} << 61;

 public:
  LateItems(const Tree& empty, const Rounds& rounds, std::size_t window)
      : tree_(empty), rounds_(rounds), window_(window), times_(rounds.bulk) {}

  template <class Lift>
  void fill(Lift&& lift) {
    const std::size_t high = std::min(rounds_.distance, window_);
    Pacer pace;
    for (std::size_t item = 0; item < window_; ++item) {
      pace();
      const bool low = item < window_ - high;
      tree_.insert(low ? next_++ : kHigh + static_cast<Time>(item), lift(item));
    }
  }
  void evict() {
    if (rounds_.bulk_evict) {
      tree_.bulk_evict(last_leaving());
    } else {
      for (std::size_t i = 0; i < rounds_.bulk; ++i) tree_.evict(tree_.oldest());
    }
    if (rounds_.eager) tree_.free_all();
  }
  void insert(const std::vector<State>& states) {
    if (rounds_.bulk_insert) {
      for (Time& time : times_) time = next_++;
      tree_.bulk_insert(times_.data(), states.data(), states.size());
    } else {
      for (const State& state : states) tree_.insert(next_++, state);
    }
  }
  void query() { use(tree_.query()); }
  // Of the youngest `small` items.
  void query_range() {
    const std::size_t high = std::min(rounds_.distance, rounds_.small);
    const Time since = high == rounds_.small ? kHigh + static_cast<Time>(window_ - high)
                                             : next_ - static_cast<Time>(rounds_.small - high);
    use(tree_.query(since, std::numeric_limits<Time>::max()));
  }

 private:
  // Low times are consecutive, so the time of the bulk-th oldest item is known.
  Time last_leaving() { return tree_.oldest() + static_cast<Time>(rounds_.bulk) - 1; }

  EagerlyFreed<Tree> tree_;
  const Rounds& rounds_;
  std::size_t window_;
  std::vector<Time> times_;
  Time next_ = 0;
};

template <class State, class Tree, class Lift>
std::vector<std::int64_t> tree_rounds(const Tree& empty, const Rounds& rounds, RoundClock clock,
                                      Lift&& lift) {
  if (rounds.swing) {
    Tree tree = empty;
    return run_swing(
        rounds, clock,
        [&](std::size_t item) { tree.insert(static_cast<std::int64_t>(item), lift(item)); },
        [&] { tree.evict(tree.oldest()); }, [&] { use(tree.query()); });
  }
  LateItems<Tree, State> items(empty, rounds, rounds.window);
  items.fill(lift);
  LateItems<Tree, State> other(empty, rounds, rounds.small);
  if (rounds.twin) other.fill(lift);
  std::size_t next = rounds.window;
  std::vector<State> incoming(rounds.bulk);
  return run_rounds(
      rounds.count, rounds.timed, clock,
      [&](std::size_t) {
        for (State& state : incoming) state = lift(next++);
      },
      [&](std::size_t) {
        items.evict();
        if (rounds.twin) other.evict();
      },
      [&](std::size_t) {
        items.insert(incoming);
        if (rounds.twin) other.insert(incoming);
      },
      [&] {
        items.query();
        if (rounds.small == 0) return;
        rounds.twin ? other.query() : items.query_range();
      });
}

// Rows in order of arrival over a window of time: insert, evict what is `range` or more older than
// the youngest, query. The rounds begin with row `rounds.window`.
template <class Tree, class Lift>
std::vector<std::int64_t> timed_rounds(const Tree& empty, const Rounds& rounds, RoundClock clock,
                                       const std::vector<std::int64_t>& times, std::int64_t range,
                                       Lift&& lift) {
  Tree tree = empty;
  const auto insert = [&](std::size_t row) { tree.insert(times[row], lift(row)); };
  const auto evict = [&](std::size_t) {
    const std::int64_t left = tree.youngest() - range;
    if (rounds.bulk_evict) {
      if (tree.oldest() <= left) tree.bulk_evict(left);
    } else {
      for (std::int64_t oldest = tree.oldest(); oldest <= left; oldest = tree.oldest()) {
        tree.evict(oldest);
      }
    }
  };
  Pacer pace;
  for (std::size_t row = 0; row < rounds.window; ++row) {
    pace();
    insert(row);
    evict(row);
  }
  return run_rounds(
      rounds.count, rounds.timed, clock, [](std::size_t) {},
      [&](std::size_t round) { insert(rounds.window + round); }, evict, [&] { use(tree.query()); });
}

}  // namespace slidefold
