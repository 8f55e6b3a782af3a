// The rows that kernels over sorted columns get from Python.
#pragma once

#include "arrays.hpp"
#include "python.hpp"
#include "slidefold/columns/window_frames.hpp"

namespace slidefold::bindings {

using Whole = Column<std::int64_t>;

// Groups of rows: `starts` tells where each one begins and all end.
SortedTimes sorted_times(const Whole& starts, const Whole& times);

}  // namespace slidefold::bindings
