// Which operators FiBA trees are compiled for, a file for each few: the code of a tree takes the
// compiler longest of all.
#pragma once

#include "tree_face.hpp"

namespace slidefold::bindings {

template <class Op>
TreePtr make_fiba_over(const Op& op, const TreeOptions& options) {
  return std::make_unique<TreeFaceOf<Op, Fiba<Op, Tick>>>(
      op, options.skips_nulls, options.min_arity,
      options.max_arity == 0 ? 4 * options.min_arity : options.max_arity);
}

// Null if the spec names none of the operators of that file.
TreePtr make_fiba_sums(const Spec& spec, const TreeOptions& options);
TreePtr make_fiba_reals(const Spec& spec, const TreeOptions& options);

}  // namespace slidefold::bindings
