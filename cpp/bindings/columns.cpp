// Columns of Python as memory, and back.
#include "columns.hpp"

#include "fold_column.hpp"

namespace slidefold::bindings {

Sequence::Sequence(nb::handle values) : items_(nb::steal(PySequence_Tuple(values.ptr()))) {
  if (items_.is_valid()) return;
  const bool iterable = Py_TYPE(values.ptr())->tp_iter != nullptr || PySequence_Check(values.ptr());
  if (iterable || PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
  PyErr_Clear();
  fail("ValueTypeError", "expected a sequence of values, got " + shown(values.ptr()));
}

template <class T>
PlainReader<T>::PlainReader(nb::handle values) {
  if (PyList_CheckExact(values.ptr()) || PyTuple_CheckExact(values.ptr())) {
    const Sequence items(values);
    size_ = items.size();
    own_ = std::make_unique<T[]>(size_);
    data_ = own_.get();
    const Signals signals;
    Pacer pace;
    for (std::size_t i = 0; i < size_; ++i) {
      pace();
      if (items[i] == Py_None) {
        mark(i);
      } else {
        own_[i] = Value<T>::from(items[i]);
      }
    }
    return;
  }
  const bool fits = nb::try_cast<Array>(values, array_, false);
  if (!fits || reinterpret_cast<std::uintptr_t>(array_.data()) % alignof(T) != 0) {
    fail("ValueTypeError", std::string("expected a one-dimensional contiguous array of ") +
                               Value<T>::name + ", got " + layout_of(values));
  }
  data_ = array_.data();
  size_ = array_.shape(0);
}

template <class T>
std::string PlainReader<T>::layout_of(nb::handle values) {
  const nb::object dtype = nb::getattr(values, "dtype", nb::none());
  const bool array = PyObject_CheckBuffer(values.ptr()) || nb::hasattr(values, "__dlpack__");
  if (dtype.is_none() || !array) return Py_TYPE(values.ptr())->tp_name;
  const std::string got = nb::str(nb::handle(dtype)).c_str();
  int dimensions = 1;
  if (nb::try_cast<int>(nb::getattr(values, "ndim", nb::none()), dimensions) && dimensions != 1) {
    return got + " of " + std::to_string(dimensions) + " dimensions";
  }
  return got == Value<T>::name ? got + " that is not contiguous or not aligned" : got;
}

template class PlainReader<double>;
template class PlainReader<std::int64_t>;
template class PlainReader<bool>;

Reader<std::string>::Reader(nb::handle values) {
  const Sequence items(values);
  texts_.reserve(items.size());
  const Signals signals;
  Pacer pace;
  for (std::size_t i = 0; i < items.size(); ++i) {
    pace();
    if (items[i] == Py_None) mark(i);
    texts_.push_back(items[i] == Py_None ? std::string() : to_string(items[i]));
  }
}

Reader<Anything>::Reader(nb::handle values) {
  const Py_ssize_t size = PyObject_Size(values.ptr());
  if (size < 0) {
    PyErr_Clear();
    fail("ValueTypeError", "expected a sequence of values, got " + shown(values.ptr()));
  }
  size_ = static_cast<std::size_t>(size);
  if (!PyList_CheckExact(values.ptr()) && !PyTuple_CheckExact(values.ptr())) return;
  const Sequence items(values);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i] == Py_None) mark(i);
  }
}

// numpy allocates: it asks for huge pages, as Buffer does.
template <class T>
ArrayWriter<T>::ArrayWriter(std::size_t rows)
    : array_(nb::module_::import_("numpy").attr("empty")(rows, Value<T>::name)),
      data_(nb::cast<nb::ndarray<T, nb::ndim<1>, nb::c_contig>>(array_).data()) {}

template <class T>
nb::object ArrayWriter<T>::finish() {
  if (nulls_.empty()) return array_;
  nb::object list = array_.attr("tolist")();
  for (const std::size_t row : nulls_) {
    PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(row), Py_NewRef(Py_None));
  }
  return list;
}

template class ArrayWriter<double>;
template class ArrayWriter<std::int64_t>;
template class ArrayWriter<bool>;

void require_frames(const FrameBounds& bounds, std::size_t rows) {
  const auto [lo, hi, frames] = bounds;
  for (std::size_t i = 0; i < frames; ++i) {
    const bool inside = 0 <= lo[i] && lo[i] <= hi[i] && hi[i] <= static_cast<std::int64_t>(rows);
    if (!inside || (i > 0 && (lo[i] < lo[i - 1] || hi[i] < hi[i - 1]))) {
      fail("ValueTypeError",
           "frames lie in the column and never go back, but not frame " + std::to_string(i));
    }
  }
}

}  // namespace slidefold::bindings
