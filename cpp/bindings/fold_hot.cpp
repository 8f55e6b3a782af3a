// Frames of whole columns for the hot operators, by the two algorithms that plans choose for
// columns.
#include "fold_static.hpp"
#include "registry.hpp"
#include "slidefold/columns/frames.hpp"
#include "slidefold/columns/two_stacks.hpp"

namespace slidefold::bindings {
namespace {

template <class Op>
nb::object by_two_stacks(const Op& op, nb::handle values, const FrameBounds& bounds) {
  return fold_column(op, values, bounds, [&](const auto& lift, const auto& emit) {
    const auto [lo, hi, frames] = bounds;  // here, since Clang 14 does not capture bindings
    const std::size_t window = rows_window(lo, hi, frames);
    if (window <= 1) return fold_two_stacks(op, lo, hi, frames, lift, emit);
    // Rows windows have a kernel of their own, one call per group.
    RowPoll polled;
    for_groups(lo, frames, [&](std::size_t begin, std::size_t end) {
      polled(end - begin);
      slide_two_stacks(
          op, end - begin, window, [&](std::size_t row) { return lift(begin + row); },
          [&](std::size_t row, const typename Op::State& state) {
            emit(begin + row, state, false);
          });
    });
  });
}

template <class Op>
nb::object by_subtraction(const Op& op, nb::handle values, const FrameBounds& bounds) {
  return fold_column(op, values, bounds, [&](const auto& lift, const auto& emit) {
    fold_invertible(op, bounds.lo, bounds.hi, bounds.frames, lift, emit);
  });
}

}  // namespace

nb::object fold_hot(const std::string& algorithm, const Spec& spec, nb::handle values,
                    const FrameBounds& bounds) {
  if (algorithm == "two_stacks_lite") {
    return with_hot_operator(
        spec, [&](auto op) -> nb::object { return by_two_stacks(op, values, bounds); });
  }
  if (algorithm != "subtract_on_evict") return {};
  return with_number_operator(spec, [&](auto op) -> nb::object {
    using Op = decltype(op);
    if constexpr (Invertible<Op> && cheap_lift_v<Op>) {
      return by_subtraction(op, values, bounds);
    } else {
      return {};
    }
  });
}

}  // namespace slidefold::bindings
