// Python objects and errors, for everything under bindings/.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "slidefold/operators/arithmetic.hpp"
#include "slidefold/operators/bloom.hpp"
#include "slidefold/operators/extremes.hpp"
#include "slidefold/operators/positional.hpp"
#include "slidefold/storage/archive.hpp"

namespace nb = nanobind;

namespace slidefold::bindings {

// Raises slidefold.errors.<kind> with one sentence.
[[noreturn]] void fail(const char* kind, const std::string& sentence);

// "3.5 (float)": how a sentence shows a wrong value.
std::string shown(PyObject* value);

// An object as bytes and back, by the codec of slidefold.state.
std::string dumped(PyObject* object);
PyObject* undumped(const std::string& bytes);  // a new reference

// Shows the garbage collector the objects of a state: visits fields as an archive does.
class ObjectVisitor {
 public:
  static constexpr bool kLoading = false;

  ObjectVisitor(visitproc visit, void* argument) : visit_(visit), argument_(argument) {}
  int result() const { return result_; }

  void object(PyObject* object) {
    if (object != nullptr && result_ == 0) result_ = visit_(object, argument_);
  }
  template <class... Values>
  void operator()(const Values&... values) {
    (visit(values), ...);
  }
  std::size_t length(std::size_t count, std::size_t /*least*/ = 1) const { return count; }

 private:
  template <class T>
  void visit(const T& value) {
    if constexpr (archiving::is_vector_v<T>) {
      for (const auto& item : value) visit(item);
    } else if constexpr (!std::is_arithmetic_v<T> && !std::is_same_v<T, std::string>) {
      const_cast<T&>(value).archive(*this);  // visiting changes nothing
    }
  }

  visitproc visit_;
  void* argument_;
  int result_ = 0;
};

// An owned reference; null when empty. Copies and destroys under the GIL only.
class PyRef {
 public:
  PyRef() = default;
  static PyRef borrow(PyObject* object) { return PyRef(Py_XNewRef(object)); }
  static PyRef steal(PyObject* object) { return PyRef(object); }
  PyRef(const PyRef& other) : object_(Py_XNewRef(other.object_)) {}
  PyRef(PyRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PyRef& operator=(PyRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PyRef() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const PyRef& other) const {
    const int equal = PyObject_RichCompareBool(object_, other.object_, Py_EQ);
    if (equal < 0) throw nb::python_error();
    return equal == 1;
  }
  template <class Archive>
  void archive(Archive& a) {
    if constexpr (std::is_same_v<Archive, ObjectVisitor>) {
      a.object(object_);
    } else {
      std::string bytes;
      if constexpr (!Archive::kLoading) {
        expect(object_ != nullptr, "an object that is to be saved is missing");
        bytes = dumped(object_);
      }
      a.blob(bytes);
      if constexpr (Archive::kLoading) *this = steal(undumped(bytes));
    }
  }

 private:
  explicit PyRef(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

// While a window is made: the objects that its operator holds become the window's own, which shows
// them to the garbage collector; the operator, which copies of the window share, borrows them.
class Keeper {
 public:
  Keeper() : before_(std::exchange(current_, this)) {}
  Keeper(const Keeper&) = delete;
  ~Keeper() { current_ = before_; }
  PyRef objects() const { return PyRef::borrow(objects_.ptr()); }

 private:
  friend class HeldRef;
  nb::list objects_;
  Keeper* before_;
  static thread_local Keeper* current_;
};

// An object that an operator holds: borrowed from the window that is being made, else owned.
class HeldRef {
 public:
  HeldRef() = default;
  HeldRef(PyRef object) : object_(object.get()) {  // NOLINT: converts implicitly
    if (Keeper::current_ == nullptr) {
      owned_ = std::move(object);
    } else if (object_ != nullptr) {
      Keeper::current_->objects_.append(nb::handle(object_));
    }
  }
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
  PyRef owned_;
};

// ---- values: from Python to In, from Out to Python

bool to_bool(PyObject* value);
double to_double(PyObject* value);
std::int64_t to_int64(PyObject* value);
std::string to_string(PyObject* value);

template <class T>
struct Value;  // name, null(PyObject*), from(PyObject*), to(const T&) -> new reference

// A value that is null where it is None.
struct OneValue {
  static constexpr bool holds_null = false;
  static bool null(PyObject* value) { return value == Py_None; }
};

template <>
struct Value<bool> : OneValue {
  static constexpr const char* name = "bool";
  static bool from(PyObject* value) { return to_bool(value); }
  static PyObject* to(bool value) { return PyBool_FromLong(value); }
};

template <>
struct Value<double> : OneValue {
  static constexpr const char* name = "float64";
  static double from(PyObject* value) {
    return PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : to_double(value);
  }
  static PyObject* to(double value) { return PyFloat_FromDouble(value); }
};

template <>
struct Value<std::int64_t> : OneValue {
  static constexpr const char* name = "int64";
  static std::int64_t from(PyObject* value) { return to_int64(value); }
  static PyObject* to(std::int64_t value) { return PyLong_FromLongLong(value); }
};

template <>
struct Value<std::string> : OneValue {
  static constexpr const char* name = "str";
  static std::string from(PyObject* value) { return to_string(value); }
  static PyObject* to(const std::string& value) {
    return PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()));
  }
};

template <>
struct Value<PyRef> : OneValue {
  static constexpr bool holds_null = true;
  static constexpr const char* name = "object";
  static PyRef from(PyObject* value) { return PyRef::borrow(value); }
  static PyObject* to(const PyRef& value) { return Py_NewRef(value.get()); }
};

template <>
struct Value<Anything> : OneValue {
  static constexpr bool holds_null = true;
  static constexpr const char* name = "any";
  static Anything from(PyObject*) { return {}; }
};

template <>
struct Value<BloomFilter> {
  static PyObject* to(const BloomFilter& value) { return nb::cast(value).release().ptr(); }
};

template <class T>
struct Value<std::vector<T>> {
  static PyObject* to(const std::vector<T>& values) {
    nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(values.size())));
    for (std::size_t i = 0; i < values.size(); ++i) {
      PyObject* item = Value<T>::to(values[i]);
      if (item == nullptr) throw nb::python_error();
      PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), item);
    }
    return list.release().ptr();
  }
};

template <class T>
struct Value<Maybe<T>> : OneValue {
  static constexpr bool holds_null = true;
  static Maybe<T> from(PyObject* value) {
    return value == Py_None ? Maybe<T>{} : Maybe<T>{Value<T>::from(value), 1};
  }
  static PyObject* to(const Maybe<T>& value) {
    return value.some != 0 ? Value<T>::to(value.value) : Py_NewRef(Py_None);
  }
};

template <class Arg, class Key>
struct Value<Pair<Arg, Key>> {
  static constexpr bool holds_null = false;
  // A row of two columns is null if either is.
  static bool null(PyObject* value) {
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != 2) return value == Py_None;
    return PyTuple_GET_ITEM(value, 0) == Py_None || PyTuple_GET_ITEM(value, 1) == Py_None;
  }
  static Pair<Arg, Key> from(PyObject* value) {
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != 2) {
      fail("ValueTypeError", "expected a pair (argument, key), got " + shown(value));
    }
    return {Value<Arg>::from(PyTuple_GET_ITEM(value, 0)),
            Value<Key>::from(PyTuple_GET_ITEM(value, 1))};
  }
};

}  // namespace slidefold::bindings
