#include "tree_face.hpp"

namespace slidefold::bindings {
namespace {

template <class Op>
struct FibaBuild {
  static TreePtr make(const Op& op, const TreeOptions& options) {
    using Tree = Fiba<Op, Tick>;
    Tree tree = options.max_arity == 0 ? Tree(op, options.min_arity)
                                       : Tree(op, options.min_arity, options.max_arity);
    return std::make_unique<TreeFaceOf<Op, Tree>>(op, std::move(tree));
  }
};

}  // namespace

TreePtr make_fiba(const Spec& spec, const TreeOptions& options) {
  return make<FibaBuild, Static::kHot>(spec, options);
}

}  // namespace slidefold::bindings
