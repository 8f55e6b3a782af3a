// The table of operators. A new one is a header and a line here.
#include <cstddef>

#include "compiled_op.hpp"
#include "registry.hpp"
#include "slidefold/operators/positional.hpp"

namespace slidefold::bindings {
namespace {

template <class Visit>
auto with_number(const std::string& dtype, Visit&& visit) {
  return dtype == "int64" ? visit(std::int64_t{}) : visit(double{});
}

template <class Visit>
auto with_value(const std::string& dtype, Visit&& visit) {
  if (dtype == "str") return visit(std::string{});
  if (dtype == "object") return visit(PyRef{});
  return with_number(dtype, visit);
}

template <Extreme kind, class Visit>
auto with_extreme_by(const Spec& spec, Visit&& visit) {
  return with_number(spec.key, [&](auto key) {
    return with_value(spec.dtype, [&](auto arg) {
      return visit(ExtremeBy<kind, decltype(arg), decltype(key)>{});
    });
  });
}

template <class Visit>
auto with_bloom(const Spec& spec, Visit&& visit) {
  const auto bloom = [&](auto t) {
    BloomOf<decltype(t)> op;
    op.bits = static_cast<std::uint64_t>(spec.number("bits"));
    op.hashes = static_cast<std::uint64_t>(spec.number("hashes"));
    return visit(op);
  };
  return spec.dtype == "str" ? bloom(std::string{}) : with_number(spec.dtype, bloom);
}

// Calls visit with the operator that the spec names.
template <class Visit>
auto with_operator(const Spec& spec, Visit&& visit) {
  const std::string_view name = spec.name;
  const auto number = [&](auto&& use) { return with_number(spec.dtype, use); };
  const auto value = [&](auto&& use) { return with_value(spec.dtype, use); };
  const auto var = [&](bool root) {
    return number([&](auto t) { return visit(Var<decltype(t)>{spec.number("ddof"), root}); });
  };
  using enum Extreme;
  if (name == "count") return visit(Count{});
  if (name == "sum") return number([&](auto t) { return visit(Sum<decltype(t)>{}); });
  if (name == "mean") return number([&](auto t) { return visit(Mean<decltype(t)>{}); });
  if (name == "geomean") return number([&](auto t) { return visit(Geomean<decltype(t)>{}); });
  if (name == "var") return var(false);
  if (name == "std") return var(true);
  if (name == "min") return number([&](auto t) { return visit(MinMax<kMin, decltype(t)>{}); });
  if (name == "max") return number([&](auto t) { return visit(MinMax<kMax, decltype(t)>{}); });
  if (name == "min_count")
    return number([&](auto t) { return visit(ExtremeCount<kMin, decltype(t)>{}); });
  if (name == "max_count")
    return number([&](auto t) { return visit(ExtremeCount<kMax, decltype(t)>{}); });
  if (name == "min_by") return with_extreme_by<kMin>(spec, visit);
  if (name == "max_by") return with_extreme_by<kMax>(spec, visit);
  if (name == "first")
    return value([&](auto t) { return visit(AtEnd<End::kFirst, decltype(t)>{}); });
  if (name == "last") return value([&](auto t) { return visit(AtEnd<End::kLast, decltype(t)>{}); });
  if (name == "collect") return value([&](auto t) { return visit(Collect<decltype(t)>{}); });
  if (name == "concat") return visit(Concat{});
  if (name == "bloom") return with_bloom(spec, visit);
  if (name == "object") return visit(ObjectOp(spec.params));
  fail("OperatorError", "there is no operator named '" + spec.name + "'");
}

template <class Op>
ErasedOperator erase(Op op) {
  using State = typename Op::State;
  return {{&port_table<Op>()->algebra, std::make_shared<const Op>(std::move(op))},
          std::is_trivially_copyable_v<State>,
          sizeof(State),
          nullptr};
}

}  // namespace

Traits traits(const Spec& spec) {
  if (spec.name == "compiled") return compiled_traits(spec);
  return with_operator(spec, [](auto op) {
    using Op = decltype(op);
    Traits traits{Invertible<Op>, Selective<Op>, Op::commutative, fallible_v<Op>,
                  sizeof(typename Op::State)};
    if constexpr (std::is_same_v<Op, ObjectOp>) {
      traits.invertible = op.invertible();
      traits.selective = op.selective();
      traits.commutative = op.commutes();
    }
    return traits;
  });
}

ErasedOperator erase(const Spec& spec, bool counted) {
  if (spec.name == "compiled") return erase_compiled(spec, counted);
  return with_operator(spec, [&](auto op) {
    if (!counted) return erase(std::move(op));
    Counting<decltype(op)> counting(std::move(op));
    auto combines = counting.combines;
    ErasedOperator result = erase(std::move(counting));
    result.combines = std::move(combines);
    return result;
  });
}

}  // namespace slidefold::bindings
