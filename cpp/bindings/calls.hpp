// How Python calls native methods: fast ones as plain C methods, all of them in turn.
#pragma once

#include "turns.hpp"

namespace slidefold::bindings {

// Turns what is in flight into a Python error; for functions that Python calls directly.
void set_python_error();

[[noreturn]] void wrong_count(const char* usage, Py_ssize_t count);

// The hot methods are plain C methods: half the cost of a call through nanobind's dispatch
// (benchmarks/figures/per_event.py). Call<T, run> checks and unpacks self, then runs.
template <class T, PyObject* (*run)(T&, PyObject* const*, Py_ssize_t)>
PyObject* fast_call(PyObject* self, PyObject* const* args, Py_ssize_t count) noexcept {
  try {
    if (!nb::inst_ready(self)) fail("ValueTypeError", "__init__ of the base class was not called");
    T& held = *nb::inst_ptr<T>(self);
    const Turn turn(held.turns);
    return run(held, args, count);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <class T, PyObject* (*run)(T&, PyObject* const*, Py_ssize_t)>
PyMethodDef fast_method(const char* name, const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(fast_call<T, run>)),
          METH_FASTCALL, doc};
}

// The same for methods that take keywords: `names` is null or a tuple of those of the last
// arguments.
template <class T, PyObject* (*run)(T&, PyObject* const*, Py_ssize_t, PyObject* names)>
PyObject* fast_call_named(PyObject* self, PyObject* const* args, Py_ssize_t count,
                          PyObject* names) noexcept {
  try {
    if (!nb::inst_ready(self)) fail("ValueTypeError", "__init__ of the base class was not called");
    T& held = *nb::inst_ptr<T>(self);
    const Turn turn(held.turns);
    return run(held, args, count, names);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

template <class T, PyObject* (*run)(T&, PyObject* const*, Py_ssize_t, PyObject* names)>
PyMethodDef named_method(const char* name, const char* doc) {
  return {name,
          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(fast_call_named<T, run>)),
          METH_FASTCALL | METH_KEYWORDS, doc};
}

// What the garbage collector asks of the classes that hold a window: T has turns, a window `held`
// and `kept`, the objects that its operator holds. A window in use is not looked at: it is not
// garbage.
template <class T>
int traverse_held(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const T& core = *nb::inst_ptr<T>(self);
  Py_VISIT(core.kept.get());
  if (core.held == nullptr || core.turns.taken()) return 0;
  ObjectVisitor visitor(visit, arg);
  core.held->visit_objects(visitor);
  return visitor.result();
}

template <class T>
int clear_held(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  T& core = *nb::inst_ptr<T>(self);
  if (core.turns.taken()) return 0;
  core.turns.close();
  const PyRef operators = std::move(core.kept);
  const auto gone = std::move(core.held);  // first; its contents may look at this object meanwhile
  return 0;
}

// The slots of such a class.
template <class T>
PyType_Slot traversing() {
  return {Py_tp_traverse, reinterpret_cast<void*>(traverse_held<T>)};
}
template <class T>
PyType_Slot clearing() {
  return {Py_tp_clear, reinterpret_cast<void*>(clear_held<T>)};
}

// Runs a step of what is held, in turn.
template <class Held, class Step>
auto in_turn(Held& held, Step&& step) {
  const Turn turn(held.turns);
  return step(held.face());
}

// How often the operator combined; None if that is not counted.
template <class Held>
nb::object combines_of(const Held& held) {
  return in_turn(held, [](auto& face) -> nb::object {
    if (face.combines == nullptr) return nb::none();
    return nb::int_(face.combines->load());
  });
}

// What a slide runs on, whatever happens to the object meanwhile. A slide does not touch the window
// and takes no turn, so that many may run at once.
template <class Core>
class ForSlide {
 public:
  explicit ForSlide(const Core& core) : kept_(core.kept), held_(core.held) {
    if (held_ == nullptr) const Turn turn(core.turns);  // says why
  }
  auto* operator->() const { return held_.get(); }

 private:
  PyRef kept_;
  decltype(Core::held) held_;
};

// Another one's window, in place of the own.
template <class Core>
void copy_held(Core& core, Core& other) {
  auto copy = in_turn(other, [](auto& face) { return face.clone(); });
  PyRef kept = other.kept;
  const Turn turn(core.turns);
  core.held = std::move(copy);
  core.kept = std::move(kept);
}

}  // namespace slidefold::bindings
