#include "fiba_build.hpp"

namespace slidefold::bindings {

TreePtr make_fiba_wholes(const Spec& spec, const TreeOptions& options) {
  return with_hot_operator(spec, [&](auto op) -> TreePtr {
    if constexpr (in_fiba_wholes<decltype(op)> && !kLean) {
      return make_fiba_over(op, options);
    } else {
      return nullptr;
    }
  });
}

}  // namespace slidefold::bindings
