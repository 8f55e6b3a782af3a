// Columns of the Arrow C data interface as words, and words as such columns.
//
// Layout: the two structs of the interface, and a Type: the contents of a column by its Arrow
// format, and
//   how its values become words. Numbers, times and truths are words themselves; strings, bytes,
//   decimals of more than 18 digits and nested values are addresses of texts in a pool.
// Invariants: I1 a value, read and written again, is the same. I2 nothing is read outside of the
//   buffers that lengths and offsets describe.
// Cost: O(values); a dictionary is read once per batch.
// Paper: none. The interface: https://arrow.apache.org/docs/format/CDataInterface.html
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "slidefold/engine/arrow_c.hpp"
#include "slidefold/engine/nested.hpp"
#include "slidefold/engine/pool.hpp"

namespace slidefold::engine {

// What the words of a column are.
enum class Kind : std::uint8_t { kWhole, kUnsigned, kReal, kText, kDecimal };

struct Type {
  Kind kind = Kind::kWhole;
  char layout = 0;          // b bool, i integer, u unsigned, f float, o offsets, O large offsets,
                            // v views, n null, N nested
  std::uint8_t width = 8;   // bytes of a value
  std::int32_t scale = 0;   // of decimals
  bool dictionary = false;  // values are indices, of this width; `layout` is that of their values
  std::uint8_t index_width = 0;
  bool index_unsigned = false;
  std::shared_ptr<const Nested> nested = nullptr;  // of values that travel as bytes, layout N
};

// What a format says, nothing if such a column cannot be read.
inline std::optional<Type> type_of(const ArrowSchema& schema);

namespace arrow_detail {

inline std::optional<Type> plain_type(std::string_view format) {
  const auto made = [](Kind kind, char layout, int width) {
    Type type;
    type.kind = kind;
    type.layout = layout;
    type.width = static_cast<std::uint8_t>(width);
    return type;
  };
  if (format.size() == 1) {
    switch (format[0]) {
      case 'n':
        return made(Kind::kWhole, 'n', 0);
      case 'b':
        return made(Kind::kWhole, 'b', 0);
      case 'c':
        return made(Kind::kWhole, 'i', 1);
      case 's':
        return made(Kind::kWhole, 'i', 2);
      case 'i':
        return made(Kind::kWhole, 'i', 4);
      case 'l':
        return made(Kind::kWhole, 'i', 8);
      case 'C':
        return made(Kind::kWhole, 'u', 1);
      case 'S':
        return made(Kind::kWhole, 'u', 2);
      case 'I':
        return made(Kind::kWhole, 'u', 4);
      case 'L':
        return made(Kind::kUnsigned, 'u', 8);
      case 'e':
        return made(Kind::kReal, 'f', 2);
      case 'f':
        return made(Kind::kReal, 'f', 4);
      case 'g':
        return made(Kind::kReal, 'f', 8);
      case 'u':
      case 'z':
        return made(Kind::kText, 'o', 0);
      case 'U':
      case 'Z':
        return made(Kind::kText, 'O', 0);
      default:
        return std::nullopt;
    }
  }
  if (format == "vu" || format == "vz") return made(Kind::kText, 'v', 16);
  if (format == "tdD" || format == "tts" || format == "ttm") return made(Kind::kWhole, 'i', 4);
  if (format == "tdm" || format == "ttu" || format == "ttn") return made(Kind::kWhole, 'i', 8);
  if (format.starts_with("ts") || format.starts_with("tD")) return made(Kind::kWhole, 'i', 8);
  if (format.starts_with("d:")) {
    int digits = 0, scale = 0, bits = 128;
    if (std::sscanf(std::string(format).c_str(), "d:%d,%d,%d", &digits, &scale, &bits) < 2) {
      return std::nullopt;
    }
    Type type = made(digits > 18 ? Kind::kDecimal : Kind::kWhole, 'i', bits / 8);
    type.scale = scale;
    return type;
  }
  return std::nullopt;
}

inline double half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
  double value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits >> 15) != 0 ? -value : value;
}

inline std::int64_t whole(const void* buffer, std::int64_t i, int width, bool is_unsigned) {
  switch (width) {
    case 1:
      return is_unsigned ? at<std::uint8_t>(buffer, i) : at<std::int8_t>(buffer, i);
    case 2:
      return is_unsigned ? at<std::uint16_t>(buffer, i) : at<std::int16_t>(buffer, i);
    case 4:
      return is_unsigned ? std::int64_t{at<std::uint32_t>(buffer, i)} : at<std::int32_t>(buffer, i);
    default:
      return at<std::int64_t>(buffer, i);
  }
}

}  // namespace arrow_detail

