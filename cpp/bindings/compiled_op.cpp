// Layout: a state is plain bytes, whose fields Python laid out; the table of an operator is filled
//   in at run time with the addresses that its compiler gave, so that an algorithm reaches the
//   user's code by one indirect call. A Compiled is context, table and owner in one.
// Invariants: the functions run without the GIL and never raise. `keep` owns the machine code.
// Cost: one indirect call a combine; `slide` has none.
#include "compiled_op.hpp"

#include <algorithm>
#include <cstring>

#include "slidefold/storage/buffer.hpp"

namespace slidefold::bindings {
namespace {

// A field of the inputs or of the results: one of i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 b1.
struct Field {
  char kind;
  std::size_t bytes;
  std::size_t offset;
  std::string name, code;

  explicit Field(nb::handle description)  // (name, code, offset)
      : offset(nb::cast<std::size_t>(description[2])),
        name(nb::cast<nb::str>(description[0]).c_str()),
        code(nb::cast<nb::str>(description[1]).c_str()) {
    kind = code[0];
    bytes = static_cast<std::size_t>(code[1] - '0');
  }

  // Calls use with a value of the field's C++ type.
  template <class Use>
  auto typed(Use&& use) const {
    switch (kind) {
      case 'f':
        return bytes == 4 ? use(float{}) : use(double{});
      case 'u':
        if (bytes == 1) return use(std::uint8_t{});
        if (bytes == 2) return use(std::uint16_t{});
        return bytes == 4 ? use(std::uint32_t{}) : use(std::uint64_t{});
      case 'b':
        return use(bool{});
      default:
        if (bytes == 1) return use(std::int8_t{});
        if (bytes == 2) return use(std::int16_t{});
        return bytes == 4 ? use(std::int32_t{}) : use(std::int64_t{});
    }
  }
};

std::vector<Field> fields_of(nb::handle descriptions) {
  std::vector<Field> fields;
  for (nb::handle description : descriptions) fields.emplace_back(description);
  return fields;
}

[[noreturn]] void refuse(const Field& field, PyObject* value) {
  const char* kind = field.kind == 'f' ? "a number" : field.kind == 'b' ? "a bool" : "an integer";
  fail("ValueTypeError",
       std::string("expected ") + kind + " (" + field.code + "), got " + shown(value));
}

bool to_bool(const Field& field, PyObject* value) {
  if (PyBool_Check(value)) return value == Py_True;
  const std::string_view type = Py_TYPE(value)->tp_name;
  if (type != "numpy.bool" && type != "numpy.bool_") refuse(field, value);
  const int truth = PyObject_IsTrue(value);
  if (truth < 0) throw nb::python_error();
  return truth == 1;
}

std::uint64_t to_uint64(const Field& field, PyObject* value) {
  if (PyIndex_Check(value) == 0) refuse(field, value);
  const nb::object index = nb::steal(PyNumber_Index(value));
  if (!index.is_valid()) throw nb::python_error();
  const std::uint64_t result = PyLong_AsUnsignedLongLong(index.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse(field, value);
  }
  return result;
}

void from_python(const Field& field, PyObject* value, std::byte* out) {
  field.typed([&](auto typed) {
    using T = decltype(typed);
    if constexpr (std::is_same_v<T, bool>) {
      typed = to_bool(field, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      typed = static_cast<T>(Value<double>::from(value));
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      typed = to_uint64(field, value);
    } else {
      const std::int64_t whole = to_int64(value);
      typed = static_cast<T>(whole);
      if (static_cast<std::int64_t>(typed) != whole) refuse(field, value);
    }
    std::memcpy(out + field.offset, &typed, sizeof(T));
  });
}

PyObject* to_python(const Field& field, const std::byte* from) {
  return field.typed([&](auto typed) -> PyObject* {
    using T = decltype(typed);
    std::memcpy(&typed, from + field.offset, sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      return PyBool_FromLong(typed);
    } else if constexpr (std::is_floating_point_v<T>) {
      return PyFloat_FromDouble(typed);
    } else if constexpr (std::is_unsigned_v<T>) {
      return PyLong_FromUnsignedLongLong(typed);
    } else {
      return PyLong_FromLongLong(typed);
    }
  });
}

using Unary = void (*)(const void* context, const void* from, void* out);
using Binary = void (*)(const void* context, const void* older, const void* newer, void* out);
using Wins = bool (*)(const void* context, const void* older, const void* newer);
using Slide = void (*)(const void* const* inputs, std::int64_t rows, std::int64_t window,
                       void* folds, void* out);

// The address of a function; null where the class has none.
template <class Function>
Function function(const Spec& spec, const char* name) {
  return reinterpret_cast<Function>(nb::cast<std::uintptr_t>(spec.params[name]));
}

struct Compiled {
  PortTable table{};
  std::vector<Field> state, inputs, results;
  std::size_t state_bytes, input_bytes, result_bytes;
  bool one_result;
  std::vector<std::byte> identity;
  Unary lift, lower;
  Binary combine, remove;
  Wins newer_wins;
  nb::object open, make_results, slide_address, keep;
  std::shared_ptr<std::atomic<std::int64_t>> combines;  // when counted

  explicit Compiled(const Spec& spec)
      : state(fields_of(spec.params["state"])),
        inputs(fields_of(spec.params["inputs"])),
        results(fields_of(spec.params["results"])),
        state_bytes(static_cast<std::size_t>(spec.number("state_bytes"))),
        input_bytes(static_cast<std::size_t>(spec.number("input_bytes"))),
        result_bytes(static_cast<std::size_t>(spec.number("result_bytes"))),
        one_result(nb::cast<bool>(spec.params["one_result"])),
        lift(function<Unary>(spec, "lift")),
        lower(function<Unary>(spec, "lower")),
        combine(function<Binary>(spec, "combine")),
        remove(function<Binary>(spec, "remove")),
        newer_wins(function<Wins>(spec, "newer_wins")),
        open(spec.params["open"]),
        make_results(spec.params["make_results"]),
        slide_address(spec.params["slide"]),
        keep(spec.params["keep"]) {
    const nb::bytes empty = nb::cast<nb::bytes>(spec.params["identity"]);
    const auto* first = static_cast<const std::byte*>(empty.data());
    identity.assign(first, first + empty.size());
  }
};

const Compiled& at(const void* context) { return *static_cast<const Compiled*>(context); }

void copy_identity(const void* context, void* out) {
  std::memcpy(out, at(context).identity.data(), at(context).identity.size());
}

bool same_fields(const void* context, const void* a, const void* b) {
  const auto* left = static_cast<const std::byte*>(a);
  const auto* right = static_cast<const std::byte*>(b);
  for (const Field& field : at(context).state) {  // not the padding between them
    if (std::memcmp(left + field.offset, right + field.offset, field.bytes) != 0) return false;
  }
  return true;
}

// The fields, one after the other: what lies between them is not saved.
void save_fields(const void* context, const void* state, Saver& saver) {
  const auto* from = static_cast<const std::byte*>(state);
  for (const Field& field : at(context).state) {
    field.typed([&](auto typed) {
      std::memcpy(&typed, from + field.offset, sizeof(typed));
      saver(typed);
    });
  }
}

void load_fields(const void* context, void* out, Loader& loader) {
  auto* to = static_cast<std::byte*>(out);
  std::memset(to, 0, at(context).state_bytes);
  for (const Field& field : at(context).state) {
    field.typed([&](auto typed) {
      loader(typed);
      std::memcpy(to + field.offset, &typed, sizeof(typed));
    });
  }
}

// The addresses lie in the table; those that count go round by these.
void count(const void* context) { at(context).combines->fetch_add(1, std::memory_order_relaxed); }
void counted_combine(const void* context, const void* older, const void* newer, void* out) {
  count(context);
  at(context).combine(context, older, newer, out);
}
void counted_remove(const void* context, const void* whole, const void* older, void* out) {
  count(context);
  at(context).remove(context, whole, older, out);
}
bool counted_newer_wins(const void* context, const void* older, const void* newer) {
  count(context);
  return at(context).newer_wins(context, older, newer);
}

// Room for states beyond what a DynOp keeps in its slots.
template <std::size_t kBytes>
void in_rooms_of(Algebra& algebra) {
  algebra.allocate = [] { return ::operator new(kBytes); };
  algebra.release = [](void* room) { ::operator delete(room); };
  algebra.copy = [](const void* from, void* out) { std::memcpy(out, from, kBytes); };
  algebra.destroy = [](void*) {};
}

constexpr std::size_t kLargest = 4096;

void rooms(std::size_t bytes, Algebra& algebra) {
  if (bytes <= 64) return in_rooms_of<64>(algebra);
  if (bytes <= 128) return in_rooms_of<128>(algebra);
  if (bytes <= 256) return in_rooms_of<256>(algebra);
  if (bytes <= 1024) return in_rooms_of<1024>(algebra);
  if (bytes <= kLargest) return in_rooms_of<kLargest>(algebra);
  fail("OperatorError", "a compiled state has at most " + std::to_string(kLargest) +
                            " bytes, got " + std::to_string(bytes));
}

// Room on the stack for what is handed to a compiled function: inputs and results of one row.
struct alignas(16) Scratch {
  explicit Scratch(std::size_t bytes) {
    if (bytes > sizeof(own)) more = std::make_unique<std::byte[]>(bytes);
  }
  std::byte* get() { return more ? more.get() : own; }
  std::byte own[128];
  std::unique_ptr<std::byte[]> more;
};

void lift_object(const void* context, PyObject* value, void* out) {
  const Compiled& op = at(context);
  Scratch scratch(op.input_bytes);
  if (op.inputs.size() == 1) {
    from_python(op.inputs[0], value, scratch.get());
  } else {
    const auto columns = static_cast<Py_ssize_t>(op.inputs.size());
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != columns) {
      std::string names;
      for (const Field& input : op.inputs) names += (names.empty() ? "" : ", ") + input.name;
      fail("ValueTypeError", "expected a tuple (" + names + "), got " + shown(value));
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      from_python(op.inputs[i], PyTuple_GET_ITEM(value, static_cast<Py_ssize_t>(i)), scratch.get());
    }
  }
  op.lift(context, scratch.get(), out);
}

// Each column holds the values of an input in the type of its field.
void lift_fields(const engine::Part& part, const void* const* columns, std::int32_t row,
                 void* out) {
  const Compiled& op = at(part.context.get());
  Scratch scratch(op.input_bytes);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    std::memcpy(scratch.get() + op.inputs[i].offset,
                static_cast<const engine::Word*>(columns[i]) + row, op.inputs[i].bytes);
  }
  op.lift(&op, scratch.get(), out);
}

// The bytes of a result, as the array of results has them.
bool lower_fields(const void* context, const void* state, Lowered& out) {
  const Compiled& op = at(context);
  out.text.resize(op.result_bytes);
  op.lower(context, state, out.text.data());
  return true;
}

PyObject* lower_object(const void* context, const void* state, bool empty) {
  if (empty) return Py_NewRef(Py_None);
  const Compiled& op = at(context);
  Scratch scratch(op.result_bytes);
  op.lower(context, state, scratch.get());
  if (op.one_result) {
    PyObject* result = to_python(op.results[0], scratch.get());
    if (result == nullptr) throw nb::python_error();
    return result;
  }
  nb::dict result;
  for (const Field& field : op.results) {
    result[field.name.c_str()] = nb::steal(to_python(field, scratch.get()));
  }
  return result.release().ptr();
}

// Columns that Python has checked: arrays of the right types, aligned, contiguous, equally long.
class CompiledColumns final : public ErasedColumns {
  using Array = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  using Results = nb::ndarray<nb::c_contig, nb::device::cpu>;

