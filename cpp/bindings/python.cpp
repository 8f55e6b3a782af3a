#include "python.hpp"

namespace slidefold::bindings {

void fail(const char* kind, const std::string& sentence) {
  nb::object error = nb::module_::import_("slidefold.errors").attr(kind);
  PyErr_SetString(error.ptr(), sentence.c_str());
  throw nb::python_error();
}

thread_local Keeper* Keeper::current_ = nullptr;

std::string shown(PyObject* value) {
  const nb::object repr = nb::steal(PyObject_Repr(value));
  if (!repr.is_valid()) throw nb::python_error();
  const char* utf8 = PyUnicode_AsUTF8(repr.ptr());
  if (utf8 == nullptr) PyErr_Clear();  // lone surrogates
  std::string text = utf8 == nullptr ? "something" : utf8;
  if (text.size() > 60) {
    std::size_t end = 57;
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // no half characters
    text = text.substr(0, end) + "\u2026";
  }
  return text + " (" + Py_TYPE(value)->tp_name + ")";
}

std::string dumped(PyObject* object) {
  const nb::object bytes =
      nb::module_::import_("slidefold.state").attr("dump_value")(nb::handle(object));
  const auto& data = nb::cast<nb::bytes>(bytes);
  return std::string(data.c_str(), data.size());
}

PyObject* undumped(const std::string& bytes) {
  const nb::bytes data(bytes.data(), bytes.size());
  return nb::object(nb::module_::import_("slidefold.state").attr("load_value")(data))
      .release()
      .ptr();
}

namespace {

// Whether a value is for numpy something else than one real number: it would convert a datetime to
// its nanoseconds and a complex number to its real part.
bool is_no_number(PyObject* value) {
  const nb::object dtype = nb::getattr(nb::handle(value), "dtype", nb::none());
  const nb::object kind = nb::getattr(dtype, "kind", nb::none());
  if (!nb::isinstance<nb::str>(kind)) return false;
  return std::string("biuf").find(nb::cast<nb::str>(kind).c_str()) == std::string::npos;
}

// Goes on only if the error that is set says that a value does not convert.
void clear_refusal() {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0 &&
      PyErr_ExceptionMatches(PyExc_OverflowError) == 0) {
    throw nb::python_error();
  }
  PyErr_Clear();
}

}  // namespace

bool to_bool(PyObject* value) {
  if (PyBool_Check(value)) return value == Py_True;
  const nb::object dtype = nb::getattr(nb::handle(value), "dtype", nb::none());  // of numpy
  const nb::object kind = nb::getattr(dtype, "kind", nb::none());
  int dimensions = 0;
  if (nb::isinstance<nb::str>(kind) && std::string(nb::cast<nb::str>(kind).c_str()) == "b" &&
      nb::try_cast<int>(nb::getattr(nb::handle(value), "ndim", nb::none()), dimensions) &&
      dimensions == 0) {
    return PyObject_IsTrue(value) == 1;
  }
  fail("ValueTypeError", "expected a bool, got " + shown(value));
}

double to_double(PyObject* value) {
  const bool plain = PyFloat_Check(value) || PyLong_Check(value);
  const PyNumberMethods* number = Py_TYPE(value)->tp_as_number;
  const bool converts =
      number != nullptr && (number->nb_float != nullptr || number->nb_index != nullptr);
  if (plain || (converts && !is_no_number(value))) {
    const double result = PyFloat_AsDouble(value);
    if (result != -1.0 || PyErr_Occurred() == nullptr) return result;
    clear_refusal();
  }
  fail("ValueTypeError", "expected a number (float64), got " + shown(value));
}

std::int64_t to_int64(PyObject* value) {
  if (!PyLong_Check(value)) {
    if (PyIndex_Check(value) != 0) {
      const nb::object index = nb::steal(PyNumber_Index(value));
      if (index.is_valid()) return to_int64(index.ptr());
      clear_refusal();
    }
    fail("ValueTypeError", "expected an integer (int64), got " + shown(value));
  }
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) fail("ValueTypeError", "expected an integer of 64 bits, got " + shown(value));
  return result;
}

std::string to_string(PyObject* value) {
  if (!PyUnicode_Check(value)) fail("ValueTypeError", "expected a string, got " + shown(value));
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (text == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError) == 0) throw nb::python_error();
    PyErr_Clear();
    fail("ValueTypeError", "expected a string without lone surrogates, got " + shown(value));
  }
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace slidefold::bindings
