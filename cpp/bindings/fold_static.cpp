// Frames of whole columns for operators that single events meet at run time only: compiled for each
// of them, but for Two-Stacks and Subtract-on-Evict alone, which columns are folded by.
//
// A covariance takes three combines per row, and through a table of functions they take more than
// twice the time.
#include "fold_static.hpp"

#include "face.hpp"
#include "registry.hpp"
#include "slidefold/columns/frames.hpp"
#include "slidefold/operators/logic.hpp"
#include "slidefold/operators/pairs.hpp"
#include "slidefold/operators/ranges.hpp"

namespace slidefold::bindings {
namespace {

template <class Op>
nb::object folded(const Op& op, nb::handle values, const FrameBounds& bounds) {
  return fold_column(op, values, bounds, [&](const auto& lift, const auto& emit) {
    if constexpr (Invertible<Op>) {
      fold_invertible(op, bounds.lo, bounds.hi, bounds.frames, lift, emit);
    } else {
      fold_two_stacks(op, bounds.lo, bounds.hi, bounds.frames, lift, emit);
    }
  });
}

template <class Use>
nb::object with_pair(const Spec& spec, Use&& use) {
  return with_number(
      spec.dtype, [&](auto x) { return with_number(spec.key, [&](auto y) { return use(x, y); }); });
}

nb::object two_columns(const Spec& spec, nb::handle values, const FrameBounds& bounds) {
  const std::string_view name = spec.name;
  return with_pair(spec, [&](auto x, auto y) -> nb::object {
    using X = decltype(x);
    using Y = decltype(y);
    if (name == "covariance") {
      const TwoColumns<Joint::kCovariance, X, Y> op{spec.number("ddof")};
      return folded(op, values, bounds);
    }
    if (name == "correlation") {
      return folded(TwoColumns<Joint::kCorrelation, X, Y>{}, values, bounds);
    }
    if (name == "trend") return folded(TwoColumns<Joint::kTrend, X, Y>{}, values, bounds);
    return folded(DecayedMean<X, Y>{spec.real("half_life")}, values, bounds);
  });
}

template <Quantifier kind>
nb::object truths(const Spec& spec, nb::handle values, const FrameBounds& bounds) {
  if (spec.dtype == "bool") return folded(Truth<kind, bool>{}, values, bounds);
  return with_number(spec.dtype, [&](auto t) -> nb::object {
    return folded(Truth<kind, decltype(t)>{}, values, bounds);
  });
}

}  // namespace

nb::object fold_static(const std::string& algorithm, const Spec& spec, nb::handle values,
                       const FrameBounds& bounds) {
  if (nb::object found = fold_hot(algorithm, spec, values, bounds); found.is_valid()) return found;
  const std::string_view name = spec.name;
  if (algorithm == "subtract_on_evict") {
    if (name == "any") return truths<Quantifier::kAny>(spec, values, bounds);
    if (name == "all") return truths<Quantifier::kAll>(spec, values, bounds);
    if (name == "bit_xor") return folded(Bits<Bitwise::kXor>{}, values, bounds);
  }
  if (algorithm != "two_stacks_lite") return {};
  if (name == "bit_and") return folded(Bits<Bitwise::kAnd>{}, values, bounds);
  if (name == "bit_or") return folded(Bits<Bitwise::kOr>{}, values, bounds);
  const bool pairs = name == "covariance" || name == "correlation" || name == "trend";
  if (pairs || name == "decayed_mean") return two_columns(spec, values, bounds);
  return with_number(spec.dtype, [&](auto t) -> nb::object {
    using T = decltype(t);
    if (name == "range") return folded(Range<T>{}, values, bounds);
    if (name == "relative_variation") return folded(RelativeVariation<T>{}, values, bounds);
    if (name == "max_count") return folded(ExtremeCount<Extreme::kMax, T>{}, values, bounds);
    if (name == "min_count") return folded(ExtremeCount<Extreme::kMin, T>{}, values, bounds);
    return {};
  });
}

}  // namespace slidefold::bindings
