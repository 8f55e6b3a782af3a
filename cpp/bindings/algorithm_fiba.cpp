#include "fiba_build.hpp"

namespace slidefold::bindings {
namespace {

template <class Op>
struct FibaBuild {
  static TreePtr make(const Op& op, const TreeOptions& options) {
    if constexpr (in_fiba_reals<Op> || Erased<Op>) {
      return make_fiba_over(op, options);
    } else {
      return nullptr;
    }
  }
};

}  // namespace

TreePtr make_fiba(const Spec& spec, const TreeOptions& options) {
  if (!options.counted) {
    if (TreePtr tree = make_fiba_wholes(spec, options)) return tree;
  }
  return make<FibaBuild, Static::kHot>(spec, options);
}

}  // namespace slidefold::bindings
