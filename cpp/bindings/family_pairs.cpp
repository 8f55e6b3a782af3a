#include "family.hpp"
#include "slidefold/operators/pairs.hpp"

namespace slidefold::bindings {
namespace {

// Calls visit with the types of the two columns.
template <class Visit>
MaybeMade with_pair(const Spec& spec, Visit&& visit) {
  return with_number(spec.dtype, [&](auto x) {
    return with_number(spec.key, [&](auto y) { return visit(x, y); });
  });
}

template <Joint kind>
MaybeMade joint(const Spec& spec, std::int64_t ddof = 1) {
  return with_pair(
      spec, [&](auto x, auto y) { return made(TwoColumns<kind, decltype(x), decltype(y)>{ddof}); });
}

}  // namespace

MaybeMade pairs_family(const Spec& spec) {
  const std::string_view name = spec.name;
  if (name == "covariance") return joint<Joint::kCovariance>(spec, spec.number("ddof"));
  if (name == "correlation") return joint<Joint::kCorrelation>(spec);
  if (name == "trend") return joint<Joint::kTrend>(spec);
  if (name == "weighted_mean") {
    return with_pair(
        spec, [&](auto x, auto y) { return made(WeightedMean<decltype(x), decltype(y)>{}); });
  }
  if (name == "decayed_sum") {
    const double half_life = spec.real("half_life");
    return with_pair(spec, [&](auto x, auto y) {
      return made(DecayedSum<decltype(x), decltype(y)>{half_life});
    });
  }
  if (name == "decayed_mean") {
    const double half_life = spec.real("half_life");
    return with_pair(spec, [&](auto x, auto y) {
      return made(DecayedMean<decltype(x), decltype(y)>{half_life});
    });
  }
  return {};
}

}  // namespace slidefold::bindings
