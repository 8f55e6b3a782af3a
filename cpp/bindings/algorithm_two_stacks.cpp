#include "registry.hpp"
#include "slidefold/algorithms/two_stacks.hpp"

namespace slidefold::bindings {

FacePtr make_two_stacks(const Spec& spec, const Options& options) {
  return make<Plain<TwoStacks>::Build, Static::kFew>(spec, options);
}

}  // namespace slidefold::bindings
