// Whole columns between Python and a kernel: a Reader gives the value of a row, a Writer takes the
// result of a row. Both say whether they need the GIL while the kernel runs.
#pragma once

#include <cmath>
#include <limits>

#include "python.hpp"
#include "signals.hpp"

namespace slidefold::bindings {

// The number of results of a column: one for every `slide` rows, or so many.
struct ResultCount {
  std::size_t slide = 1;
  bool exact = false;
  ResultCount(std::size_t every) : slide(every) {}  // NOLINT: a slide is what it is most often
  static ResultCount exactly(std::size_t results) {
    ResultCount count(results);
    count.exact = true;
    return count;
  }
  std::size_t of(std::size_t rows) const { return exact ? slide : rows / slide; }
};

template <class In>
class Reader;  // size(), operator[](row), null(row), any_null()

// Which rows of a sequence are None. Arrays have no nulls.
class NullRows {
 public:
  void mark(std::size_t row) {
    if (row >= flags_.size()) flags_.resize(row + 1);
    flags_[row] = true;
  }
  bool null(std::size_t row) const { return row < flags_.size() && flags_[row]; }
  bool any_null() const { return !flags_.empty(); }

 private:
  std::vector<bool> flags_;
};

// Any Python sequence, one object at a time. It is held as a tuple: a user's operator may change a
// list while it is read.
class Sequence {
 public:
  explicit Sequence(nb::handle values);
  std::size_t size() const { return static_cast<std::size_t>(PyTuple_GET_SIZE(items_.ptr())); }
  PyObject* operator[](std::size_t row) const {
    return PyTuple_GET_ITEM(items_.ptr(), static_cast<Py_ssize_t>(row));
  }

 private:
  nb::object items_;
};

// A column of numbers or booleans. It is a class of its own because Clang 14 cannot define the
// members of a constrained specialization outside of it.
template <class T>
class PlainReader : public NullRows {
  using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

 public:
  static constexpr bool needs_gil = false;
  PlainReader(const PlainReader&) = delete;
  explicit PlainReader(nb::handle values);
  std::size_t size() const { return size_; }
  T operator[](std::size_t row) const { return data_[row]; }

 private:
  static std::string layout_of(nb::handle values);  // names the fault of the array

  Array array_;
  std::unique_ptr<T[]> own_;  // of a list or a tuple
  const T* data_ = nullptr;
  std::size_t size_ = 0;
};

extern template class PlainReader<double>;
extern template class PlainReader<std::int64_t>;
extern template class PlainReader<bool>;

template <class T>
  requires(std::is_same_v<T, double> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, bool>)
class Reader<T> : public PlainReader<T> {
 public:
  using PlainReader<T>::PlainReader;
};

template <>
class Reader<PyRef> : public Sequence {
 public:
  static constexpr bool needs_gil = true;
  using Sequence::Sequence;
  PyRef operator[](std::size_t row) const { return PyRef::borrow(Sequence::operator[](row)); }
  bool null(std::size_t row) const { return Sequence::operator[](row) == Py_None; }
  bool any_null() const {
    for (std::size_t row = 0; row < size(); ++row) {
      if (null(row)) return true;
    }
    return false;
  }
};

template <>
class Reader<std::string> : public NullRows {
 public:
  static constexpr bool needs_gil = false;
  explicit Reader(nb::handle values);
  std::size_t size() const { return texts_.size(); }
  const std::string& operator[](std::size_t row) const { return texts_[row]; }

 private:
  std::vector<std::string> texts_;
};

template <>
class Reader<Anything> : public NullRows {
 public:
  static constexpr bool needs_gil = false;
  explicit Reader(nb::handle values);
  std::size_t size() const { return size_; }
  Anything operator[](std::size_t) const { return {}; }

