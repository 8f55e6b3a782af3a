// SlickDeque: only the values that may still become the answer are kept.
//
// Layout: a deque of {number, state}, oldest first; `oldest` and `next` number the window's ends.
// Invariants: I1 the numbers rise, within [oldest, next). I2 no entry loses to the one after it. I3
//   the youngest value is the deque's back. I4 the front is the fold of the window.
// Cost: query 0, insert amortised < 2 comparisons and at most n, evict 0; at most n states.
//   Selective operators only: combine must return one of its arguments.
// Paper: described in pba-parallel-boundary, section 3.1 (SlickDeque, non-invertible).
#pragma once

#include <cstdint>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold {

template <class Op>
struct SlickDequeTypes {
  struct Entry {
    std::uint64_t number{};
    typename Op::State state{};
  };
  struct Marks {
    std::uint64_t oldest = 0, next = 0;
  };
  using Store = Ring<Entry, fallible_v<Op>>;
};

template <Selective Op>
class SlickDeque : public Undoable<typename SlickDequeTypes<Op>::Store,
                                   typename SlickDequeTypes<Op>::Marks, fallible_v<Op>> {
 public:
  using State = typename Op::State;

  explicit SlickDeque(Op op) : op_(std::move(op)) {}

  std::size_t size() const {
    return static_cast<std::size_t>(this->marks_.next - this->marks_.oldest);
  }
  std::size_t bytes() const { return this->store_.bytes(); }
  void reserve(std::size_t) {}  // the deque is short unless the values fall all the time

  State query() const { return this->store_.empty() ? op_.identity() : this->store_.front().state; }

  void insert(State value) {
    auto& store = this->store_;
    while (!store.empty() && op_.newer_wins(store.back().state, value)) store.pop_back();
    store.push_back({this->marks_.next++, std::move(value)});
  }

  void evict() {
    if (this->store_.front().number == this->marks_.oldest) this->store_.pop_front();
    ++this->marks_.oldest;
  }

  void check(const std::vector<State>* contents) const {
    const auto& store = this->store_;
    const auto& [oldest, next] = this->marks_;
    require(store.empty() == (size() == 0), "I3: the youngest value is in the deque");
    for (auto at = store.first(); at != store.last(); at = store.next(at)) {
      require(oldest <= store[at].number && store[at].number < next, "I1: numbers in range");
      if (at == store.first()) continue;
      const auto& older = store[store.prev(at)];
      require(older.number < store[at].number, "I1: the numbers rise");
      require(!op_.newer_wins(older.state, store[at].state), "I2: no entry loses to a younger one");
    }
    if (!store.empty()) require(store.back().number + 1 == next, "I3: the youngest is the back");
    if (contents == nullptr) return;
    require(contents->size() == size(), "I1: next - oldest is the window's length");
    State fold = op_.identity();
    for (const State& value : *contents) fold = op_.combine(fold, value);
    require_same(op_, query(), fold, "I4: the front is the fold of the window");
  }

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    this->store_.for_each([&](const auto& entry) { visit(entry.state); });
  }

  template <class Archive>
  void archive(Archive& a) {
    auto& [oldest, next] = this->marks_;
    this->store_.archive(a, [&](auto& entry) {
      a(entry.number);
      archive_state(a, op_, entry.state);
    });
    a(oldest, next);
    if constexpr (Archive::kLoading) {
      expect_position(next);
      expect(oldest <= next, "the window ends before it begins");
    }
  }

 private:
  Op op_;
};

}  // namespace slidefold
