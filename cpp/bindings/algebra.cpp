// An operator's functions one by one, over states that Python holds: what sf.check checks.
#include "registry.hpp"

namespace slidefold::bindings {
namespace {

struct HeldState {
  AnyState state;
};

struct OperatorCore {
  AnyOp op;
  explicit OperatorCore(nb::handle description) : op{erase(spec_from(description), false).op} {}

  HeldState lift(nb::handle value) const { return {Port<AnyOp>::lift(op, value.ptr())}; }
  HeldState combine(const HeldState& older, const HeldState& newer) const {
    return {op.combine(older.state, newer.state)};
  }
  nb::object lower(const HeldState& state) const {
    return nb::steal(Port<AnyOp>::lower(op, state.state, false));
  }
  HeldState remove(const HeldState& whole, const HeldState& older) const {
    if (op.algebra->remove == nullptr) fail("PairError", "the operator is not invertible");
    return {op.remove(whole.state, older.state)};
  }
  bool newer_wins(const HeldState& older, const HeldState& newer) const {
    if (op.algebra->newer_wins == nullptr) fail("PairError", "the operator is not selective");
    return op.newer_wins(older.state, newer.state);
  }
};

}  // namespace

void bind_algebra(nb::module_& m) {
  nb::class_<HeldState>(m, "HeldState");
  nb::class_<OperatorCore>(m, "OperatorCore")
      .def(nb::init<nb::handle>())
      .def("identity", [](const OperatorCore& core) { return HeldState{core.op.identity()}; })
      .def("lift", &OperatorCore::lift, nb::arg("value").none())
      .def("combine", &OperatorCore::combine)
      .def("lower", &OperatorCore::lower)
      .def("remove", &OperatorCore::remove)
      .def("newer_wins", &OperatorCore::newer_wins);
}

}  // namespace slidefold::bindings
