// Arrays that come from numpy, and fresh ones on huge pages. numpy.empty asks for those too, but
// gets few of them in memory that was used before: three arrays of 8 MB took 23 ms to be touched
// for the first time, and take 4 as Buffers (Linux 6, a virtual machine).
#pragma once

#include <nanobind/ndarray.h>

#include <memory>

#include "slidefold/storage/buffer.hpp"

namespace slidefold::bindings {

namespace nb = nanobind;

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
struct FreshArray {
  nb::object array;
  T* data;
};

template <class T>
FreshArray<T> fresh_array(std::size_t rows) {
  auto buffer = std::make_unique<Buffer<T>>(rows);
  T* const data = buffer->data();
  nb::capsule owner(buffer.get(),
                    [](void* held) noexcept { delete static_cast<Buffer<T>*>(held); });
  buffer.release();
  nb::ndarray<nb::numpy, T, nb::ndim<1>> array(data, {rows}, owner);
  return {nb::cast(array), data};
}

}  // namespace slidefold::bindings
