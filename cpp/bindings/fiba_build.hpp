// Which FiBA trees are static templates, and how one is made. Two files share them: together they
// take the compiler longest of all.
#pragma once

#include "tree_face.hpp"

namespace slidefold::bindings {

// Worth a template of their own: what keyed features ask for most.
template <class Op>
inline constexpr bool in_fiba_reals = false;
template <class Op>
inline constexpr bool in_fiba_wholes = false;

template <>
inline constexpr bool in_fiba_reals<Count> = true;
template <>
inline constexpr bool in_fiba_reals<Sum<double>> = true;
template <>
inline constexpr bool in_fiba_reals<Mean<double>> = true;
template <>
inline constexpr bool in_fiba_reals<Var<double>> = true;
template <Extreme kind>
inline constexpr bool in_fiba_reals<MinMax<kind, double>> = true;

template <>
inline constexpr bool in_fiba_wholes<Sum<std::int64_t>> = true;
template <>
inline constexpr bool in_fiba_wholes<Mean<std::int64_t>> = true;
template <Extreme kind>
inline constexpr bool in_fiba_wholes<MinMax<kind, std::int64_t>> = true;
template <>
inline constexpr bool in_fiba_wholes<ExtremeBy<Extreme::kMax, std::int64_t, double>> = true;
template <>
inline constexpr bool in_fiba_wholes<ExtremeBy<Extreme::kMax, double, double>> = true;

template <class Op>
TreePtr make_fiba_over(const Op& op, const TreeOptions& options) {
  using Tree = Fiba<Op, Tick>;
  Tree tree = options.max_arity == 0 ? Tree(op, options.min_arity)
                                     : Tree(op, options.min_arity, options.max_arity);
  return std::make_unique<TreeFaceOf<Op, Tree>>(op, std::move(tree), options.skips_nulls);
}

// Null if the spec names none of the integer ones.
TreePtr make_fiba_wholes(const Spec& spec, const TreeOptions& options);

}  // namespace slidefold::bindings