inline std::optional<Type> type_of(const ArrowSchema& schema) {
  if (schema.dictionary == nullptr) {
    if (const auto plain = arrow_detail::plain_type(schema.format)) return plain;
    auto nested = nested_of(schema);
    if (!nested) return std::nullopt;
    Type type;
    type.kind = Kind::kText;
    type.layout = 'N';
    type.nested = std::make_shared<const Nested>(std::move(*nested));
    return type;
  }
  const auto index = arrow_detail::plain_type(schema.format);
  auto values = type_of(*schema.dictionary);
  if (!index || !values || (index->layout != 'i' && index->layout != 'u')) return std::nullopt;
  values->dictionary = true;
  values->index_width = index->width;
  values->index_unsigned = index->layout == 'u';
  return values;
}

// Reads the columns of batches.
class ArrowColumn {
 public:
  ArrowColumn(const Type& type, const ArrowArray& array) : type_(type), array_(array) {}

  std::int64_t length() const { return array_.length; }

  // Words, and for each row whether it has a value.
  void read(Pool& pool, std::vector<Word>& words, std::vector<std::uint8_t>& valid) const {
    const auto rows = static_cast<std::size_t>(array_.length);
    words.resize(rows);
    valid.assign(rows, 1);
    if (type_.layout == 'n' && !type_.dictionary) {
      std::fill(valid.begin(), valid.end(), std::uint8_t{0});
      std::fill(words.begin(), words.end(), Word{0});
      return;
    }
    const void* const bits = array_.null_count == 0 ? nullptr : array_.buffers[0];
    if (bits != nullptr) {
      for (std::size_t i = 0; i < rows; ++i) {
        valid[i] = arrow_detail::bit(bits, array_.offset + static_cast<std::int64_t>(i)) ? 1 : 0;
      }
    }
    if (type_.dictionary) return read_dictionary(pool, words, valid);
    for (std::size_t i = 0; i < rows; ++i) {
      words[i] = valid[i] != 0 ? word(pool, array_.offset + static_cast<std::int64_t>(i)) : 0;
    }
  }

 private:
  void read_dictionary(Pool& pool, std::vector<Word>& words,
                       std::vector<std::uint8_t>& valid) const {
    Type plain = type_;
    plain.dictionary = false;
    std::vector<Word> values;
    std::vector<std::uint8_t> there;
    ArrowColumn(plain, *array_.dictionary).read(pool, values, there);
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = 0;
      if (valid[i] == 0) continue;
      const std::int64_t index =
          arrow_detail::whole(array_.buffers[1], array_.offset + static_cast<std::int64_t>(i),
                              type_.index_width, type_.index_unsigned);
      if (index < 0 || index >= static_cast<std::int64_t>(values.size())) {
        throw std::out_of_range("an index lies outside of its dictionary");
      }
      valid[i] = there[static_cast<std::size_t>(index)];
      words[i] = values[static_cast<std::size_t>(index)];
    }
  }

  Word word(Pool& pool, std::int64_t i) const {
    using namespace arrow_detail;
    const void* const data = array_.buffers[1];
    switch (type_.layout) {
      case 'b':
        return bit(data, i) ? 1 : 0;
      case 'f':
        if (type_.width == 8) return at<Word>(data, i);
        if (type_.width == 4) return std::bit_cast<Word>(double{at<float>(data, i)});
        return std::bit_cast<Word>(half(at<std::uint16_t>(data, i)));
      case 'o':
        return pool.add(text_at<std::int32_t>(array_, i));
      case 'O':
        return pool.add(text_at<std::int64_t>(array_, i));
      case 'v':
        return pool.add(view_at(array_, i));
      case 'N': {
        std::string bytes;
        write_nested(*type_.nested, array_, i, bytes);
        return pool.add(bytes);
      }
      default:
        break;
    }
    if (type_.width <= 8) {
      return static_cast<Word>(whole(data, i, type_.width, type_.layout == 'u'));
    }
    const char* const value = static_cast<const char*>(data) + i * type_.width;
    if (type_.kind == Kind::kDecimal) return pool.add({value, type_.width});
    return at<Word>(value, 0);  // up to 18 digits lie in the lowest 64 bits
  }

  Type type_;
  const ArrowArray& array_;
};

}  // namespace slidefold::engine
