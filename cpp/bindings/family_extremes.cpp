#include "family.hpp"
#include "slidefold/operators/counts.hpp"
#include "slidefold/operators/ranges.hpp"
#include "slidefold/operators/texts.hpp"
#include "slidefold/operators/whole.hpp"

namespace slidefold::bindings {

template <class T>
struct Value<Corners<T>> {
  static PyObject* to(const Corners<T>& corners) {
    nb::object tuple = nb::steal(PyTuple_New(4));
    Py_ssize_t at = 0;
    for (const T* value : {&corners.first, &corners.last, &corners.low, &corners.high}) {
      PyObject* item = Value<T>::to(*value);
      if (item == nullptr) throw nb::python_error();
      PyTuple_SET_ITEM(tuple.ptr(), at++, item);
    }
    return tuple.release().ptr();
  }
};

namespace {

// What compares strings has names of its own: hot operators are numbers by their names alone.
template <Extreme kind>
MaybeMade texts(const Spec& spec) {
  const bool most = kind == Extreme::kMax;
  if (spec.name == (most ? "text_max" : "text_min")) return made(TextExtreme<kind>{});
  if (spec.name == (most ? "text_max_count" : "text_min_count")) {
    return made(TextExtremeCount<kind>{});
  }
  if (spec.name == (most ? "text_max_by" : "text_min_by")) {
    return with_value(spec.dtype,
                      [&](auto arg) { return made(TextExtremeBy<kind, decltype(arg)>{}); });
  }
  if (spec.name == "text_m4") return made(TextM4{});
  if (spec.name == "text_top_k") return made(TextTopK{static_cast<std::size_t>(spec.number("k"))});
  return {};
}

template <Extreme kind>
MaybeMade extreme_by(const Spec& spec) {
  return with_number(spec.key, [&](auto key) {
    return with_value(spec.dtype, [&](auto arg) {
      return made(ExtremeBy<kind, decltype(arg), decltype(key)>{});
    });
  });
}

}  // namespace

MaybeMade extremes_family(const Spec& spec) {
  using enum Extreme;
  const std::string_view name = spec.name;
  const auto number = [&](auto&& use) { return with_number(spec.dtype, use); };
  if (name.starts_with("text_")) {
    MaybeMade most = texts<kMax>(spec);
    return most ? std::move(most) : texts<kMin>(spec);
  }
  if (name == "min") return number([&](auto t) { return made(MinMax<kMin, decltype(t)>{}); });
  if (name == "max") return number([&](auto t) { return made(MinMax<kMax, decltype(t)>{}); });
  if (name == "min_count") {
    return number([&](auto t) { return made(ExtremeCount<kMin, decltype(t)>{}); });
  }
  if (name == "max_count") {
    return number([&](auto t) { return made(ExtremeCount<kMax, decltype(t)>{}); });
  }
  if (name == "min_by") return extreme_by<kMin>(spec);
  if (name == "max_by") return extreme_by<kMax>(spec);
  if (name == "range") return number([&](auto t) { return made(Range<decltype(t)>{}); });
  if (name == "unsigned_range") return made(UnsignedRange{});
  if (name == "relative_variation") {
    return number([&](auto t) { return made(RelativeVariation<decltype(t)>{}); });
  }
  if (name == "unsigned_relative_variation") {
    return made(Unsigned<RelativeVariation<std::int64_t>>{});
  }
  if (name == "m4") return number([&](auto t) { return made(M4<decltype(t)>{}); });
  if (name == "top_k") {
    const auto k = static_cast<std::size_t>(spec.number("k"));
    return number([&](auto t) { return made(TopK<decltype(t)>{k}); });
  }
  return {};
}

}  // namespace slidefold::bindings
