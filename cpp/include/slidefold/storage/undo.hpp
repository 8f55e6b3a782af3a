// What an algorithm keeps: a store and a few marks (cursors, accumulated states), so that a step
// which fails half way can be taken back as a whole.
//
// Layout: store_, marks_, and for fallible operators a copy of the marks as they were at begin().
// Invariants: I1 begin() is followed by exactly one commit() or rollback().
// Cost: begin copies the marks, O(1); commit and rollback are O(changes). Nothing for operators
//   that cannot fail: the calls are empty.
// Paper: none.
#pragma once

#include <type_traits>
#include <utility>

namespace slidefold {

template <class Store, class Marks, bool kUndo>
class Undoable {
 public:
  void begin() {
    if constexpr (kUndo) {
      saved_ = marks_;
      store_.begin();
    }
  }
  void commit() {
    if constexpr (kUndo) {
      store_.commit();
      if constexpr (!std::is_trivially_destructible_v<Marks>) saved_ = Marks{};  // own nothing
    }
  }
  void rollback() {
    if constexpr (kUndo) {
      store_.rollback();
      marks_ = std::move(saved_);
    }
  }

 protected:
  struct Nothing {};
  Store store_;
  Marks marks_{};
  std::conditional_t<kUndo, Marks, Nothing> saved_{};
};

// Runs a step as one transaction of `algorithm`.
template <class Algorithm, class Step>
decltype(auto) transact(Algorithm& algorithm, Step&& step) {
  struct Guard {
    Algorithm& algorithm;
    bool done = false;
    explicit Guard(Algorithm& a) : algorithm(a) { algorithm.begin(); }
    Guard(const Guard&) = delete;
    ~Guard() { done ? algorithm.commit() : algorithm.rollback(); }
  } guard(algorithm);
  if constexpr (std::is_void_v<decltype(step())>) {
    step();
    guard.done = true;
  } else {
    auto result = step();
    guard.done = true;
    return result;
  }
}

}  // namespace slidefold
