// What an operator is: the fold that a window slides.
//
// A monoid has a State, an identity and an associative combine(older, newer), always in time
// order. An operator adds lift (value -> State) and lower (State -> result). Algorithms need
// the monoid only; lift and lower belong to whoever feeds and reads them.
//
// Capabilities are types. Invertible: remove(combine(a, b), a) == b. Selective: combine returns
// one of its arguments, and newer_wins(older, newer) says which.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace slidefold {

template <class Op>
concept Monoid =
    std::copy_constructible<Op> &&
    requires(const Op& op, const typename Op::State& older, const typename Op::State& newer) {
      { op.identity() } -> std::convertible_to<typename Op::State>;
      { op.combine(older, newer) } -> std::convertible_to<typename Op::State>;
    };

template <class Op>
concept Operator = Monoid<Op> && requires(const Op& op, const typename Op::In& value,
                                          const typename Op::State& state) {
  { op.lift(value) } -> std::convertible_to<typename Op::State>;
  { op.lower(state) } -> std::convertible_to<typename Op::Out>;
};

template <class Op>
concept Invertible = Monoid<Op> && requires(const Op& op, const typename Op::State& whole,
                                            const typename Op::State& older) {
  { op.remove(whole, older) } -> std::convertible_to<typename Op::State>;
};

template <class Op>
concept Selective = Monoid<Op> && requires(const Op& op, const typename Op::State& older,
                                           const typename Op::State& newer) {
  { op.newer_wins(older, newer) } -> std::convertible_to<bool>;
};

// An operator whose functions may throw (users' Python, an integer result beyond 64 bits). Its
// algorithms keep a journal, so that a failed step leaves the window as it was.
template <class Op>
inline constexpr bool fallible_v = [] {
  if constexpr (requires { Op::fallible; }) {
    return static_cast<bool>(Op::fallible);
  } else {
    return false;
  }
}();

// An operator whose lift is a mere conversion: column kernels lift a row again rather than keep it.
template <class Op>
inline constexpr bool cheap_lift_v = [] {
  if constexpr (requires { Op::cheap_lift; }) {
    return static_cast<bool>(Op::cheap_lift);
  } else {
    return false;
  }
}();

// Some of them only in lower: an integer sum is judged when it is asked for.
template <class Op>
inline constexpr bool combine_fallible_v = fallible_v<Op> && !requires { Op::only_lower_fails; };

// accumulated = combine(accumulated, newer), in place where the operator knows how: large states
// (Bloom, strings) then neither allocate nor copy.
template <Monoid Op>
inline void absorb(const Op& op, typename Op::State& accumulated, const typename Op::State& newer) {
  if constexpr (requires { op.absorb(accumulated, newer); }) {
    op.absorb(accumulated, newer);
  } else {
    accumulated = op.combine(accumulated, newer);
  }
}

// Equality of states, for check(). Operators without an exact equality leave contents unchecked.
template <class Op>
concept Comparable =
    requires(const Op& op, const typename Op::State& a, const typename Op::State& b) {
      { op.same(a, b) } -> std::convertible_to<bool>;
    };

// A result that does not fit its type.
struct ResultOverflow : std::overflow_error {
  using std::overflow_error::overflow_error;
  ResultOverflow(const std::string& what, std::size_t at) : std::overflow_error(what), row(at) {}
  std::optional<std::size_t> row;  // of a column
};

// check() found a broken invariant.
struct BrokenInvariant : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const char* invariant) {
  if (!holds) throw BrokenInvariant(invariant);
}

template <class Op>
inline void require_same(const Op& op, const typename Op::State& kept,
                         const typename Op::State& truth, const char* invariant) {
  if constexpr (Comparable<Op>) {
    require(op.same(kept, truth), invariant);
  } else {
    (void)op, (void)kept, (void)truth, (void)invariant;
  }
}

}  // namespace slidefold
