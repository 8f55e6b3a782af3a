// Results as columns of the Arrow C data interface.
//
// Layout: a Column is a format, buffers and children, which it hands over with its memory when it
//   is exported.
// Invariants: I1 what is exported is freed by its consumer, once.
// Cost: O(values).
// Paper: none. The interface: https://arrow.apache.org/docs/format/CDataInterface.html
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "slidefold/engine/arrow.hpp"
#include "slidefold/storage/large_memory.hpp"

namespace slidefold::engine {

// Bytes that are written before they are read: they need no zeros.
template <class T>
struct Unset : std::allocator<T> {
  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < LargeMemory::kLeast) return std::allocator<T>::allocate(count);
    return static_cast<T*>(LargeMemory::take(bytes));
  }
  void deallocate(T* place, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < LargeMemory::kLeast) return std::allocator<T>::deallocate(place, count);
    LargeMemory::give_back(place, bytes);
  }

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
  std::int64_t flags = 2;  // may have nulls
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
  out->flags = column.flags;
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
  if (held.format != "n") {  // a column of nulls has no buffer
    owned->buffers.push_back(held.validity.empty() ? nullptr : held.validity.data());
  }
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

// A column of nested values, made of their bytes.
class NestedColumn {
 public:
  explicit NestedColumn(const Nested& type) : type_(type) {
    for (const Nested& child : type.children) children_.emplace_back(child);
  }

  // Adds the value at the start of some bytes, and removes it there.
  void add(std::string_view& bytes) {
    using Form = Nested::Form;
    if (bytes.empty()) return add_null();
    const bool some = bytes[0] != 0;
    bytes.remove_prefix(1);
    std::uint64_t count = 0;
    switch (type_.form) {
      case Form::kNull:
        return add_null();
      case Form::kBool:
        if (!some || bytes.empty()) return add_null();
        data_.push_back(bytes[0] != 0 ? 1 : 0);
        bytes.remove_prefix(1);
        break;
      case Form::kFlat:
        if (!some || bytes.size() < type_.width) return add_null();
        append(bytes.substr(0, type_.width));
        bytes.remove_prefix(type_.width);
        break;
      case Form::kText:
      case Form::kLargeText:
      case Form::kView:
        if (!some || !read(bytes, count) || bytes.size() < count) return add_null();
        append(bytes.substr(0, count));
        bytes.remove_prefix(count);
        ends_.push_back(data_.size());
        break;
      case Form::kList:
      case Form::kLargeList:
      case Form::kListView:
        // An item has one byte at least.
        if (!some || !read(bytes, count) || bytes.size() < count) return add_null();
        for (std::uint64_t k = 0; k < count; ++k) children_[0].add(bytes);
        ends_.push_back(children_[0].rows());
        break;
      case Form::kFixedList:
        if (!some) return add_null();
        for (std::size_t k = 0; k < type_.width; ++k) children_[0].add(bytes);
        break;
      case Form::kStruct:
        if (!some) return add_null();
        for (NestedColumn& child : children_) child.add(bytes);
    }
    valid_.push_back(1);
  }

  void add_null() {
    using Form = Nested::Form;
    valid_.push_back(0);
    if (type_.form == Form::kBool) data_.push_back(0);
    if (type_.form == Form::kFlat) data_.resize(data_.size() + type_.width, 0);
    const bool items = type_.form == Form::kList || type_.form == Form::kLargeList ||
                       type_.form == Form::kListView;
    if (items) ends_.push_back(children_[0].rows());
    if (is_text()) ends_.push_back(data_.size());
    if (type_.form == Form::kFixedList) {
      for (std::size_t k = 0; k < type_.width; ++k) children_[0].add_null();
    }
    if (type_.form == Form::kStruct) {
      for (NestedColumn& child : children_) child.add_null();
    }
  }

  std::size_t rows() const { return valid_.size(); }

