#include "boundary_face.hpp"
#include "slidefold/algorithms/parallel_boundary.hpp"

namespace slidefold::bindings {

BoundaryPtr make_pba(const Spec& spec, const BoundaryOptions& options) {
  using Build = BoundaryBuild<Pba>;
  if (options.timed) return make<Build::Build, Static::kNone>(spec, options);
  return make<Build::Build, Static::kFew>(spec, options);
}

}  // namespace slidefold::bindings
