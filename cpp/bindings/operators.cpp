// The table of operators, family by family. A new one is a header and a line in its family's file.
#include <nanobind/stl/string.h>

#include "compiled_op.hpp"
#include "family.hpp"

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
  for (const auto family : {arithmetic_family, extremes_family, logic_family, positional_family,
                            pairs_family, sketches_family, struct_family, users_family}) {
    if (MaybeMade made = family(spec)) return *std::move(made);
  }
  fail("OperatorError", "there is no operator named '" + spec.name + "'");
}

// An erased operator that counts its combines: a table of its own in front of the other's.
struct Counted {
  PortTable table;
  ErasedOp inner;
  std::shared_ptr<std::atomic<std::int64_t>> combines =
      std::make_shared<std::atomic<std::int64_t>>(0);

  explicit Counted(const ErasedOp& op) : table(ports(op)), inner(op) {
    Algebra& algebra = table.algebra;
    algebra.identity = [](const void* self, void* out) {
      inner_algebra(self).identity(inner_context(self), out);
    };
    algebra.combine = [](const void* self, const void* older, const void* newer, void* out) {
      inner_algebra(self).combine(counted(self), older, newer, out);
    };
    if (algebra.remove != nullptr) {
      algebra.remove = [](const void* self, const void* whole, const void* older, void* out) {
        inner_algebra(self).remove(counted(self), whole, older, out);
      };
    }
    if (algebra.newer_wins != nullptr) {
      algebra.newer_wins = [](const void* self, const void* older, const void* newer) {
        return inner_algebra(self).newer_wins(counted(self), older, newer);
      };
    }
    if (algebra.same != nullptr) {
      algebra.same = [](const void* self, const void* a, const void* b) {
        return inner_algebra(self).same(inner_context(self), a, b);
      };
    }
    if (algebra.absorb != nullptr) {
      algebra.absorb = [](const void* self, void* accumulated, const void* newer) {
        inner_algebra(self).absorb(counted(self), accumulated, newer);
      };
    }
    algebra.save = [](const void* self, const void* state, Saver& saver) {
      inner_algebra(self).save(inner_context(self), state, saver);
    };
    algebra.load = [](const void* self, void* out, Loader& loader) {
      inner_algebra(self).load(inner_context(self), out, loader);
    };
    table.may_fail = [](const void* self) {
      return inner_port(self).may_fail(inner_context(self));
    };
    table.calls_out = [](const void* self) {
      return inner_port(self).calls_out(inner_context(self));
    };
    table.is_null = [](const void* self, PyObject* value) {
      return inner_port(self).is_null(inner_context(self), value);
    };
    table.lift = [](const void* self, PyObject* value, void* out) {
      inner_port(self).lift(inner_context(self), value, out);
    };
    table.lower = [](const void* self, const void* state, bool empty) {
      return inner_port(self).lower(inner_context(self), state, empty);
    };
    table.columns = [](const void* self, nb::handle values, ResultCount count) {
      return inner_port(self).columns(inner_context(self), values, count);
    };
  }

 private:
  static const Counted& at(const void* self) { return *static_cast<const Counted*>(self); }
  static const Algebra& inner_algebra(const void* self) { return *at(self).inner.algebra; }
  static const PortTable& inner_port(const void* self) { return ports(at(self).inner); }
  static const void* inner_context(const void* self) { return at(self).inner.context.get(); }
  static const void* counted(const void* self) {
    at(self).combines->fetch_add(1, std::memory_order_relaxed);
    return inner_context(self);
  }
};

}  // namespace

Traits traits(const Spec& spec) {
  if (spec.name == "quantile") return {false, false, true, false, 32};  // bytes a value
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
