// The table of operators, family by family. A new one is a header and a line in its family's file.
#include <nanobind/stl/string.h>

#include "compiled_op.hpp"
#include "family.hpp"
#include "forwarding.hpp"

namespace slidefold::bindings {
namespace {

MaybeMade users_family(const Spec& spec) {
  if (spec.name != "object") return {};
  ObjectOp op(spec.params);
  Traits traits = traits_of(op);
  traits.invertible = op.has_remove();
  traits.selective = op.has_newer_wins();
  traits.commutative = op.commutes();
  return made(std::move(op), traits);
}

Made make_operator(const Spec& spec) {
  for (const auto family :
       {arithmetic_family, extremes_family, logic_family, positional_family, pairs_family,
        sketches_family, struct_family, coded_family, users_family}) {
    if (MaybeMade made = family(spec)) return *std::move(made);
  }
  fail("OperatorError", "there is no operator named '" + spec.name + "'");
}

// An operator that counts its combines.
struct Counted {
  PortTable table;
  ErasedOp inner;
  std::shared_ptr<std::atomic<std::int64_t>> combines =
      std::make_shared<std::atomic<std::int64_t>>(0);

  explicit Counted(const ErasedOp& op) : table(Forwarding<Counted>::table(op)), inner(op) {}
  const void* combining() const {
    combines->fetch_add(1, std::memory_order_relaxed);
    return inner.context.get();
  }
};

}  // namespace

Traits traits(const Spec& spec) {
  if (spec.name == "quantile") return {false, false, true, false, 32};  // bytes per value
  return spec.name == "compiled" ? compiled_traits(spec) : make_operator(spec).traits;
}

ErasedOperator erase(const Spec& spec, bool counted) {
  if (spec.name == "compiled") return erase_compiled(spec, counted);
  if (spec.name == "quantile") {
    fail("PairError",
         "median and quantile have no combine, so that no algorithm folds them: slidefold.Window "
         "and slidefold.rolling run them alone");
  }
  ErasedOperator erased = make_operator(spec).erased;
  if (!counted) return erased;
  auto counting = std::make_shared<const Counted>(erased.op);
  erased.combines = counting->combines;
  erased.op = {&counting->table.algebra, counting};
  return erased;
}

}  // namespace slidefold::bindings
