// FiBA of any operator.
#include "fiba_pairs.hpp"

namespace slidefold::bindings {

TreePtr make_fiba(const Spec& spec, const TreeOptions& options) {
  if (!options.counted && !kLean) {
    if (TreePtr tree = make_fiba_sums(spec, options)) return tree;
    if (TreePtr tree = make_fiba_reals(spec, options)) return tree;
  }
  const ErasedOperator erased = erase(spec, options.counted);
  TreePtr tree = with_erased(erased, [&](auto op) { return make_fiba_over(op, options); });
  tree->combines = erased.combines;
  return tree;
}

}  // namespace slidefold::bindings
