// Several operators in one state: the product that `slidefold.struct` makes.
//
// Layout: the states of the parts one after the other, those of 16-byte alignment first, then for
//   each part the number of its inputs that were not null. Plain states of up to 256 bytes lie in
//   the state itself, others in a block of their own.
// Invariants: a part with no inputs holds its identity. Every byte of a plain state is set.
// Cost: one indirect call a part and combine.
// Paper: reactive-aggregator-flatfat, section 2.2 (products of operators are operators). Commutes,
//   and is invertible, if all parts do.
#pragma once

#include <cstring>

#include "registry.hpp"

namespace slidefold::bindings {

struct Part {
  std::string name;
  std::vector<nb::object> columns;
  ErasedOperator erased;
  bool skips_nulls;
  std::size_t offset;        // of the state
  std::size_t count_offset;  // of the number of inputs

  const Algebra& algebra() const { return *erased.op.algebra; }
  const void* context() const { return erased.op.context.get(); }
  const PortTable& port() const { return ports(erased.op); }
};

struct Layout {
  std::vector<Part> parts;
  std::size_t bytes = 0;
  bool plain = true;

  void add(std::string name, const nb::object& columns, ErasedOperator erased, bool skips_nulls) {
    std::vector<nb::object> names;
    for (const nb::handle column : columns) names.push_back(nb::borrow(column));
    plain = plain && erased.plain;
    parts.push_back({std::move(name), std::move(names), std::move(erased), skips_nulls, 0, 0});
  }
  void arrange() {
    for (const bool wide : {true, false}) {
      for (Part& part : parts) {
        if ((part.erased.bytes % 16 == 0) != wide) continue;
        part.offset = bytes;
        bytes += (part.erased.bytes + 7) / 8 * 8;
      }
    }
    for (Part& part : parts) {
      part.count_offset = bytes;
      bytes += sizeof(std::int64_t);
    }
  }
};
using LayoutPtr = std::shared_ptr<const Layout>;

// A state that owns memory: its parts are constructed one by one, and destroyed so.
class Block {
 public:
  Block() = default;
  explicit Block(const Layout* layout)
      : layout_(layout), bytes_(static_cast<std::byte*>(::operator new(layout->bytes))) {
    std::memset(bytes_, 0, layout->bytes);
  }
  Block(const Block& other) : Block(other.layout_) {
    for (const Part& part : layout_->parts) {
      std::memcpy(bytes_ + part.count_offset, other.bytes_ + part.count_offset,
                  sizeof(std::int64_t));
      const void* from = other.bytes_ + part.offset;
      construct(part, [&](void* out) { part.algebra().copy(from, out); });
    }
  }
  Block(Block&& other) noexcept { swap(other); }
  Block& operator=(Block other) noexcept {
    swap(other);
    return *this;
  }
  ~Block() {
    for (std::size_t i = 0; i < made_; ++i) {
      const Part& part = layout_->parts[i];
      part.algebra().destroy(bytes_ + part.offset);
    }
    ::operator delete(bytes_);
  }

  template <class Make>
  void construct(const Part& part, Make&& make) {
    make(static_cast<void*>(bytes_ + part.offset));
    ++made_;  // parts come in order
  }
  // Constructs anew; the old state is gone only when the new one exists.
  template <class Make>
  void replace(const Part& part, Make&& make) {
    const Algebra& algebra = part.algebra();
    AnyState fresh(&algebra);
    make(fresh.get());
    fresh.filled();
    algebra.destroy(bytes_ + part.offset);
    algebra.copy(fresh.get(), bytes_ + part.offset);
  }
  std::byte* data() { return bytes_; }
  const std::byte* data() const { return bytes_; }

 private:
  void swap(Block& other) noexcept {
    std::swap(layout_, other.layout_);
    std::swap(bytes_, other.bytes_);
    std::swap(made_, other.made_);
  }
  const Layout* layout_ = nullptr;
  std::byte* bytes_ = nullptr;
  std::size_t made_ = 0;
};

// Plain bytes, or a block where kBytes is 0.
template <std::size_t kBytes>
struct StructState {
  alignas(16) std::byte bytes[kBytes] = {};
  explicit StructState(const Layout*) {}
  StructState() = default;
  template <class Make>
  void construct(const Part& part, Make&& make) {
    make(static_cast<void*>(bytes + part.offset));
  }
  template <class Make>
  void replace(const Part& part, Make&& make) {
    // Beside the old state, which is read meanwhile: results are built field by field.
    alignas(16) std::byte fresh[kBytes];
    make(static_cast<void*>(fresh));
    std::memcpy(bytes + part.offset, fresh, part.algebra().size);
  }
  std::byte* data() { return bytes; }
  const std::byte* data() const { return bytes; }
};
template <>
struct StructState<0> : Block {
  using Block::Block;
};

template <std::size_t kBytes>
class StructOp {
 public:
  static constexpr bool commutative = false, fallible = true, structural = true;
  using State = StructState<kBytes>;

