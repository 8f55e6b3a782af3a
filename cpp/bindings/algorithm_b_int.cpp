#include "registry.hpp"
#include "slidefold/algorithms/b_int.hpp"

namespace slidefold::bindings {

FacePtr make_b_int(const Spec& spec, const Options& options) {
  return make<Plain<BInt>::Build, Static::kFew>(spec, options);
}

}  // namespace slidefold::bindings
