#include "registry.hpp"
#include "slidefold/algorithms/subtract_on_evict.hpp"

namespace slidefold::bindings {

FacePtr make_subtract_on_evict(const Spec& spec, const Options& options) {
  return make<Plain<SubtractOnEvict>::Build, Static::kNumbers, true>(spec, options);
}

}  // namespace slidefold::bindings
