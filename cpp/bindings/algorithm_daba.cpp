#include "registry.hpp"
#include "slidefold/algorithms/daba.hpp"

namespace slidefold::bindings {

// Named apart: an alias of one name in two files would be one template to the linker.
template <class Op>
using DabaEvents = Daba<Op, ChunkedQueue>;

// A column's window is known: a ring has no chunk ends.
template <class Op>
struct ForColumns<Daba<Op, ChunkedQueue>> {
  using type = Daba<Op, Ring>;
};

FacePtr make_daba(const Spec& spec, const Options& options) {
  return make<Plain<DabaEvents>::Build, Static::kFew>(spec, options);
}

}  // namespace slidefold::bindings