  explicit StructOp(LayoutPtr layout) : layout_(std::move(layout)) {}
  const Layout& layout() const { return *layout_; }

  State identity() const {
    return filled([](const Part& part, void* out) {
      part.algebra().identity(part.context(), out);
      return std::int64_t{0};
    });
  }
  State combine(const State& older, const State& newer) const {
    return filled([&](const Part& part, void* out) {
      part.algebra().combine(part.context(), older.data() + part.offset, newer.data() + part.offset,
                             out);
      return inputs(older, part) + inputs(newer, part);
    });
  }
  State remove(const State& whole, const State& older) const {
    return filled([&](const Part& part, void* out) {
      part.algebra().remove(part.context(), whole.data() + part.offset, older.data() + part.offset,
                            out);
      return inputs(whole, part) - inputs(older, part);
    });
  }
  void absorb(State& older, const State& newer) const {
    for (const Part& part : layout_->parts) {
      const Algebra& algebra = part.algebra();
      const void* right = newer.data() + part.offset;
      if (algebra.absorb != nullptr) {
        algebra.absorb(part.context(), older.data() + part.offset, right);
      } else {
        const void* left = older.data() + part.offset;
        older.replace(part, [&](void* out) { algebra.combine(part.context(), left, right, out); });
      }
      set_count(older, part, inputs(older, part) + inputs(newer, part));
    }
  }
  bool same(const State& a, const State& b) const {
    for (const Part& part : layout_->parts) {
      if (inputs(a, part) != inputs(b, part)) return false;
      const auto equal = part.algebra().same;
      if (equal != nullptr &&
          !equal(part.context(), a.data() + part.offset, b.data() + part.offset)) {
        return false;
      }
    }
    return true;
  }

  template <class Archive>
  void archive(Archive& a, State& state) const {
    if constexpr (Archive::kLoading) {
      state = filled([&](const Part& part, void* out) {
        std::int64_t n = 0;
        a.count(n);
        part.algebra().load(part.context(), out, a);
        return n;
      });
    } else {
      for (const Part& part : layout_->parts) {
        a.count(inputs(state, part));
        part.algebra().save(part.context(), state.data() + part.offset, a);
      }
    }
  }

  static std::int64_t inputs(const State& state, const Part& part) {
    std::int64_t n = 0;
    std::memcpy(&n, state.data() + part.count_offset, sizeof n);
    return n;
  }

  // Makes a state part by part: make(part, out) constructs it and returns its number of inputs.
  template <class Make>
  State filled(Make&& make) const {
    State state(layout_.get());
    for (const Part& part : layout_->parts) {
      state.construct(part, [&](void* out) { set_count(state, part, make(part, out)); });
    }
    return state;
  }

 private:
  static void set_count(State& state, const Part& part, std::int64_t n) {
    std::memcpy(state.data() + part.count_offset, &n, sizeof n);
  }

  LayoutPtr layout_;
};

template <class Op>
concept Structural = requires { Op::structural; };

// What an event holds for a part: by column name from a dict, or in order from a tuple.
inline nb::object part_of(const Layout& layout, std::size_t index, PyObject* event) {
  const Part& part = layout.parts[index];
  if (event == Py_None) return nb::none();
  if (PyTuple_Check(event)) {
    if (static_cast<std::size_t>(PyTuple_GET_SIZE(event)) != layout.parts.size()) {
      fail("ValueTypeError", "expected a tuple of " + std::to_string(layout.parts.size()) +
                                 " values, got " + shown(event));
    }
    return nb::borrow(PyTuple_GET_ITEM(event, static_cast<Py_ssize_t>(index)));
  }
  if (!PyDict_Check(event)) {
    fail("ValueTypeError", "expected a dict by column or a tuple in order, got " + shown(event));
  }
  const auto named = [&](const nb::object& column) {
    PyObject* value = PyDict_GetItemWithError(event, column.ptr());
    if (value != nullptr) return nb::borrow(value);
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    fail("ValueTypeError",
         "expected a value for the column " + shown(column.ptr()) + ", got " + shown(event));
  };
  if (part.columns.size() == 1) return named(part.columns[0]);
  if (part.columns.empty()) {
    if (!part.skips_nulls) return nb::none();  // counts rows
    fail("ValueTypeError",
         "expected a tuple, because '" + part.name + "' names no column, got " + shown(event));
  }
  nb::object values = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(part.columns.size())));
  for (std::size_t i = 0; i < part.columns.size(); ++i) {
    PyTuple_SET_ITEM(values.ptr(), static_cast<Py_ssize_t>(i),
                     named(part.columns[i]).release().ptr());
  }
  return values;
}

