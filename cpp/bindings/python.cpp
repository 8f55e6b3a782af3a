#include "python.hpp"

namespace slidefold::bindings {

void fail(const char* kind, const std::string& sentence) {
  nb::object error = nb::module_::import_("slidefold.errors").attr(kind);
  PyErr_SetString(error.ptr(), sentence.c_str());
  throw nb::python_error();
}

std::string shown(PyObject* value) {
  std::string text = nb::repr(value).c_str();
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text + " (" + Py_TYPE(value)->tp_name + ")";
}

double to_double(PyObject* value) {
  const PyNumberMethods* number = Py_TYPE(value)->tp_as_number;
  if (number != nullptr && (number->nb_float != nullptr || number->nb_index != nullptr)) {
    const double result = PyFloat_AsDouble(value);
    if (result != -1.0 || PyErr_Occurred() == nullptr) return result;
    if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) throw nb::python_error();
    PyErr_Clear();
  }
  fail("ValueTypeError", "a number (float64) is due, got " + shown(value));
}

std::int64_t to_int64(PyObject* value) {
  if (!PyLong_Check(value)) {
    if (PyIndex_Check(value) == 0) {
      fail("ValueTypeError", "an integer (int64) is due, got " + shown(value));
    }
    const nb::object index = nb::steal(PyNumber_Index(value));
    if (!index.is_valid()) throw nb::python_error();
    return to_int64(index.ptr());
  }
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) fail("ValueTypeError", "an integer of 64 bits is due, got " + shown(value));
  return result;
}

std::string to_string(PyObject* value) {
  if (!PyUnicode_Check(value)) fail("ValueTypeError", "a string is due, got " + shown(value));
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (text == nullptr) throw nb::python_error();
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace slidefold::bindings
