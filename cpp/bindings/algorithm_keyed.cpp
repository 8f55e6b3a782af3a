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
  return make<KeyedBuild, Static::kFew>(spec, KeyedOptions{});
}

}  // namespace slidefold::bindings
