// Which operators FiBA trees and keyed windows are compiled for. Keyed windows keep trees too, so a
// file compiles both over its operators: the code of a tree takes the compiler longest of all.
#pragma once

#include "keyed_face.hpp"
#include "tree_face.hpp"

namespace slidefold::bindings {

template <class Op>
TreePtr make_fiba_over(const Op& op, const TreeOptions& options) {
  return std::make_unique<TreeFaceOf<Op, Fiba<Op, Tick>>>(
      op, options.skips_nulls, options.min_arity,
      options.max_arity == 0 ? 4 * options.min_arity : options.max_arity);
}

template <class Op>
KeyedPtr make_keyed_over(const Op& op) {
  return std::make_unique<KeyedFaceOf<Op>>(op);
}

// Null if the spec names none of the operators of that file.
TreePtr make_fiba_sums(const Spec& spec, const TreeOptions& options);
TreePtr make_fiba_reals(const Spec& spec, const TreeOptions& options);
KeyedPtr make_keyed_sums(const Spec& spec);
KeyedPtr make_keyed_reals(const Spec& spec);

}  // namespace slidefold::bindings
