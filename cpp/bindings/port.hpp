// How an operator meets Python: lift from an object or a row, lower to an object or a row. A static
// operator does it by its types; an erased one through a table that its typed original filled in.
#pragma once

#include <optional>

#include "columns.hpp"
#include "object_op.hpp"
#include "slidefold/engine/kernels.hpp"
#include "slidefold/operators/dyn.hpp"

namespace slidefold::bindings {

template <class Op>
inline bool defined(const Op& op, const typename Op::State& state) {
  if constexpr (requires { op.defined(state); }) return op.defined(state);
  return true;
}

template <class Op>
inline constexpr bool defined_when_empty = requires { Op::defined_when_empty; };

// Whether states hold Python objects.
template <class Op>
inline constexpr bool holds_objects_v =
    std::is_same_v<typename Op::Out, PyRef> || std::is_same_v<typename Op::Out, std::vector<PyRef>>;

// ---- static operators

template <class Op>
struct Port {
  static typename Op::State lift(const Op& op, PyObject* value) {
    return op.lift(Value<typename Op::In>::from(value));
  }
  // A new reference; None where there is no result.
  static PyObject* lower(const Op& op, const typename Op::State& state, bool empty) {
    if ((empty && !defined_when_empty<Op>) || !defined(op, state)) return Py_NewRef(Py_None);
    PyObject* result = Value<typename Op::Out>::to(op.lower(state));
    if (result == nullptr) throw nb::python_error();
    return result;
  }
  static bool is_null(const Op&, PyObject* value) { return Value<typename Op::In>::null(value); }
  static bool may_fail(const Op&) { return fallible_v<Op>; }
  static bool holds_objects(const Op&) { return holds_objects_v<Op>; }
  // Shows the objects of a state to the garbage collector.
  static void visit_objects(const Op& op, const typename Op::State& state, ObjectVisitor& visitor) {
    if constexpr (holds_objects_v<Op>) archive_state(visitor, op, state);
  }
};

// For engines that have no room for nulls: None is a value here, or an error.
template <class In>
void refuse_nulls_of(const Reader<In>& reader) {
  if constexpr (!Value<In>::holds_null) {
    for (std::size_t row = 0; reader.any_null() && row < reader.size(); ++row) {
      if (reader.null(row)) {
        fail("ValueTypeError",
             "expected a value in every row, got None in row " + std::to_string(row));
      }
    }
  }
}

inline constexpr std::size_t kNoResults = ~std::size_t{0};  // a slide beyond all rows

template <class Op>
class Columns {
 public:
  using State = typename Op::State;
  Columns(const Op& op, nb::handle values, ResultCount count = 1)
      : op_(op), reader_(values), writer_(count.of(reader_.size())) {}
  std::size_t rows() const { return reader_.size(); }
  static constexpr bool needs_gil() {
    return Reader<typename Op::In>::needs_gil || Writer<typename Op::Out>::needs_gil;
  }
  bool null(std::size_t row) const { return reader_.null(row); }
  bool any_null() const { return reader_.any_null(); }
  void refuse_nulls() const { refuse_nulls_of<typename Op::In>(reader_); }
  State lift(std::size_t row) const { return op_.lift(reader_[row]); }
  void lower(std::size_t row, const State& state) {
    if (!defined(op_, state)) return writer_.set_null(row);
    if constexpr (fallible_v<Op>) {
      try {
        writer_.set(row, op_.lower(state));
      } catch (const ResultOverflow& error) {
        throw ResultOverflow(error.what(), row);
      }
    } else {
      writer_.set(row, op_.lower(state));
    }
  }
  // Lowers, or leaves a blank where there is no result, and says which.
  bool lower_or_blank(std::size_t row, const State& state, bool empty) {
    if ((empty && !defined_when_empty<Op>) || !defined(op_, state))
      return writer_.blank(row), false;
    lower(row, state);
    return true;
  }
  void blank(std::size_t row) { writer_.blank(row); }
  // The result of nothing but nulls.
  void lower_empty(std::size_t row) {
    if constexpr (defined_when_empty<Op>) {
      lower(row, op_.identity());
    } else {
      writer_.set_null(row);
    }
  }
  nb::object finish() { return writer_.finish(); }

