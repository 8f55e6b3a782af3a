#include "boundary_face.hpp"
#include "slidefold/columns/parallel_boundary.hpp"

namespace slidefold::bindings {
namespace {

struct Column {
  template <class Op, class Lift, class Emit>
  static void slide(const Op& op, std::size_t rows, std::size_t range, std::size_t slide,
                    std::size_t chunk, Lift lift, Emit emit) {
    slide_pba(op, rows, range, slide, chunk, lift, emit, true);
  }
};

}  // namespace

BoundaryPtr make_pba(const Spec& spec, const BoundaryOptions& options) {
  using Build = BoundaryBuild<Pba, Column>;
  if (options.timed) return make<Build::Build, Static::kNone>(spec, options);
  return make<Build::Build, Static::kFew>(spec, options);
}

}  // namespace slidefold::bindings
