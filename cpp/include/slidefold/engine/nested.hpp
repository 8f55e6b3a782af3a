// Values without words of their own (lists, structs, maps, binary of one size, intervals) as bytes.
//
// Layout: a Nested is the tree of a type: formats, names and flags of its fields. A value is a byte
//   that tells whether there is one, then its bytes: of one size, or a length and that many; a list
//   is a count and its items, a struct its fields in order. Views and large offsets are written as
//   the others, so that equal values of one type have equal bytes.
// Invariants: I1 a value, written and added to a NestedColumn, is the same. I2 nothing is read
//   outside of the bytes given: what is missing is null.
// Cost: O(bytes of the value).
// Paper: none.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slidefold/engine/arrow_c.hpp"

namespace slidefold::engine {

struct Nested {
  // kFlat: values of `width` bytes; kListView: offsets and sizes of
  // `width` bytes; kFixedList: `width` items.
  enum class Form : std::uint8_t {
    kNull,
    kBool,
    kFlat,
    kText,
    kLargeText,
    kView,
    kList,
    kLargeList,
    kListView,
    kFixedList,
    kStruct
  } form = Form::kNull;
  std::size_t width = 0;
  std::string format, name;
  std::int64_t flags = 2;
  std::vector<Nested> children;
};

// The tree of a type; nothing if such values cannot be read.
inline std::optional<Nested> nested_of(const ArrowSchema& schema) {
  using Form = Nested::Form;
  Nested made;
  made.format = schema.format;
  made.name = schema.name == nullptr ? "" : schema.name;
  made.flags = schema.flags;
  if (schema.dictionary != nullptr) return std::nullopt;
  const std::string& format = made.format;
  const auto flat = [&](std::size_t width) {
    made.form = Form::kFlat;
    made.width = width;
    return made;
  };
  int first = 0, second = 0, third = 128;
  const auto starts = [&](const char* with) { return format.starts_with(with); };
  if (format == "n") return made;
  if (format == "b") {
    made.form = Form::kBool;
    return made;
  }
  if (format == "c" || format == "C") return flat(1);
  if (format == "s" || format == "S" || format == "e") return flat(2);
  if (format == "i" || format == "I" || format == "f" || format == "tdD" || format == "tts" ||
      format == "ttm" || format == "tiM") {
    return flat(4);
  }
  if (format == "l" || format == "L" || format == "g" || format == "tdm" || format == "ttu" ||
      format == "ttn" || format == "tiD" || starts("ts") || starts("tD")) {
    return flat(8);
  }
  if (format == "tin") return flat(16);
  if (std::sscanf(format.c_str(), "d:%d,%d,%d", &first, &second, &third) >= 2) {
    return flat(static_cast<std::size_t>(third) / 8);
  }
  if (std::sscanf(format.c_str(), "w:%d", &first) == 1)
    return flat(static_cast<std::size_t>(first));
  if (format == "u" || format == "z") {
    made.form = Form::kText;
    return made;
  }
  if (format == "U" || format == "Z") {
    made.form = Form::kLargeText;
    return made;
  }
  if (format == "vu" || format == "vz") {
    made.form = Form::kView;
    return made;
  }
  if (std::sscanf(format.c_str(), "+w:%d", &first) == 1) {
    made.form = Form::kFixedList;
    made.width = static_cast<std::size_t>(first);
  } else if (format == "+l" || format == "+m") {
    made.form = Form::kList;
  } else if (format == "+L") {
    made.form = Form::kLargeList;
  } else if (format == "+vl" || format == "+vL") {
    made.form = Form::kListView;
    made.width = format == "+vl" ? 4 : 8;
  } else if (format == "+s") {
    made.form = Form::kStruct;
  } else {
    return std::nullopt;
  }
  if (made.form != Form::kStruct && schema.n_children != 1) return std::nullopt;
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    auto child = nested_of(*schema.children[i]);
    if (!child) return std::nullopt;
    made.children.push_back(std::move(*child));
  }
  return made;
}

// Appends the bytes of a value; `i` counts from the start of the buffers.
inline void write_nested(const Nested& type, const ArrowArray& array, std::int64_t i,
                         std::string& out) {
  using Form = Nested::Form;
  const void* const bits =
      array.n_buffers > 0 && array.null_count != 0 ? array.buffers[0] : nullptr;
  const bool some = type.form != Form::kNull && (bits == nullptr || arrow_detail::bit(bits, i));
  out.push_back(some ? 1 : 0);
  if (!some) return;
  const auto text = [&](std::string_view bytes) {
    const std::uint64_t length = bytes.size();
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    out.append(bytes);
  };
  const auto items = [&](std::int64_t first, std::int64_t count) {
    const ArrowArray& child = *array.children[0];
    for (std::int64_t k = first; k < first + count; ++k) {
      write_nested(type.children[0], child, child.offset + k, out);
    }
  };
  const auto list = [&](auto offset) {
    using Offset = decltype(offset);
    const std::int64_t first = arrow_detail::at<Offset>(array.buffers[1], i);
    const std::int64_t count = arrow_detail::at<Offset>(array.buffers[1], i + 1) - first;
    out.append(reinterpret_cast<const char*>(&count), sizeof count);
    items(first, count);
  };
  const auto list_view = [&](auto offset) {
    using Offset = decltype(offset);
    const std::int64_t count = arrow_detail::at<Offset>(array.buffers[2], i);
    out.append(reinterpret_cast<const char*>(&count), sizeof count);
    items(arrow_detail::at<Offset>(array.buffers[1], i), count);
  };
  switch (type.form) {
    case Form::kNull:
      return;
    case Form::kBool:
      out.push_back(arrow_detail::bit(array.buffers[1], i) ? 1 : 0);
      return;
    case Form::kFlat:
      out.append(
          static_cast<const char*>(array.buffers[1]) + i * static_cast<std::int64_t>(type.width),
          type.width);
      return;
    case Form::kText:
      return text(arrow_detail::text_at<std::int32_t>(array, i));
    case Form::kLargeText:
      return text(arrow_detail::text_at<std::int64_t>(array, i));
    case Form::kView:
      return text(arrow_detail::view_at(array, i));
    case Form::kList:
      return list(std::int32_t{});
    case Form::kLargeList:
      return list(std::int64_t{});
    case Form::kListView:
      return type.width == 4 ? list_view(std::int32_t{}) : list_view(std::int64_t{});
    case Form::kFixedList:
      return items(i * static_cast<std::int64_t>(type.width),
                   static_cast<std::int64_t>(type.width));
    case Form::kStruct:
      for (std::size_t c = 0; c < type.children.size(); ++c) {
        const ArrowArray& child = *array.children[c];
        write_nested(type.children[c], child, child.offset + i, out);
      }
  }
}

}  // namespace slidefold::engine