 private:
  std::size_t size_;
};

template <class T>
class Reader<Maybe<T>> {
 public:
  static constexpr bool needs_gil = Reader<T>::needs_gil;
  explicit Reader(nb::handle values) : values_(values) {}
  std::size_t size() const { return values_.size(); }
  Maybe<T> operator[](std::size_t row) const {
    return null(row) ? Maybe<T>{} : Maybe<T>{values_[row], 1};
  }
  bool null(std::size_t row) const { return values_.null(row); }
  bool any_null() const { return values_.any_null(); }

 private:
  Reader<T> values_;
};

template <class Arg, class Key>
class Reader<Pair<Arg, Key>> {
 public:
  static constexpr bool needs_gil = Reader<Arg>::needs_gil || Reader<Key>::needs_gil;
  explicit Reader(nb::handle values) : args_(part(values, 0)), keys_(part(values, 1)) {
    if (args_.size() != keys_.size()) {
      fail("ValueTypeError",
           "arguments and keys differ in length: " + std::to_string(args_.size()) + " and " +
               std::to_string(keys_.size()));
    }
  }
  std::size_t size() const { return args_.size(); }
  Pair<Arg, Key> operator[](std::size_t row) const { return {args_[row], keys_[row]}; }
  bool null(std::size_t row) const { return args_.null(row) || keys_.null(row); }
  bool any_null() const { return args_.any_null() || keys_.any_null(); }

 private:
  static nb::handle part(nb::handle values, Py_ssize_t which) {
    if (!PyTuple_Check(values.ptr()) || PyTuple_GET_SIZE(values.ptr()) != 2) {
      fail("ValueTypeError", "expected a pair of columns (arguments, keys), got " +
                                 std::string(Py_TYPE(values.ptr())->tp_name));
    }
    return PyTuple_GET_ITEM(values.ptr(), which);
  }
  Reader<Arg> args_;
  Reader<Key> keys_;
};

// Results: arrays for numbers, lists for everything else. A row without a result is NaN or None; an
// array of integers or bools has no room for it and becomes a list.
template <class Out>
class Writer {
 public:
  static constexpr bool needs_gil = true;
  explicit Writer(std::size_t rows) : list_(nb::steal(PyList_New(static_cast<Py_ssize_t>(rows)))) {}
  void set(std::size_t row, const Out& value) { put(row, Value<Out>::to(value)); }
  void set_null(std::size_t row) { put(row, Py_NewRef(Py_None)); }
  void blank(std::size_t row) { set_null(row); }
  nb::object finish() { return list_; }

 private:
  void put(std::size_t row, PyObject* item) {
    if (item == nullptr) throw nb::python_error();
    PyList_SetItem(list_.ptr(), static_cast<Py_ssize_t>(row), item);
  }
  nb::object list_;
};

template <class T>
class ArrayWriter {
 public:
  static constexpr bool needs_gil = false;
  explicit ArrayWriter(std::size_t rows);
  void set(std::size_t row, T value) { data_[row] = value; }
  void blank(std::size_t row) { data_[row] = T{}; }  // where a mask says that there is nothing
  void set_null(std::size_t row) {
    data_[row] = T{};
    nulls_.push_back(row);
  }
  nb::object finish();

 private:
  nb::object array_;
  T* data_;
  std::vector<std::size_t> nulls_;
};

extern template class ArrayWriter<double>;
extern template class ArrayWriter<std::int64_t>;
extern template class ArrayWriter<bool>;

template <>
class Writer<double> : public ArrayWriter<double> {
 public:
  using ArrayWriter::ArrayWriter;
  void set_null(std::size_t row) { set(row, std::numeric_limits<double>::quiet_NaN()); }
};

template <>
class Writer<std::int64_t> : public ArrayWriter<std::int64_t> {
 public:
  using ArrayWriter::ArrayWriter;
};

template <>
class Writer<bool> : public ArrayWriter<bool> {
 public:
  using ArrayWriter::ArrayWriter;
};

}  // namespace slidefold::bindings
