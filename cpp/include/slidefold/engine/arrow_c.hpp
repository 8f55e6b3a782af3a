// The two structs of the Arrow C data interface.
//
// Layout, invariants, cost: https://arrow.apache.org/docs/format/CDataInterface.html
// Paper: none.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
}
#endif

namespace slidefold::engine::arrow_detail {

template <class T>
T at(const void* buffer, std::int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(buffer) + i * static_cast<std::int64_t>(sizeof(T)),
              sizeof value);
  return value;
}

inline bool bit(const void* bits, std::int64_t i) {
  return (static_cast<const std::uint8_t*>(bits)[i / 8] >> (i % 8) & 1) != 0;
}

template <class Offset>
std::string_view text_at(const ArrowArray& array, std::int64_t i) {
  const auto first = at<Offset>(array.buffers[1], i);
  const auto last = at<Offset>(array.buffers[1], i + 1);
  return {static_cast<const char*>(array.buffers[2]) + first,
          static_cast<std::size_t>(last - first)};
}

inline std::string_view view_at(const ArrowArray& array, std::int64_t i) {
  const char* const entry = static_cast<const char*>(array.buffers[1]) + 16 * i;
  const auto length = at<std::int32_t>(entry, 0);
  if (length <= 12) return {entry + 4, static_cast<std::size_t>(length)};
  const auto buffer = at<std::int32_t>(entry, 2);
  const auto offset = at<std::int32_t>(entry, 3);
  return {static_cast<const char*>(array.buffers[2 + buffer]) + offset,
          static_cast<std::size_t>(length)};
}

}  // namespace slidefold::engine::arrow_detail
