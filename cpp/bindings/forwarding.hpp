// An erased operator in front of another one: a table of its own that passes every call on.
#pragma once

#include "registry.hpp"

namespace slidefold::bindings {

// `Front` has `ErasedOp inner`, and `combining()`, which is called before each combine and gives
// the context of the inner operator. It may then put functions of its own into the table.
template <class Front>
struct Forwarding {
  static const Front& at(const void* self) { return *static_cast<const Front*>(self); }
  static const Algebra& algebra(const void* self) { return *at(self).inner.algebra; }
  static const PortTable& port(const void* self) { return ports(at(self).inner); }
  static const void* context(const void* self) { return at(self).inner.context.get(); }
  static const void* combining(const void* self) { return at(self).combining(); }

  static PortTable table(const ErasedOp& inner) {
    PortTable table = ports(inner);
    table.slide = nullptr;
    table.lift_words = nullptr;
    table.lower_words = nullptr;
    Algebra& forward = table.algebra;
    forward.identity = [](const void* self, void* out) {
      algebra(self).identity(context(self), out);
    };
    forward.combine = [](const void* self, const void* older, const void* newer, void* out) {
      algebra(self).combine(combining(self), older, newer, out);
    };
    if (forward.remove != nullptr) {
      forward.remove = [](const void* self, const void* whole, const void* older, void* out) {
        algebra(self).remove(combining(self), whole, older, out);
      };
    }
    if (forward.newer_wins != nullptr) {
      forward.newer_wins = [](const void* self, const void* older, const void* newer) {
        return algebra(self).newer_wins(combining(self), older, newer);
      };
    }
    if (forward.same != nullptr) {
      forward.same = [](const void* self, const void* a, const void* b) {
        return algebra(self).same(context(self), a, b);
      };
    }
    if (forward.absorb != nullptr) {
      forward.absorb = [](const void* self, void* accumulated, const void* newer) {
        algebra(self).absorb(combining(self), accumulated, newer);
      };
    }
    forward.save = [](const void* self, const void* state, Saver& saver) {
      algebra(self).save(context(self), state, saver);
    };
    forward.load = [](const void* self, void* out, Loader& loader) {
      algebra(self).load(context(self), out, loader);
    };
    table.may_fail = [](const void* self) { return port(self).may_fail(context(self)); };
    table.holds_objects = [](const void* self) { return port(self).holds_objects(context(self)); };
    table.visit_objects = [](const void* self, const void* state, ObjectVisitor& visitor) {
      port(self).visit_objects(context(self), state, visitor);
    };
    table.is_null = [](const void* self, PyObject* value) {
      return port(self).is_null(context(self), value);
    };
    table.lift = [](const void* self, PyObject* value, void* out) {
      port(self).lift(context(self), value, out);
    };
    table.lower = [](const void* self, const void* state, bool empty) {
      return port(self).lower(context(self), state, empty);
    };
    table.columns = [](const void* self, nb::handle values, ResultCount count) {
      return port(self).columns(context(self), values, count);
    };
    return table;
  }
};

}  // namespace slidefold::bindings
