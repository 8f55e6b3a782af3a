// The plan of timed rounds as Python describes it: the fields of Rounds by name.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "python.hpp"
#include "slidefold/columns/rounds.hpp"

namespace slidefold::bindings {

using Int64Array = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Rounds rounds_from(nb::dict plan);

// Rounds begin with an empty window; `rows` of `what` are needed if it is given.
void require_empty(std::size_t size);
void require_rows(const std::optional<Int64Array>& column, std::size_t rows, const char* what);

}  // namespace slidefold::bindings
