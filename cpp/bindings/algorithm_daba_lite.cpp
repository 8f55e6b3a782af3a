#include "registry.hpp"
#include "slidefold/algorithms/daba_lite.hpp"
#include "slidefold/columns/daba.hpp"

namespace slidefold::bindings {

// Named apart: an alias of one name in two files would be one template to the linker.
template <class Op>
using DabaLiteEvents = DabaLite<Op, ChunkedQueue>;

template <class Op>
struct ForColumns<DabaLite<Op, ChunkedQueue>> {
  using type = DabaLite<Op, Ring>;  // a column's window is known: a ring has no chunk ends
  template <class Lift, class Emit>
    requires(!Erased<Op>)
  static void slide(const Op& op, std::size_t rows, std::size_t window, Lift&& lift, Emit&& emit) {
    slide_daba_lite(op, rows, window, lift, emit);
  }
  template <class Lift, class Emit>
    requires(!Erased<Op>)
  static void drain(const Op& op, std::size_t rows, std::size_t window, Lift&& lift, Emit&& emit) {
    drain_daba_lite(op, rows, window, lift, emit);
  }
};

FacePtr make_daba_lite(const Spec& spec, const Options& options) {
  return make<Plain<DabaLiteEvents>::Build, Static::kNumbers>(spec, options);
}

}  // namespace slidefold::bindings
