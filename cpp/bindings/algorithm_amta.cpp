#include "registry.hpp"
#include "slidefold/algorithms/amta.hpp"

namespace slidefold::bindings {

FacePtr make_amta(const Spec& spec, const Options& options) {
  return make<Plain<Amta>::Build, Static::kFew>(spec, options);
}

}  // namespace slidefold::bindings
