#include "slidefold/algorithms/btree.hpp"
#include "tree_face.hpp"

namespace slidefold::bindings {
namespace {

template <class Op>
struct BTreeBuild {
  static TreePtr make(const Op& op, const TreeOptions& options) {
    return std::make_unique<TreeFaceOf<Op, BTree<Op, Tick>>>(op, options.skips_nulls,
                                                             options.min_arity);
  }
};

}  // namespace

TreePtr make_btree(const Spec& spec, const TreeOptions& options) {
  return make<BTreeBuild, Static::kSum>(spec, options);
}

}  // namespace slidefold::bindings
