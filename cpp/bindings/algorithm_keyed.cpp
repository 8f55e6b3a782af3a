#include "keyed_face.hpp"

namespace slidefold::bindings {
namespace {

struct KeyedOptions {
  bool counted = false;
};

template <class Op>
struct KeyedBuild {
  static KeyedPtr make(const Op& op, const KeyedOptions&) {
    return std::make_unique<KeyedFaceOf<Op>>(op);
  }
};

}  // namespace

KeyedPtr make_keyed(const Spec& spec) {
  // Beside the few: what streams count and add up most.
  if constexpr (!kLean) {
    if (spec.name == "count") return std::make_unique<KeyedFaceOf<Count>>(Count{});
    if (spec.name == "sum" && spec.dtype == "int64") {
      return std::make_unique<KeyedFaceOf<Sum<std::int64_t>>>(Sum<std::int64_t>{});
    }
  }
  return make<KeyedBuild, Static::kFew>(spec, KeyedOptions{});
}

}  // namespace slidefold::bindings
