#include "registry.hpp"
#include "slidefold/algorithms/two_stacks_lite.hpp"
#include "slidefold/columns/two_stacks.hpp"

namespace slidefold::bindings {

// Small plain states run the unrolled kernel; large ones step by step, in half the memory.
template <class Op>
  requires(std::is_trivially_copyable_v<typename Op::State>)
struct ForColumns<TwoStacksLite<Op>> {
  using type = TwoStacksLite<Op>;
  template <class Lift, class Emit>
  static void slide(const Op& op, std::size_t rows, std::size_t window, Lift&& lift, Emit&& emit) {
    slide_two_stacks(op, rows, window, lift, emit);
  }
  template <class Lift, class Emit>
  static void drain(const Op& op, std::size_t rows, std::size_t window, Lift&& lift, Emit&& emit) {
    drain_two_stacks(op, rows, window, lift, emit);
  }
  template <class Lift, class Emit>
  static void fold(const Op& op, const std::int64_t* lo, const std::int64_t* hi, std::size_t frames,
                   Lift&& lift, Emit&& emit) {
    fold_two_stacks(op, lo, hi, frames, lift, emit);
  }
};

template <class Op>
inline constexpr bool leaves_columns<TwoStacksLite<Op>> = true;

FacePtr make_two_stacks_lite(const Spec& spec, const Options& options) {
  return make<Plain<TwoStacksLite>::Build, Static::kNumbers>(spec, options);
}

}  // namespace slidefold::bindings
