#include <nanobind/stl/string.h>

#include "family.hpp"
#include "struct_op.hpp"

namespace slidefold::bindings {
namespace {

template <std::size_t kBytes>
MaybeMade made_struct(const LayoutPtr& layout, const Traits& traits) {
  return made(StructOp<kBytes>(layout), traits);
}

}  // namespace

MaybeMade struct_family(const Spec& spec) {
  if (spec.name != "struct") return {};
  auto layout = std::make_shared<Layout>();
  Traits traits{true, false, true, false, 0};
  const nb::object names = spec.params["names"], parts = spec.params["parts"];
  for (std::size_t i = 0; i < nb::len(names); ++i) {
    const nb::object part = parts[i];
    const Spec part_spec = spec_from(part);
    const Traits can = bindings::traits(part_spec);
    traits.invertible = traits.invertible && can.invertible;
    traits.commutative = traits.commutative && can.commutative;
    traits.fallible = traits.fallible || can.fallible;
    layout->add(nb::cast<std::string>(names[i]), part.attr("columns"), erase(part_spec, false),
                !part_spec.keeps_nulls);
  }
  layout->arrange();
  traits.state_bytes = layout->bytes;
  if (layout->plain) {
    if (layout->bytes <= 32) return made_struct<32>(layout, traits);
    if (layout->bytes <= 64) return made_struct<64>(layout, traits);
    if (layout->bytes <= 128) return made_struct<128>(layout, traits);
    if (layout->bytes <= 256) return made_struct<256>(layout, traits);
  }
  return made_struct<0>(layout, traits);
}

}  // namespace slidefold::bindings
