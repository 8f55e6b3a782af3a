#include "family.hpp"
#include "slidefold/operators/counts.hpp"
#include "slidefold/operators/logic.hpp"

namespace slidefold::bindings {
namespace {

template <Quantifier kind>
MaybeMade truth(const Spec& spec) {
  if (spec.dtype == "bool") return made(Truth<kind, bool>{});
  return with_number(spec.dtype, [&](auto t) { return made(Truth<kind, decltype(t)>{}); });
}

std::vector<double> reals(nb::handle values) {
  std::vector<double> result;
  for (const nb::handle value : values) result.push_back(nb::cast<double>(value));
  return result;
}

}  // namespace

MaybeMade logic_family(const Spec& spec) {
  const std::string_view name = spec.name;
  if (name == "any") return truth<Quantifier::kAny>(spec);
  if (name == "all") return truth<Quantifier::kAll>(spec);
  if (name == "bit_and") return made(Bits<Bitwise::kAnd>{});
  if (name == "bit_or") return made(Bits<Bitwise::kOr>{});
  if (name == "bit_xor") return made(Bits<Bitwise::kXor>{});
  if (name == "histogram") {
    const std::vector<double> edges = reals(nb::object(spec.params["edges"]));
    return with_number(spec.dtype, [&](auto t) { return made(Histogram<decltype(t)>(edges)); });
  }
  if (name == "unsigned_histogram") {
    const std::vector<double> edges = reals(nb::object(spec.params["edges"]));
    return made(Histogram<std::int64_t>(edges, int128{1} << 63));
  }
  return {};
}

}  // namespace slidefold::bindings
