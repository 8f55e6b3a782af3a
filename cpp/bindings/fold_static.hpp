// Frames folded by code that was compiled for the operator.
#pragma once

#include "family.hpp"
#include "fold_column.hpp"

namespace slidefold::bindings {

// (results, valid), or an invalid object if there is no such code for the pair.
nb::object fold_static(const std::string& algorithm, const Spec& spec, nb::handle values,
                       const FrameBounds& bounds);
nb::object fold_hot(const std::string& algorithm, const Spec& spec, nb::handle values,
                    const FrameBounds& bounds);

}  // namespace slidefold::bindings