 private:
  Op op_;
  Reader<typename Op::In> reader_;
  Writer<typename Op::Out> writer_;
};

// A user's operator in plain Python may have its own way with columns.
template <class Op>
  requires std::is_base_of_v<ObjectOp, Op>
class Columns<Op> {
 public:
  Columns(const Op& op, nb::handle values, ResultCount count = 1)
      : op_(op), reader_(op.open(values)), writer_(count.of(reader_.size())) {}
  std::size_t rows() const { return reader_.size(); }
  static constexpr bool needs_gil() { return true; }
  bool null(std::size_t row) const { return reader_.null(row); }
  bool any_null() const { return reader_.any_null(); }
  void refuse_nulls() const {}
  PyRef lift(std::size_t row) const { return op_.lift(reader_[row]); }
  void lower(std::size_t row, const PyRef& state) { writer_.set(row, op_.lower(state)); }
  bool lower_or_blank(std::size_t row, const PyRef& state, bool empty) {
    empty ? blank(row) : lower(row, state);
    return !empty;
  }
  void blank(std::size_t row) { writer_.blank(row); }
  void lower_empty(std::size_t row) { writer_.set_null(row); }
  nb::object finish() { return op_.close(writer_.finish()); }

 private:
  Op op_;
  Reader<PyRef> reader_;
  Writer<PyRef> writer_;
};

// ---- erased operators

struct ErasedColumns {
  virtual ~ErasedColumns() = default;
  virtual std::size_t rows() const = 0;
  virtual bool needs_gil() const = 0;
  virtual bool null(std::size_t row) const = 0;
  virtual bool any_null() const = 0;
  virtual void refuse_nulls() const = 0;
  virtual void lift(std::size_t row, void* out) const = 0;
  virtual void lower(std::size_t row, const void* state) = 0;
  virtual bool lower_or_blank(std::size_t row, const void* state, bool empty) = 0;
  virtual void blank(std::size_t row) = 0;
  virtual void lower_empty(std::size_t row) = 0;
  virtual nb::object finish() = 0;
};

template <class Op>
struct ErasedColumnsOf final : ErasedColumns {
  Columns<Op> columns;
  ErasedColumnsOf(const Op& op, nb::handle values, ResultCount count)
      : columns(op, values, count) {}
  std::size_t rows() const override { return columns.rows(); }
  bool needs_gil() const override { return columns.needs_gil(); }
  bool null(std::size_t row) const override { return columns.null(row); }
  bool any_null() const override { return columns.any_null(); }
  void refuse_nulls() const override { columns.refuse_nulls(); }
  void lift(std::size_t row, void* out) const override {
    ::new (out) typename Op::State(columns.lift(row));
  }
  void lower(std::size_t row, const void* state) override {
    columns.lower(row, *static_cast<const typename Op::State*>(state));
  }
  bool lower_or_blank(std::size_t row, const void* state, bool empty) override {
    return columns.lower_or_blank(row, *static_cast<const typename Op::State*>(state), empty);
  }
  void blank(std::size_t row) override { columns.blank(row); }
  void lower_empty(std::size_t row) override { columns.lower_empty(row); }
  nb::object finish() override { return columns.finish(); }
};

// What the engine of arrival order writes into its columns: a word, a text, or a list of either.
enum class Lowers : std::uint8_t { kReal, kWhole, kTruth, kText, kReals, kWholes, kTexts, kObject };

struct Lowered {
  engine::Word word = 0;
  std::string text;
  std::vector<engine::Word> words;
  std::vector<std::string> texts;
};

template <class Out>
struct Lowering {
  static constexpr Lowers kind = Lowers::kObject;
};
template <>
struct Lowering<double> {
  static constexpr Lowers kind = Lowers::kReal;
  static bool put(double value, Lowered& out) {
    out.word = std::bit_cast<engine::Word>(value);
    return true;
  }
};
template <>
struct Lowering<std::int64_t> {
  static constexpr Lowers kind = Lowers::kWhole;
  static bool put(std::int64_t value, Lowered& out) {
    out.word = static_cast<engine::Word>(value);
    return true;
  }
};
template <>
struct Lowering<bool> {
  static constexpr Lowers kind = Lowers::kTruth;
  static bool put(bool value, Lowered& out) {
    out.word = value ? 1 : 0;
    return true;
  }
};
template <>
struct Lowering<Maybe<std::int64_t>> {
  static constexpr Lowers kind = Lowers::kWhole;
  static bool put(const Maybe<std::int64_t>& value, Lowered& out) {
    out.word = static_cast<engine::Word>(value.value);
    return value.some != 0;
  }
};
template <>
struct Lowering<std::string> {
  static constexpr Lowers kind = Lowers::kText;
  static bool put(std::string value, Lowered& out) {
    out.text = std::move(value);
    return true;
  }
};
template <class T>
  requires(std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>)
struct Lowering<std::vector<T>> {
  static constexpr Lowers kind = std::is_same_v<T, double> ? Lowers::kReals : Lowers::kWholes;
  static bool put(const std::vector<T>& values, Lowered& out) {
    for (const T value : values) out.words.push_back(std::bit_cast<engine::Word>(value));
    return true;
  }
};
template <>
struct Lowering<std::vector<std::string>> {
  static constexpr Lowers kind = Lowers::kTexts;
  static bool put(std::vector<std::string> values, Lowered& out) {
    out.texts = std::move(values);
    return true;
  }
};

using LiftWords = void (*)(const engine::Part& part, const void* const* columns, std::int32_t row,
                           void* out);
using LowerWords = bool (*)(const void* context, const void* state, Lowered& out);

// Structs have their own ways with values and results.
template <class Op>
concept Typed = requires {
  typename Op::In;
  typename Op::Out;
};

template <class Op>
constexpr LiftWords lift_words() {
  return nullptr;
}
template <Typed Op>
constexpr LiftWords lift_words() {
  using In = typename Op::In;
  using State = typename Op::State;
  if constexpr (engine::Readable<In>) {
    return [](const engine::Part& part, const void* const* columns, std::int32_t row, void* out) {
      const Op& op = *static_cast<const Op*>(part.context.get());
      ::new (out) State(op.lift(engine::Reader<In>::read(columns, row)));
    };
  } else if constexpr (requires(const void* const* c) {
                         engine::Reader<In>::read_all(c, std::size_t{}, std::int32_t{});
                       }) {
    return [](const engine::Part& part, const void* const* columns, std::int32_t row, void* out) {
      const Op& op = *static_cast<const Op*>(part.context.get());
      ::new (out) State(op.lift(engine::Reader<In>::read_all(columns, part.columns.size(), row)));
    };
  } else {
    return nullptr;
  }
}

template <class Op>
constexpr Lowers lowers() {
  return Lowers::kObject;
}
template <Typed Op>
constexpr Lowers lowers() {
  return Lowering<typename Op::Out>::kind;
}

// False where there is no result.
template <class Op>
constexpr LowerWords lower_words() {
  return nullptr;
}
template <Typed Op>
constexpr LowerWords lower_words() {
  using To = Lowering<typename Op::Out>;
  if constexpr (To::kind == Lowers::kObject) {
    return nullptr;
  } else {
    return [](const void* context, const void* state, Lowered& out) {
      const Op& op = *static_cast<const Op*>(context);
      const auto& held = *static_cast<const typename Op::State*>(state);
      return defined(op, held) && To::put(op.lower(held), out);
    };
  }
}

// The table behind DynOp and AnyOp in this module: the algebra, and the way to Python.
struct PortTable {
  Algebra algebra;
  bool (*may_fail)(const void* context);
  bool (*holds_objects)(const void* context);
  bool (*is_null)(const void* context, PyObject* value);
  void (*lift)(const void* context, PyObject* value, void* out);
  PyObject* (*lower)(const void* context, const void* state, bool empty);
  std::unique_ptr<ErasedColumns> (*columns)(const void* context, nb::handle values,
                                            ResultCount count);
  void (*visit_objects)(const void* context, const void* state, ObjectVisitor& visitor);
  // The results of a whole column by Two-Stacks, where the operator brings a loop of its own.
  nb::object (*slide)(const void* context, nb::handle values, std::size_t window) = nullptr;
  // For the engine of arrival order; null where values or results are not words.
  LiftWords lift_words = nullptr;
  LowerWords lower_words = nullptr;
  Lowers lowers = Lowers::kObject;
  bool when_empty = false;  // an empty window has a result
};

template <class Op>
const PortTable* port_table() {
  static_assert(ArchivableOperator<Op>,
                "a window over this operator could not be saved: give its State a member template "
                "archive(Archive& a) that visits its fields (see storage/archive.hpp)");
  static const PortTable table = {
      *AlgebraOf<Op>::table(),
      [](const void* context) { return Port<Op>::may_fail(*static_cast<const Op*>(context)); },
      [](const void* context) { return Port<Op>::holds_objects(*static_cast<const Op*>(context)); },
      [](const void* context, PyObject* value) {
        return Port<Op>::is_null(*static_cast<const Op*>(context), value);
      },
      [](const void* context, PyObject* value, void* out) {
        ::new (out) typename Op::State(Port<Op>::lift(*static_cast<const Op*>(context), value));
      },
      [](const void* context, const void* state, bool empty) {
        return Port<Op>::lower(*static_cast<const Op*>(context),
                               *static_cast<const typename Op::State*>(state), empty);
      },
      [](const void* context, nb::handle values,
         ResultCount count) -> std::unique_ptr<ErasedColumns> {
        return std::make_unique<ErasedColumnsOf<Op>>(*static_cast<const Op*>(context), values,
                                                     count);
      },
      [](const void* context, const void* state, ObjectVisitor& visitor) {
        Port<Op>::visit_objects(*static_cast<const Op*>(context),
                                *static_cast<const typename Op::State*>(state), visitor);
      },
      nullptr,
      lift_words<Op>(),
      lower_words<Op>(),
      lowers<Op>(),
      defined_when_empty<Op>};
  return &table;
}

inline const PortTable& ports(const ErasedOp& op) {
  return *reinterpret_cast<const PortTable*>(op.algebra);
}

template <class Op>
concept Erased = std::is_base_of_v<ErasedOp, Op>;

template <class Op, class Fill>
typename Op::State filled(const Op& op, Fill&& fill) {
  if constexpr (std::is_same_v<Op, AnyOp>) {
    return op.made(fill);
  } else {
    typename Op::State state;
    fill(state.bytes);
    return state;
  }
}

template <class State>
const void* raw(const State& state) {
  if constexpr (std::is_same_v<State, AnyState>) {
    return state.get();
  } else {
    return state.bytes;
  }
}

template <Erased Op>
struct Port<Op> {
  static typename Op::State lift(const Op& op, PyObject* value) {
    return filled(op, [&](void* out) { ports(op).lift(op.context.get(), value, out); });
  }
  static PyObject* lower(const Op& op, const typename Op::State& state, bool empty) {
    return ports(op).lower(op.context.get(), raw(state), empty);
  }
  static bool is_null(const Op& op, PyObject* value) {
    return ports(op).is_null(op.context.get(), value);
  }
  static bool may_fail(const Op& op) { return ports(op).may_fail(op.context.get()); }
};

// Shows the objects that states hold: each(visit) calls visit(state) for all of them.
template <class Op, class Each>
void visit_states(const Op& op, ObjectVisitor& visitor, Each&& each) {
  if constexpr (std::is_same_v<Op, AnyOp>) {
    const void* const context = op.context.get();
    if (!ports(op).holds_objects(context)) return;
    each([&](const AnyState& state) {
      if (state.get() != nullptr) ports(op).visit_objects(context, state.get(), visitor);
    });
  }
}

template <Erased Op>
class Columns<Op> {
 public:
  using State = typename Op::State;
  Columns(const Op& op, nb::handle values, ResultCount count = 1)
      : op_(op), columns_(ports(op).columns(op.context.get(), values, count)) {}
  std::size_t rows() const { return columns_->rows(); }
  bool needs_gil() const { return columns_->needs_gil(); }
  bool null(std::size_t row) const { return columns_->null(row); }
  bool any_null() const { return columns_->any_null(); }
  void refuse_nulls() const { columns_->refuse_nulls(); }
  State lift(std::size_t row) const {
    return filled(op_, [&](void* out) { columns_->lift(row, out); });
  }
  void lower(std::size_t row, const State& state) { columns_->lower(row, raw(state)); }
  bool lower_or_blank(std::size_t row, const State& state, bool empty) {
    return columns_->lower_or_blank(row, raw(state), empty);
  }
  void blank(std::size_t row) { columns_->blank(row); }
  void lower_empty(std::size_t row) { columns_->lower_empty(row); }
  nb::object finish() { return columns_->finish(); }

 private:
  Op op_;
  std::unique_ptr<ErasedColumns> columns_;
};

}  // namespace slidefold::bindings
