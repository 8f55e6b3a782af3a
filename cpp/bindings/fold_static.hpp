// Frames folded by code that was compiled for the operator.
#pragma once

#include "family.hpp"

namespace slidefold::bindings {

// Row i sees the rows lo[i] to hi[i], hi excluded.
struct FrameBounds {
  const std::int64_t* lo;
  const std::int64_t* hi;
  std::size_t frames;
};

// (results, valid), or an invalid object if there is no such code for the pair.
nb::object fold_static(const std::string& algorithm, const Spec& spec, nb::handle values,
                       const FrameBounds& bounds);

}  // namespace slidefold::bindings
