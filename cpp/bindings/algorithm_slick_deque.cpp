#include "registry.hpp"
#include "slidefold/algorithms/slick_deque.hpp"

namespace slidefold::bindings {

FacePtr make_slick_deque(const Spec& spec, const Options& options) {
  return make<Plain<SlickDeque>::Build, Static::kNumbers, false, true>(spec, options);
}

}  // namespace slidefold::bindings