 public:
  CompiledColumns(const Compiled& op, nb::handle values, ResultCount count) : op_(op) {
    for (nb::handle column : op.open(values)) {
      arrays_.push_back(nb::cast<Array>(column));
      inputs_.push_back(arrays_.back().data());
    }
    rows_ = arrays_[0].shape(0);
    const nb::object made = op.make_results(count.of(rows_));  // the array, and its bytes
    results_ = made[0];
    bytes_ = nb::cast<Results>(made[1]);
    out_ = static_cast<std::byte*>(bytes_.data());
  }
  std::size_t rows() const override { return rows_; }
  bool needs_gil() const override { return false; }
  bool null(std::size_t) const override { return false; }  // arrays have none
  bool any_null() const override { return false; }
  void refuse_nulls() const override {}
  void lower_empty(std::size_t row) override { blank(row); }
  void lift(std::size_t row, void* out) const override {
    Scratch scratch(op_.input_bytes);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Field& field = op_.inputs[i];
      std::memcpy(scratch.get() + field.offset,
                  static_cast<const std::byte*>(inputs_[i]) + row * field.bytes, field.bytes);
    }
    op_.lift(&op_, scratch.get(), out);
  }
  void lower(std::size_t row, const void* state) override {
    op_.lower(&op_, state, out_ + row * op_.result_bytes);
  }
  bool lower_or_blank(std::size_t row, const void* state, bool empty) override {
    empty ? blank(row) : lower(row, state);
    return !empty;
  }
  void blank(std::size_t row) override {
    std::memset(out_ + row * op_.result_bytes, 0, op_.result_bytes);
  }
  nb::object finish() override { return results_; }

