#include "registry.hpp"
#include "slidefold/algorithms/recalc.hpp"

namespace slidefold::bindings {

FacePtr make_recalc(const Spec& spec, const Options& options) {
  return make<Plain<Recalc>::Build, Static::kFew, false, false, true>(spec, options);
}

}  // namespace slidefold::bindings
