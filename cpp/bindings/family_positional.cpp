#include "family.hpp"
#include "slidefold/operators/recent.hpp"

namespace slidefold::bindings {
namespace {

// Calls visit with a value of the spec's type, with room for null where nulls are kept.
template <class Visit>
MaybeMade with_kept(const Spec& spec, Visit&& visit) {
  return with_value(spec.dtype, [&](auto t) -> MaybeMade {
    if constexpr (!std::is_same_v<decltype(t), PyRef>) {  // None is an object as it is
      if (spec.keeps_nulls) return visit(Maybe<decltype(t)>{});
    }
    return visit(std::move(t));
  });
}

}  // namespace

MaybeMade positional_family(const Spec& spec) {
  const std::string_view name = spec.name;
  const auto value = [&](auto&& use) { return with_kept(spec, use); };
  if (name == "first") {
    return value([&](auto t) { return made(AtEnd<End::kFirst, decltype(t)>{}); });
  }
  if (name == "last") {
    return value([&](auto t) { return made(AtEnd<End::kLast, decltype(t)>{}); });
  }
  if (name == "nth") {
    const auto n = static_cast<std::size_t>(spec.number("n"));
    return value([&](auto t) { return made(Nth<decltype(t)>{n}); });
  }
  if (name == "collect") {
    return value([&](auto t) { return made(Collect<decltype(t)>{}); });
  }
  if (name == "collect_distinct") {
    return with_key(spec.dtype, [&](auto t) { return made(CollectDistinct<decltype(t)>{}); });
  }
  if (name == "concat") return made(Concat{});
  return {};
}

}  // namespace slidefold::bindings
