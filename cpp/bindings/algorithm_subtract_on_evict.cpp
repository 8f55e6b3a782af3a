#include "registry.hpp"
#include "slidefold/algorithms/subtract_on_evict.hpp"

namespace slidefold::bindings {

template <class Op>
  requires(cheap_lift_v<Op>)
struct ForColumns<SubtractOnEvict<Op>> {
  using type = SubtractOnEvict<Op>;
  template <class Lift, class Emit>
  static void fold(const Op& op, const std::int64_t* lo, const std::int64_t* hi, std::size_t frames,
                   Lift&& lift, Emit&& emit) {
    fold_invertible(op, lo, hi, frames, lift, emit);
  }
};

FacePtr make_subtract_on_evict(const Spec& spec, const Options& options) {
  return make<Plain<SubtractOnEvict>::Build, Static::kNumbers, true>(spec, options);
}

}  // namespace slidefold::bindings
