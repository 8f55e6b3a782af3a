// FiBA of counts and sums, which features ask for most.
#include "fiba_pairs.hpp"

namespace slidefold::bindings {
namespace {

template <class Visit>
auto with_operator(const Spec& spec, Visit&& visit) {
  using Result = decltype(visit(Count{}));
  if (spec.name == "count") return visit(Count{});
  if (spec.name == "sum" && spec.dtype == "float64") return visit(Sum<double>{});
  if (spec.name == "sum" && spec.dtype == "int64") return visit(Sum<std::int64_t>{});
  return Result{};
}

}  // namespace

TreePtr make_fiba_sums(const Spec& spec, const TreeOptions& options) {
  return with_operator(spec, [&](auto op) { return make_fiba_over(op, options); });
}

}  // namespace slidefold::bindings
