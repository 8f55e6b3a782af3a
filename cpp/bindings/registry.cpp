#include "registry.hpp"

#include <nanobind/stl/string.h>

namespace slidefold::bindings {

Spec spec_from(nb::handle description) {
  return {nb::cast<std::string>(description.attr("native_name")),
          nb::cast<std::string>(description.attr("dtype")),
          nb::cast<std::string>(description.attr("key_dtype")),
          nb::cast<nb::dict>(description.attr("native_params")),
          nb::cast<bool>(description.attr("keeps_nulls"))};
}

FacePtr make_recalc(const Spec&, const Options&);
FacePtr make_subtract_on_evict(const Spec&, const Options&);
FacePtr make_two_stacks(const Spec&, const Options&);
FacePtr make_two_stacks_lite(const Spec&, const Options&);
FacePtr make_daba(const Spec&, const Options&);
FacePtr make_daba_lite(const Spec&, const Options&);
FacePtr make_flat_fat(const Spec&, const Options&);
FacePtr make_b_int(const Spec&, const Options&);
FacePtr make_flat_fit(const Spec&, const Options&);
FacePtr make_amta(const Spec&, const Options&);
FacePtr make_slick_deque(const Spec&, const Options&);

const std::vector<AlgorithmEntry>& algorithms() {
  static const std::vector<AlgorithmEntry> table = {
      {"recalc", make_recalc, false, false},
      {"subtract_on_evict", make_subtract_on_evict, true, false},
      {"two_stacks", make_two_stacks, false, false},
      {"two_stacks_lite", make_two_stacks_lite, false, false},
      {"daba", make_daba, false, false},
      {"daba_lite", make_daba_lite, false, false},
      {"flat_fat", make_flat_fat, false, false},
      {"b_int", make_b_int, false, false},
      {"flat_fit", make_flat_fit, false, false},
      {"amta", make_amta, false, false},
      {"slick_deque", make_slick_deque, false, true},
  };
  return table;
}

namespace {

const AlgorithmEntry& algorithm_named(const std::string& name) {
  for (const AlgorithmEntry& entry : algorithms()) {
    if (name == entry.name) return entry;
  }
  fail("PairError", "there is no algorithm named '" + name + "'");
}

// daba_lite -> DabaLite
std::string class_name(const std::string& name) {
  std::string result;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') result += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = c == '_';
  }
  return result;
}

std::string with_article(const std::string& word) {
  return (std::string("aeiou").find(word[0]) != std::string::npos ? "an " : "a ") + word;
}

}  // namespace

Options options_from(nb::dict options) {
  Options result;
  for (auto [key, value] : options) {
    const std::string name = nb::cast<std::string>(key);
    if (name == "checked") result.checked = nb::cast<bool>(value);
    if (name == "counted") result.counted = nb::cast<bool>(value);
    if (name == "batch") result.batch = nb::cast<bool>(value);
    if (name == "capacity") result.capacity = nb::cast<std::size_t>(value);
  }
  return result;
}

FacePtr make_face(const std::string& name, nb::handle op, Options options) {
  const AlgorithmEntry& entry = algorithm_named(name);
  const Spec spec = spec_from(op);
  const Traits can = traits(spec);
  const auto require_property = [&](bool needed, bool has, const char* property) {
    if (!needed || has) return;
    fail("PairError", class_name(name) + " needs " + with_article(property) + " operator; " +
                          std::string(nb::str(op).c_str()) + " is not " + property);
  };
  require_property(entry.needs_invertible, can.invertible, "invertible");
  require_property(entry.needs_selective, can.selective, "selective");
  options.skips_nulls = !spec.keeps_nulls;
  return entry.make(spec, options);
}

}  // namespace slidefold::bindings
