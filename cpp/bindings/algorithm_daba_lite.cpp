#include "registry.hpp"
#include "slidefold/algorithms/daba_lite.hpp"

namespace slidefold::bindings {

template <class Op>
using Events = DabaLite<Op, ChunkedQueue>;

// A column's window is known: a ring that never grows does without chunk ends.
template <class Op>
struct ForColumns<DabaLite<Op, ChunkedQueue>> {
  using type = DabaLite<Op, Ring>;
};

FacePtr make_daba_lite(const Spec& spec, const Options& options) {
  return make<Plain<Events>::Build, Static::kHot>(spec, options);
}

}  // namespace slidefold::bindings