  Column column() {
    using Form = Nested::Form;
    Column made;
    made.format = type_.format == "vu" ? "U" : type_.format == "vz" ? "Z" : type_.format;
    made.name = type_.name;
    made.flags = type_.flags;
    made.length = static_cast<std::int64_t>(rows());
    for (std::size_t i = 0; i < rows(); ++i) {
      if (valid_[i] == 0) made.set_null(i);
    }
    if (type_.form == Form::kText || type_.form == Form::kList)
      made.buffers.push_back(offsets<std::int32_t>());
    if (type_.form == Form::kLargeText || type_.form == Form::kView ||
        type_.form == Form::kLargeList) {
      made.buffers.push_back(offsets<std::int64_t>());
    }
    if (type_.form == Form::kListView) {
      const bool narrow = type_.width == 4;
      made.buffers.push_back(narrow ? offsets<std::int32_t>() : offsets<std::int64_t>());
      made.buffers.push_back(narrow ? sizes<std::int32_t>() : sizes<std::int64_t>());
    }
    if (type_.form == Form::kBool) {
      Bytes bits((rows() + 7) / 8, std::uint8_t{0});
      for (std::size_t i = 0; i < rows(); ++i) {
        bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | data_[i] << (i % 8));
      }
      made.buffers.push_back(std::move(bits));
    }
    if (type_.form == Form::kFlat || is_text()) made.buffers.push_back(std::move(data_));
    for (NestedColumn& child : children_) made.children.push_back(child.column());
    return made;
  }

 private:
  bool is_text() const {
    using Form = Nested::Form;
    return type_.form == Form::kText || type_.form == Form::kLargeText || type_.form == Form::kView;
  }
  static bool read(std::string_view& bytes, std::uint64_t& value) {
    if (bytes.size() < sizeof value) return false;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
    return true;
  }
  void append(std::string_view bytes) { data_.insert(data_.end(), bytes.begin(), bytes.end()); }
  template <class Offset>
  Bytes sizes() const {
    Bytes made(rows() * sizeof(Offset), std::uint8_t{0});
    for (std::size_t i = 0; i < rows(); ++i) {
      const auto size = static_cast<Offset>(ends_[i] - (i == 0 ? 0 : ends_[i - 1]));
      std::memcpy(made.data() + i * sizeof(Offset), &size, sizeof(Offset));
    }
    return made;
  }
  template <class Offset>
  Bytes offsets() const {
    if (!ends_.empty() &&
        ends_.back() > static_cast<std::size_t>(std::numeric_limits<Offset>::max())) {
      throw std::length_error("a column of nested values holds more than 2^31 items or bytes");
    }
    Bytes made((rows() + 1) * sizeof(Offset), std::uint8_t{0});
    for (std::size_t i = 0; i < rows(); ++i) {
      const auto end = static_cast<Offset>(ends_[i]);
      std::memcpy(made.data() + (i + 1) * sizeof(Offset), &end, sizeof(Offset));
    }
    return made;
  }

  const Nested& type_;
  std::vector<std::uint8_t> valid_;
  Bytes data_;
  std::vector<std::size_t> ends_;
  std::vector<NestedColumn> children_;
};

// Words as a column of a type.
inline Column column_of(const std::string& format, const Type& type, const std::vector<Word>& words,
                        const std::vector<std::uint8_t>& valid) {
  if (type.nested != nullptr) {
    NestedColumn nested(*type.nested);
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string_view bytes = valid[i] != 0 ? text_of(words[i]) : std::string_view();
      nested.add(bytes);
    }
    return nested.column();
  }
  Column column;
  column.format = format;
  column.length = static_cast<std::int64_t>(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (valid[i] == 0) column.set_null(i);
  }
  const auto put = [&](auto typed, auto&& of) {
    using T = decltype(typed);
    Bytes bytes(words.size() * sizeof(T));
    if (std::is_same_v<T, Word> && column.nulls == 0) {
      if (!words.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
      column.buffers.push_back(std::move(bytes));
      return;
    }
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
      if (valid[i] == 0) continue;
      const std::string_view text = text_of(words[i]);  // shorter only in a damaged state
      std::memcpy(bytes.data() + i * type.width, text.data(),
                  std::min<std::size_t>(type.width, text.size()));
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
