#include "boundary_face.hpp"

namespace slidefold::bindings {

BoundaryPtr make_sba(const Spec& spec, const BoundaryOptions& options) {
  using Build = BoundaryBuild<Sba>;
  if (options.timed) return make<Build::Build, Static::kNone>(spec, options);
  return make<Build::Build, Static::kFew>(spec, options);
}

}  // namespace slidefold::bindings
