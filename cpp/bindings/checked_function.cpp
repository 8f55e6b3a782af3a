// CheckedFunction: a function of a user's operator with declared fields, its values looked at.
//
// Valid arguments pass without a step of Python. Whatever is not as plain as that goes to functions
// in Python (operators/plain.py), which convert it or say what is wrong.
#include <Python.h>
#include <structmember.h>

#include <cmath>
#include <cstddef>
#include <new>
#include <vector>

#include "python.hpp"

namespace slidefold::bindings {
namespace {

// The type of a field: 'b', 'i', 'u' or 'f', and its bits.
struct Field {
  char kind;
  int bits;
};

struct CheckedFunction {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *function, *make, *read, *present, *failed;
  std::vector<Field> inputs, results;
};

// ---- one value: as its field holds it, or null if Python has to look at it ----------------------

PyObject* fit_integer(const Field& field, PyObject* value) {
  if (PyBool_Check(value)) return PyLong_FromLong(value == Py_True);
  if (!PyLong_CheckExact(value)) return nullptr;
  int beyond = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(value, &beyond);
  bool fits = beyond == 0;
  if (field.kind == 'u') {
    fits = fits ? whole >= 0 && (field.bits == 64 || whole < 1LL << field.bits)
                : beyond > 0 && field.bits == 64;
    if (fits && beyond > 0) {
      PyLong_AsUnsignedLongLong(value);
      fits = PyErr_Occurred() == nullptr;
      PyErr_Clear();
    }
  } else if (field.bits < 64) {
    const long long end = 1LL << (field.bits - 1);
    fits = fits && -end <= whole && whole < end;
  }
  return fits ? Py_NewRef(value) : nullptr;
}

PyObject* fit_real(const Field& field, PyObject* value) {
  double real = 0;
  if (PyFloat_Check(value)) {
    real = PyFloat_AS_DOUBLE(value);
  } else if (PyLong_CheckExact(value) || PyBool_Check(value)) {
    real = PyLong_AsDouble(value);
    if (real == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return nullptr;
    }
  } else {
    return nullptr;
  }
  if (field.bits == 32) {
    const double rounded = static_cast<float>(real);
    if (std::isinf(rounded) && !std::isinf(real)) return nullptr;
    return PyFloat_FromDouble(rounded);
  }
  return PyFloat_CheckExact(value) ? Py_NewRef(value) : PyFloat_FromDouble(real);
}

PyObject* fit(const Field& field, PyObject* value) {
  if (field.kind == 'b') return PyBool_Check(value) ? Py_NewRef(value) : nullptr;
  return field.kind == 'f' ? fit_real(field, value) : fit_integer(field, value);
}

// ---- what a function returned -------------------------------------------------------------------

// A state: a named tuple of the fields.
PyObject* fit_state(const CheckedFunction& self, PyObject* result) {
  const auto count = static_cast<Py_ssize_t>(self.results.size());
  if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != count) return nullptr;
  auto* const type = reinterpret_cast<PyTypeObject*>(self.make);
  const PyRef state = PyRef::steal(type->tp_alloc(type, count));
  if (!state) return nullptr;
  bool same = Py_TYPE(result) == type;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const given = PyTuple_GET_ITEM(result, i);
    PyObject* const value = fit(self.results[static_cast<std::size_t>(i)], given);
    if (value == nullptr) return nullptr;
    PyTuple_SET_ITEM(state.get(), i, value);
    same = same && value == given;
  }
  return Py_NewRef(same ? result : state.get());
}

// A result of several fields: a dict by their names.
PyObject* fit_fields(const CheckedFunction& self, PyObject* result) {
  const auto count = static_cast<Py_ssize_t>(self.results.size());
  if (!PyTuple_Check(result) || PyTuple_GET_SIZE(result) != count) return nullptr;
  const PyRef fields = PyRef::steal(PyDict_New());
  if (!fields) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const PyRef value =
        PyRef::steal(fit(self.results[static_cast<std::size_t>(i)], PyTuple_GET_ITEM(result, i)));
    if (!value) return nullptr;
    if (PyDict_SetItem(fields.get(), PyTuple_GET_ITEM(self.make, i), value.get()) < 0) {
      return nullptr;
    }
  }
  return Py_NewRef(fields.get());
}

PyObject* presented(const CheckedFunction& self, PyObject* result) {
  PyObject* found = nullptr;
  if (self.make == Py_None) {
    found = fit(self.results[0], result);
  } else {
    found = PyType_Check(self.make) ? fit_state(self, result) : fit_fields(self, result);
  }
  if (found != nullptr || PyErr_Occurred() != nullptr) return found;
  return PyObject_CallOneArg(self.present, result);
}

// ---- a call -------------------------------------------------------------------------------------

// An error of the function becomes one that names it; an interrupt stays one.
PyObject* call_failed(const CheckedFunction& self) {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) return nullptr;
  const nb::python_error error;
  return PyObject_CallOneArg(self.failed, error.value().ptr());
}