template <Structural Op>
struct Port<Op> {
  static typename Op::State lift(const Op& op, PyObject* event) {
    std::size_t index = 0;
    return op.filled([&](const Part& part, void* out) -> std::int64_t {
      const nb::object value = part_of(op.layout(), index++, event);
      if (part.skips_nulls && part.port().is_null(part.context(), value.ptr())) {
        part.algebra().identity(part.context(), out);
        return 0;
      }
      part.port().lift(part.context(), value.ptr(), out);
      return 1;
    });
  }
  // Each part says for itself what nothing gives.
  static PyObject* lower(const Op& op, const typename Op::State& state, bool) {
    nb::dict result;
    for (const Part& part : op.layout().parts) {
      const bool empty = Op::inputs(state, part) == 0;
      nb::object value =
          nb::steal(part.port().lower(part.context(), state.data() + part.offset, empty));
      result[part.name.c_str()] = value;
    }
    return result.release().ptr();
  }
  static bool is_null(const Op&, PyObject*) { return false; }
  static bool may_fail(const Op& op) {
    return any(op, [](const Part& p) { return p.port().may_fail(p.context()); });
  }
  static bool holds_objects(const Op& op) {
    return any(op, [](const Part& p) { return p.port().holds_objects(p.context()); });
  }
  static void visit_objects(const Op& op, const typename Op::State& state, ObjectVisitor& visitor) {
    for (const Part& part : op.layout().parts) {
      part.port().visit_objects(part.context(), state.data() + part.offset, visitor);
    }
  }

 private:
  template <class Ask>
  static bool any(const Op& op, Ask&& ask) {
    for (const Part& part : op.layout().parts) {
      if (ask(part)) return true;
    }
    return false;
  }
};

// A dict of columns by name, or a tuple with one item a part; results are a dict of columns.
template <Structural Op>
class Columns<Op> {
 public:
  using State = typename Op::State;
  Columns(const Op& op, nb::handle values, ResultCount count = 1) : op_(op) {
    if (values.is_none() || (!PyDict_Check(values.ptr()) && !PyTuple_Check(values.ptr()))) {
      fail("ValueTypeError", "expected a dict or a tuple of columns, got " +
                                 std::string(Py_TYPE(values.ptr())->tp_name));
    }
    const std::vector<Part>& parts = op_.layout().parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      nb::object column = part_of(op_.layout(), i, values.ptr());
      if (column.is_none() && parts[i].columns.empty()) column = any_column(values);
      columns_.push_back(parts[i].port().columns(parts[i].context(), column, count));
      if (columns_[i]->rows() != rows()) {
        fail("ValueTypeError", "columns differ in length: " + std::to_string(rows()) + " and " +
                                   std::to_string(columns_[i]->rows()));
      }
    }
  }
  std::size_t rows() const { return columns_[0]->rows(); }
  bool needs_gil() const {
    for (const auto& column : columns_) {
      if (column->needs_gil()) return true;
    }
    return false;
  }
  bool null(std::size_t) const { return false; }
  bool any_null() const { return false; }
  void refuse_nulls() const {}  // each part skips its own
  State lift(std::size_t row) const {
    std::size_t index = 0;
    return op_.filled([&](const Part& part, void* out) -> std::int64_t {
      const ErasedColumns& column = *columns_[index++];
      if (part.skips_nulls && column.null(row)) {
        part.algebra().identity(part.context(), out);
        return 0;
      }
      column.lift(row, out);
      return 1;
    });
  }
  void lower(std::size_t row, const State& state) {
    std::size_t index = 0;
    for (const Part& part : op_.layout().parts) {
      ErasedColumns& column = *columns_[index++];
      if (Op::inputs(state, part) == 0) {
        column.lower_empty(row);
      } else {
        column.lower(row, state.data() + part.offset);
      }
    }
  }
  void lower_empty(std::size_t row) { lower(row, op_.identity()); }
  bool lower_or_blank(std::size_t row, const State& state, bool) { return lower(row, state), true; }
  void blank(std::size_t row) {
    for (const auto& column : columns_) column->blank(row);
  }
  nb::object finish() {
    nb::dict result;
    std::size_t index = 0;
    for (const Part& part : op_.layout().parts) {
      result[part.name.c_str()] = columns_[index++]->finish();
    }
    return result;
  }

 private:
  // What counts rows needs no column of its own.
  static nb::object any_column(nb::handle values) {
    Py_ssize_t at = 0;
    PyObject* column = nullptr;
    if (PyDict_Check(values.ptr()) && PyDict_Next(values.ptr(), &at, nullptr, &column) != 0) {
      return nb::borrow(column);
    }
    return nb::none();
  }

  Op op_;
  std::vector<std::unique_ptr<ErasedColumns>> columns_;
};

}  // namespace slidefold::bindings
