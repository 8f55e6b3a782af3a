// Values of types that the native operators do not know, as values of those that they do.
//
// A codec keeps the order, and comes back exactly: dates are days, times and durations
// microseconds, decimals integers of their last digit (strings of digits beyond 18), unsigned
// integers shifted, bytes the characters of the same numbers (whose UTF-8 sorts as they do).
#pragma once

#include <memory>

#include "python.hpp"

namespace slidefold::bindings {

class Codec {
 public:
  virtual ~Codec() = default;
  // Both return a new reference, or throw. None is not asked.
  virtual PyObject* in(PyObject* value) const = 0;
  virtual PyObject* out(PyObject* value) const = 0;
};
using CodecPtr = std::shared_ptr<const Codec>;

// int8 .. uint64, float32, bool, date, timestamp, timestamp[UTC], duration, decimal(p, s), binary;
// "plain" leaves values alone, "days" makes durations of whole days, "times(f)" multiplies results.
CodecPtr codec_named(const std::string& name);

// "asked(dtype)" makes filters and sketches answer for values of that type, "classes(label|value)"
// classifiers; null for other names. (bind_sketches.cpp)
CodecPtr sketch_codec(const std::string& name);

// Applies a codec to a result: also to each item of a list or a tuple.
nb::object decoded(const Codec& codec, nb::handle value);

}  // namespace slidefold::bindings
