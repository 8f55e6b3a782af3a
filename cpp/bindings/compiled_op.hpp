// A user's operator whose functions were compiled to machine code: addresses that are called.
#pragma once

#include "registry.hpp"

namespace slidefold::bindings {

Traits compiled_traits(const Spec& spec);
ErasedOperator erase_compiled(const Spec& spec, bool counted);

}  // namespace slidefold::bindings