PyObject* call_with(const CheckedFunction& self, PyObject* const* args, std::size_t count) {
  const PyRef result = PyRef::steal(PyObject_Vectorcall(self.function, args, count, nullptr));
  return result ? presented(self, result.get()) : call_failed(self);
}

// `lift`: one value, or a tuple of them.
PyObject* call_lift(const CheckedFunction& self, PyObject* given) {
  const std::size_t count = self.inputs.size();
  constexpr std::size_t kFew = 8;
  PyRef values[kFew];
  PyObject* args[kFew];
  const bool several = count > 1;
  bool plain = count <= kFew;
  if (several) {
    plain = plain && PyTuple_CheckExact(given) &&
            static_cast<std::size_t>(PyTuple_GET_SIZE(given)) == count;
  }
  for (std::size_t i = 0; plain && i < count; ++i) {
    PyObject* const value = several ? PyTuple_GET_ITEM(given, static_cast<Py_ssize_t>(i)) : given;
    values[i] = PyRef::steal(fit(self.inputs[i], value));
    args[i] = values[i].get();
    plain = args[i] != nullptr;
  }
  if (plain) return call_with(self, args, count);
  if (PyErr_Occurred() != nullptr) return nullptr;
  const PyRef read = PyRef::steal(PyObject_CallOneArg(self.read, given));
  if (!read) return nullptr;
  if (!PyTuple_CheckExact(read.get())) {
    PyErr_SetString(PyExc_TypeError, "read must return a tuple of arguments");
    return nullptr;
  }
  PyObject* const* const items = &PyTuple_GET_ITEM(read.get(), 0);
  return call_with(self, items, static_cast<std::size_t>(PyTuple_GET_SIZE(read.get())));
}

PyObject* call(PyObject* object, PyObject* const* args, std::size_t flags, PyObject* names) {
  const auto& self = *reinterpret_cast<CheckedFunction*>(object);
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  if (names != nullptr && PyTuple_GET_SIZE(names) > 0) {
    PyErr_SetString(PyExc_TypeError, "functions of operators take no keywords");
    return nullptr;
  }
  if (self.inputs.empty() || count != 1) return call_with(self, args, count);
  return call_lift(self, args[0]);
}

// ---- the type -----------------------------------------------------------------------------------

bool read_fields(PyObject* codes, std::vector<Field>& fields) {
  if (codes == Py_None) return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(codes); ++i) {
    const char* code = PyUnicode_AsUTF8(PyTuple_GET_ITEM(codes, i));
    if (code == nullptr) return false;
    fields.push_back({code[0], 8 * (code[1] - '0')});
  }
  return true;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *function, *inputs, *results, *made, *read, *present, *failed;
  if (!PyArg_ParseTuple(args, "OOO!OOOO", &function, &inputs, &PyTuple_Type, &results, &made, &read,
                        &present, &failed)) {
    return nullptr;
  }
  if (inputs != Py_None && !PyTuple_Check(inputs)) {
    PyErr_SetString(PyExc_TypeError, "inputs is a tuple of types or None");
    return nullptr;
  }
  PyRef object = PyRef::steal(type->tp_alloc(type, 0));
  if (!object) return nullptr;
  auto& self = *reinterpret_cast<CheckedFunction*>(object.get());
  new (&self.inputs) std::vector<Field>();
  new (&self.results) std::vector<Field>();
  self.vectorcall = call;
  self.function = Py_NewRef(function);
  self.make = Py_NewRef(made);
  self.read = Py_NewRef(read);
  self.present = Py_NewRef(present);
  self.failed = Py_NewRef(failed);
  if (!read_fields(inputs, self.inputs) || !read_fields(results, self.results)) return nullptr;
  return Py_NewRef(object.get());
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  auto& self = *reinterpret_cast<CheckedFunction*>(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self.function);
  Py_VISIT(self.make);
  Py_VISIT(self.read);
  Py_VISIT(self.present);
  Py_VISIT(self.failed);
  return 0;
}

int clear(PyObject* object) {
  auto& self = *reinterpret_cast<CheckedFunction*>(object);
  Py_CLEAR(self.function);
  Py_CLEAR(self.make);
  Py_CLEAR(self.read);
  Py_CLEAR(self.present);
  Py_CLEAR(self.failed);
  return 0;
}

void destroy(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  clear(object);
  auto& self = *reinterpret_cast<CheckedFunction*>(object);
  self.inputs.~vector();
  self.results.~vector();
  type->tp_free(object);
  Py_DECREF(type);
}

}  // namespace

void bind_checked_function(nb::module_& m) {
  static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET,
                                   offsetof(CheckedFunction, vectorcall), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {
      "slidefold._native_ext.CheckedFunction", static_cast<int>(sizeof(CheckedFunction)), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  m.attr("CheckedFunction") = nb::steal(PyType_FromSpec(&spec));
}

}  // namespace slidefold::bindings
