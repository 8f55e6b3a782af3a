// FiBA of means and extremes of floats.
#include "fiba_pairs.hpp"

namespace slidefold::bindings {
namespace {

template <class Visit>
auto with_operator(const Spec& spec, Visit&& visit) {
  using Result = decltype(visit(Mean<double>{}));
  if (spec.name == "mean" && spec.dtype == "float64") return visit(Mean<double>{});
  if (spec.name == "max" && spec.dtype == "float64") return visit(MinMax<Extreme::kMax, double>{});
  if (spec.name == "min" && spec.dtype == "float64") return visit(MinMax<Extreme::kMin, double>{});
  return Result{};
}

}  // namespace

TreePtr make_fiba_reals(const Spec& spec, const TreeOptions& options) {
  return with_operator(spec, [&](auto op) { return make_fiba_over(op, options); });
}

}  // namespace slidefold::bindings
