// How Python calls native methods: fast ones as plain C methods, all of them in turn.
#pragma once

#include "face.hpp"

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
    const Turn turn(held.face());
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
    const Turn turn(held.face());
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

// Runs a step of what is held, in turn.
template <class Held, class Step>
auto in_turn(Held& held, Step&& step) {
  const Turn turn(held.face());
  return step(held.face());
}

}  // namespace slidefold::bindings
