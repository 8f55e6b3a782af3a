#include <nanobind/stl/string.h>

#include "family.hpp"
#include "slidefold/operators/compensated.hpp"
#include "slidefold/operators/gaps.hpp"
#include "slidefold/operators/whole.hpp"

namespace slidefold::bindings {

MaybeMade arithmetic_family(const Spec& spec) {
  const std::string_view name = spec.name;
  const auto number = [&](auto&& use) { return with_number(spec.dtype, use); };
  const auto var = [&](bool root) {
    return number([&](auto t) { return made(Var<decltype(t)>{spec.number("ddof"), root}); });
  };
  if (name == "count") return made(Count{});
  if (name == "sum") return number([&](auto t) { return made(Sum<decltype(t)>{}); });
  if (name == "compensated_sum") return made(CompensatedSum{});
  if (name == "mean") return number([&](auto t) { return made(Mean<decltype(t)>{}); });
  if (name == "unsigned_mean") return made(Unsigned<Mean<std::int64_t>>{});
  if (name == "decimal_mean") return made(DecimalMean{{}, spec.number("unit")});
  if (name == "unsigned_sum") return made(UnsignedSum{});
  if (name == "whole_mean") return made(WholeMean{});
  if (name == "decimal_sum" || name == "wide_decimal_sum") {
    const DecimalSum sum{{}, spec.number("digits"), nb::cast<std::string>(spec.params["type"])};
    return name == "decimal_sum" ? made(sum) : made(WideDecimalSum{sum});
  }
  if (name == "geomean") {
    return number([&](auto t) { return made(Geomean<decltype(t)>{}); });
  }
  if (name == "skewness") {
    return number([&](auto t) { return made(Shape<decltype(t), false>{}); });
  }
  if (name == "kurtosis") {
    return number([&](auto t) { return made(Shape<decltype(t), true>{}); });
  }
  if (name == "longest_gap") return made(LongestGap{});
  if (name == "var") return var(false);
  if (name == "std") return var(true);
  return {};
}

}  // namespace slidefold::bindings
