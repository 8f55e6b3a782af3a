// Results as columns of the Arrow C data interface.
//
// Layout: a Column is a format, buffers and children, which it hands over with its memory when it
//   is exported.
// Invariants: I1 what is exported is freed by its consumer, once.
// Cost: O(values).
// Paper: none. The interface: https://arrow.apache.org/docs/format/CDataInterface.html
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "slidefold/engine/arrow.hpp"

namespace slidefold::engine {

// Bytes that are written before they are read: they need no zeros.
template <class T>
struct Unset : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Unset<U>;
  };
  template <class U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Given>
  void construct(U* place, Given&&... given) {
    ::new (static_cast<void*>(place)) U(std::forward<Given>(given)...);
  }
};
using Bytes = std::vector<std::uint8_t, Unset<std::uint8_t>>;

struct Column {
  std::string format, name;
  std::int64_t length = 0, nulls = 0;
  std::vector<std::uint8_t> validity;  // bits; empty if there is no null
  std::vector<Bytes> buffers;
  std::vector<Column> children;

  void set_null(std::size_t row) {
    if (validity.empty()) {
      validity.assign((static_cast<std::size_t>(length) + 7) / 8, 0xFF);
    }
    validity[row / 8] = static_cast<std::uint8_t>(validity[row / 8] & ~(1u << (row % 8)));
    ++nulls;
  }
};

namespace arrow_detail {

struct OwnedSchema {
  std::string format, name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};
struct OwnedArray {
  Column column;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
};

inline void export_schema(const Column& column, ArrowSchema* out) {
  auto owned = std::make_unique<OwnedSchema>();
  owned->format = column.format;
  owned->name = column.name;
  owned->children.resize(column.children.size());
  for (std::size_t i = 0; i < column.children.size(); ++i) {
    export_schema(column.children[i], &owned->children[i]);
    owned->pointers.push_back(&owned->children[i]);
  }
  *out = {};
  out->format = owned->format.c_str();
  out->name = owned->name.c_str();
  out->flags = 2;  // may have nulls
  out->n_children = static_cast<std::int64_t>(owned->children.size());
  out->children = owned->pointers.data();
  out->release = [](ArrowSchema* schema) {
    auto* held = static_cast<OwnedSchema*>(schema->private_data);
    for (ArrowSchema& child : held->children) {
      if (child.release != nullptr) child.release(&child);
    }
    delete held;
    schema->release = nullptr;
  };
  out->private_data = owned.release();
}

inline void export_array(Column column, ArrowArray* out) {
  auto owned = std::make_unique<OwnedArray>();
  owned->column = std::move(column);
  Column& held = owned->column;
  owned->buffers.push_back(held.validity.empty() ? nullptr : held.validity.data());
  static const std::uint8_t kNothing[8] = {};
  for (const auto& buffer : held.buffers) {
    owned->buffers.push_back(buffer.empty() ? kNothing : buffer.data());
  }
  owned->children.resize(held.children.size());
  for (std::size_t i = 0; i < held.children.size(); ++i) {
    export_array(std::move(held.children[i]), &owned->children[i]);
    owned->pointers.push_back(&owned->children[i]);
  }
  *out = {};
  out->length = held.length;
  out->null_count = held.nulls;
  out->n_buffers = static_cast<std::int64_t>(owned->buffers.size());
  out->buffers = owned->buffers.data();
  out->n_children = static_cast<std::int64_t>(owned->children.size());
  out->children = owned->pointers.data();
  out->release = [](ArrowArray* array) {
    auto* own = static_cast<OwnedArray*>(array->private_data);
    for (ArrowArray& child : own->children) {
      if (child.release != nullptr) child.release(&child);
    }
    delete own;
    array->release = nullptr;
  };
  out->private_data = owned.release();
}

}  // namespace arrow_detail

// Words as a column of a type.
inline Column column_of(const std::string& format, const Type& type, const std::vector<Word>& words,
                        const std::vector<std::uint8_t>& valid) {
  Column column;
  column.format = format;
  column.length = static_cast<std::int64_t>(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (valid[i] == 0) column.set_null(i);
  }
  const auto put = [&](auto typed, auto&& of) {
    using T = decltype(typed);
    Bytes bytes(words.size() * sizeof(T));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const T value = valid[i] != 0 ? of(words[i]) : T{};
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    column.buffers.push_back(std::move(bytes));
  };
  const auto texts = [&](auto offset) {
    using Offset = decltype(offset);
    Bytes offsets((words.size() + 1) * sizeof(Offset), std::uint8_t{0}), bytes;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (valid[i] != 0) {
        const std::string_view text = text_of(words[i]);
        bytes.insert(bytes.end(), text.begin(), text.end());
      }
      const auto end = static_cast<Offset>(bytes.size());
      std::memcpy(offsets.data() + (i + 1) * sizeof(Offset), &end, sizeof(Offset));
    }
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<Offset>::max())) {
      throw std::length_error("a column of texts holds more than 2 GB");
    }
    column.buffers.push_back(std::move(offsets));
    column.buffers.push_back(std::move(bytes));
  };
  switch (type.layout) {
    case 'n':
      column.nulls = column.length;
      return column;
    case 'b': {
      Bytes bits((words.size() + 7) / 8, std::uint8_t{0});
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (valid[i] != 0 && words[i] != 0) {
          bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | 1u << (i % 8));
        }
      }
      column.buffers.push_back(std::move(bits));
      return column;
    }
    case 'f':
      if (type.width == 4) {
        put(float{}, [](Word word) { return static_cast<float>(std::bit_cast<double>(word)); });
      } else {
        put(Word{}, [](Word word) { return word; });
      }
      return column;
    case 'o':
      texts(std::int32_t{});
      return column;
    case 'O':
      texts(std::int64_t{});
      return column;
    default:
      break;
  }
  if (type.kind == Kind::kDecimal) {  // as texts of their bytes
    Bytes bytes(words.size() * type.width, std::uint8_t{0});
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (valid[i] != 0)
        std::memcpy(bytes.data() + i * type.width, text_of(words[i]).data(), type.width);
    }
    column.buffers.push_back(std::move(bytes));
    return column;
  }
  switch (type.width) {
    case 1:
      put(std::uint8_t{}, [](Word word) { return static_cast<std::uint8_t>(word); });
      break;
    case 2:
      put(std::uint16_t{}, [](Word word) { return static_cast<std::uint16_t>(word); });
      break;
    case 4:
      put(std::uint32_t{}, [](Word word) { return static_cast<std::uint32_t>(word); });
      break;
    case 8:
      put(Word{}, [](Word word) { return word; });
      break;
    default: {  // a decimal of up to 18 digits: its sign fills the rest
      Bytes bytes(words.size() * type.width, std::uint8_t{0});
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (valid[i] == 0) continue;
        std::uint8_t* const at = bytes.data() + i * type.width;
        std::memset(at, static_cast<std::int64_t>(words[i]) < 0 ? 0xFF : 0, type.width);
        std::memcpy(at, &words[i], sizeof(Word));
      }
      column.buffers.push_back(std::move(bytes));
    }
  }
  return column;
}

}  // namespace slidefold::engine
