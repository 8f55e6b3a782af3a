#include "registry.hpp"
#include "slidefold/algorithms/flat_fit.hpp"

namespace slidefold::bindings {

FacePtr make_flat_fit(const Spec& spec, const Options& options) {
  return make<Plain<FlatFit>::Build, Static::kFew>(spec, options);
}

}  // namespace slidefold::bindings
