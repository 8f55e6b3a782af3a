#include "calls.hpp"

namespace slidefold::bindings {

void set_python_error() {
  const auto raise = [](const char* kind, const char* what) {
    PyErr_SetString(nb::module_::import_("slidefold.errors").attr(kind).ptr(), what);
  };
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const ResultOverflow& error) {
    raise("ResultOverflowError", error.what());
  } catch (const BrokenInvariant& error) {
    raise("InvariantError", error.what());
  } catch (const std::length_error& error) {
    raise("CapacityError", error.what());
  } catch (const std::out_of_range& error) {
    raise("EmptyWindowError", error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void wrong_count(const char* usage, Py_ssize_t count) {
  fail("ValueTypeError", std::string(usage) + ", got " + std::to_string(count) +
                             (count == 1 ? " argument" : " arguments"));
}

}  // namespace slidefold::bindings