  // All rows by the operator's own loop.
  nb::object slide(std::size_t window) {
    if (rows_ == 0) return results_;
    const auto loop = reinterpret_cast<Slide>(nb::cast<std::uintptr_t>(op_.slide_address()));
    const std::size_t span = std::min(window, rows_);
    struct alignas(16) Block {
      std::byte bytes[16];
    };
    Buffer<Block> folds(window < rows_ ? (span * op_.state_bytes + 15) / 16 : 0);
    {
      nb::gil_scoped_release without_gil;
      loop(inputs_.data(), static_cast<std::int64_t>(rows_), static_cast<std::int64_t>(span),
           folds.data(), out_);
    }
    return results_;
  }

 private:
  const Compiled& op_;
  std::vector<Array> arrays_;
  std::vector<const void*> inputs_;
  std::size_t rows_ = 0;
  nb::object results_;
  Results bytes_;
  std::byte* out_ = nullptr;
};

PortTable table_of(const Compiled& op, bool exact) {
  const bool counted = op.combines != nullptr;
  PortTable table{};
  Algebra& algebra = table.algebra;
  algebra.size = op.state_bytes;
  algebra.plain = true;
  algebra.identity = copy_identity;
  algebra.combine = counted ? counted_combine : op.combine;
  if (op.remove != nullptr) algebra.remove = counted ? counted_remove : op.remove;
  if (op.newer_wins != nullptr) {
    algebra.newer_wins = counted ? counted_newer_wins : op.newer_wins;
  }
  if (exact) algebra.same = same_fields;
  algebra.save = save_fields;
  algebra.load = load_fields;
  rooms(op.state_bytes, algebra);
  table.may_fail = [](const void*) { return false; };
  table.holds_objects = [](const void*) { return false; };
  table.visit_objects = [](const void*, const void*, ObjectVisitor&) {};
  table.is_null = [](const void*, PyObject* value) {
    if (!PyTuple_Check(value)) return value == Py_None;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
      if (PyTuple_GET_ITEM(value, i) == Py_None) return true;
    }
    return false;
  };
  table.lift = lift_object;
  table.lower = lower_object;
  table.lift_words = lift_fields;
  table.lower_words = lower_fields;
  table.lowers = Lowers::kText;
  table.columns = [](const void* context, nb::handle values,
                     ResultCount count) -> std::unique_ptr<ErasedColumns> {
    return std::make_unique<CompiledColumns>(at(context), values, count);
  };
  if (!counted) {
    table.slide = [](const void* context, nb::handle values, std::size_t window) {
      return CompiledColumns(at(context), values, 1).slide(window);
    };
  }
  return table;
}

}  // namespace

Traits compiled_traits(const Spec& spec) {
  return {function<void*>(spec, "remove") != nullptr,
          function<void*>(spec, "newer_wins") != nullptr,
          nb::cast<bool>(spec.params["commutative"]), false,
          static_cast<std::size_t>(spec.number("state_bytes"))};
}

ErasedOperator erase_compiled(const Spec& spec, bool counted) {
  auto op = std::make_shared<Compiled>(spec);
  if (counted) op->combines = std::make_shared<std::atomic<std::int64_t>>(0);
  // Float sums depend on how they are grouped, so that check() cannot ask for equal states.
  const bool exact = op->newer_wins != nullptr ||
                     std::none_of(op->state.begin(), op->state.end(),
                                  [](const Field& field) { return field.kind == 'f'; });
  op->table = table_of(*op, exact);
  return {{&op->table.algebra, op}, true, op->state_bytes, op->combines};
}

}  // namespace slidefold::bindings
