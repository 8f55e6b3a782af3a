// FiBA and keyed windows of any operator.
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

KeyedPtr make_keyed(const Spec& spec) {
  if (!kLean) {
    if (KeyedPtr windows = make_keyed_sums(spec)) return windows;
    if (KeyedPtr windows = make_keyed_reals(spec)) return windows;
  }
  return with_erased(erase(spec, false), [](auto op) { return make_keyed_over(op); });
}

}  // namespace slidefold::bindings
