// How a family of operators enters the registry: a function that makes the operator a spec names,
// or nothing if the name is not its own.
#pragma once

#include <cstddef>
#include <optional>

#include "registry.hpp"

namespace slidefold::bindings {

struct Made {
  ErasedOperator erased;
  Traits traits;
};
using MaybeMade = std::optional<Made>;

template <class Op>
Traits traits_of(const Op&) {
  return {Invertible<Op>, Selective<Op>, Op::commutative, fallible_v<Op>,
          sizeof(typename Op::State)};
}

// An operator whose properties are known only at run time gives its own traits.
template <class Op>
MaybeMade made(Op op, const Traits& traits) {
  using State = typename Op::State;
  return Made{{{&port_table<Op>()->algebra, std::make_shared<const Op>(std::move(op))},
               std::is_trivially_copyable_v<State>,
               sizeof(State),
               nullptr},
              traits};
}

template <class Op>
MaybeMade made(Op op) {
  const Traits traits = traits_of(op);
  return made(std::move(op), traits);
}

template <class Visit>
auto with_key(const std::string& dtype, Visit&& visit) {
  if (dtype == "str") return visit(std::string{});
  return with_number(dtype, visit);
}

template <class Visit>
auto with_value(const std::string& dtype, Visit&& visit) {
  if (dtype == "object") return visit(PyRef{});
  return with_key(dtype, visit);
}

MaybeMade arithmetic_family(const Spec& spec);
MaybeMade coded_family(const Spec& spec);
MaybeMade extremes_family(const Spec& spec);
MaybeMade logic_family(const Spec& spec);
MaybeMade positional_family(const Spec& spec);
MaybeMade pairs_family(const Spec& spec);
MaybeMade sketches_family(const Spec& spec);
MaybeMade struct_family(const Spec& spec);

}  // namespace slidefold::bindings
