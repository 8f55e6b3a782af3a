// Expressions of one row, as Python sees them: over Arrow columns, or over the values of one row.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "expressions_in.hpp"
#include "slidefold/engine/expression_steps.hpp"
#include "turns.hpp"

namespace slidefold::bindings {

using engine::Expressions;

const ArrowSchema& schema_in(nb::handle capsule) {
  auto* schema = static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_schema"));
  if (schema == nullptr) throw nb::python_error();
  return *schema;
}

engine::Type type_in(const ArrowSchema& schema) {
  const auto type = engine::type_of(schema);
  if (!type) fail("ValueTypeError", std::string("the engine has no columns of ") + schema.format);
  return *type;
}

void fail_at(const char* kind, const std::string& sentence, std::size_t row) {
  const nb::object made = nb::module_::import_("slidefold.errors").attr(kind)(sentence);
  const nb::object error = made.attr("at")(row);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

nb::object exported(engine::Column batch) {
  auto* schema = new ArrowSchema;
  auto* array = new ArrowArray;
  engine::arrow_detail::export_schema(batch, schema);
  engine::arrow_detail::export_array(std::move(batch), array);
  const nb::object schema_capsule =
      nb::steal(PyCapsule_New(schema, "arrow_schema", [](PyObject* c) {
        auto* held = static_cast<ArrowSchema*>(PyCapsule_GetPointer(c, "arrow_schema"));
        if (held->release != nullptr) held->release(held);
        delete held;
      }));
  const nb::object array_capsule = nb::steal(PyCapsule_New(array, "arrow_array", [](PyObject* c) {
    auto* held = static_cast<ArrowArray*>(PyCapsule_GetPointer(c, "arrow_array"));
    if (held->release != nullptr) held->release(held);
    delete held;
  }));
  return nb::make_tuple(schema_capsule, array_capsule);
}

void MadeColumn::take(const Expressions& expressions, std::size_t rows, engine::Pool& pool) {
  const Expressions::Register& held = expressions.registers[from];
  const bool text = type.kind == engine::Kind::kText;
  for (std::size_t i = 0; i < rows; ++i) {
    const bool some = held.valid[i] != 0;
    valid.push_back(some ? 1 : 0);
    if (!some) {
      words.push_back(0);
    } else if (type.kind == engine::Kind::kDecimal) {
      const std::array<Word, 2> both{held.words[i], held.upper[i]};
      words.push_back(pool.add({reinterpret_cast<const char*>(both.data()), sizeof both}));
    } else {
      words.push_back(text ? pool.add(engine::text_of(held.words[i])) : held.words[i]);
    }
  }
}

engine::Column MadeColumn::column() const {
  engine::Column column = engine::column_of(format, type, words, valid);
  column.name = name;
  return column;
}

PyObject* MadeColumn::object(std::size_t row) const {
  if (valid[row] == 0) Py_RETURN_NONE;
  return object_of(type, format, words[row]);
}

namespace {

void add_step(Expressions& expressions, nb::handle given) {
  Expressions::Step step;
  step.run = Expressions::find(nb::cast<std::string>(given["code"]));
  step.a = nb::cast<std::uint32_t>(given["a"]);
  step.b = nb::cast<std::uint32_t>(given["b"]);
  step.number = nb::cast<std::int64_t>(given["number"]);
  step.text = nb::cast<std::string>(given["text"]);
  for (const nb::handle value : nb::object(given["values"])) {
    if (PyFloat_Check(value.ptr())) {
      const double real = PyFloat_AS_DOUBLE(value.ptr());
      step.words.insert(std::bit_cast<Word>(real == 0 ? 0.0 : real));
    } else if (PyLong_Check(value.ptr())) {
      step.words.insert(static_cast<Word>(nb::cast<std::int64_t>(value)));
    } else {
      const nb::bytes bytes = nb::cast<nb::bytes>(value);
      step.texts.insert(std::string(bytes.c_str(), bytes.size()));
    }
  }
  expressions.add(std::move(step), nb::cast<bool>(given["wide"]));
}

void add_constant(Expressions& expressions, nb::handle value) {
  if (value.is_none()) return expressions.add_constant(0, 0, false);
  if (PyFloat_Check(value.ptr())) {
    return expressions.add_constant(std::bit_cast<Word>(PyFloat_AS_DOUBLE(value.ptr())), 0, true);
  }
  if (PyBytes_Check(value.ptr())) {
    const nb::bytes bytes = nb::cast<nb::bytes>(value);
    return expressions.add_constant(expressions.add_text({bytes.c_str(), bytes.size()}), 0, true);
  }
  if (PyTuple_Check(value.ptr())) {  // a decimal: its lower and its upper half
    const auto half = [&](std::size_t i) { return nb::cast<std::uint64_t>(nb::object(value[i])); };
    return expressions.add_constant(half(0), half(1), true);
  }
  expressions.add_constant(static_cast<Word>(nb::cast<std::int64_t>(value)), 0, true);
}

}  // namespace

void read_program(ExpressionProgram& program, nb::handle given) {
  Expressions& expressions = program.expressions;
  expressions.inputs = nb::cast<std::size_t>(given["inputs"]);
  expressions.registers.resize(expressions.inputs);
  for (const nb::handle step : nb::object(given["steps"])) {
    if (nb::cast<std::string>(step["code"]) == "constant") {
      add_constant(expressions, step["value"]);
    } else {
      add_step(expressions, step);
    }
  }
  for (const nb::handle one : nb::object(given["outputs"])) {
    MadeColumn made;
    made.name = nb::cast<std::string>(one["name"]);
    made.from = nb::cast<std::uint32_t>(one["from"]);
    const nb::object capsule = one["type"];
    made.type = type_in(schema_in(capsule));
    made.format = schema_in(capsule).format;
    if (made.from >= expressions.registers.size()) {
      throw std::invalid_argument("expressions I1: an output reads what is not written");
    }
    program.made.push_back(std::move(made));
  }
}

void run_program(ExpressionProgram& program, const std::vector<const Input*>& inputs,
                 std::size_t rows, engine::Pool& pool) {
  Expressions& expressions = program.expressions;
  for (MadeColumn& made : program.made) {
    made.words.clear();
    made.valid.clear();
    made.words.reserve(rows);
    made.valid.reserve(rows);
  }
  for (std::size_t first = 0; first < rows; first += Expressions::kBlock) {
    const std::size_t count = std::min(Expressions::kBlock, rows - first);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      expressions.registers[i].words = inputs[i]->words.data() + first;
      expressions.registers[i].valid = inputs[i]->valid.data() + first;
      expressions.registers[i].holes = true;
    }
    expressions.run(count, first);
    for (MadeColumn& made : program.made) made.take(expressions, count, pool);
  }
}

namespace {

// Expressions over columns of given types.
struct RowExpressions {
  Turns turns;
  std::vector<Input> inputs;
  std::vector<const Input*> read;
  std::vector<nb::str> keys;  // the names of the inputs; they may hold a NUL
  ExpressionProgram program;
  engine::Pool pool;

  explicit RowExpressions(nb::dict given) {
    for (const nb::handle one : nb::object(given["columns"])) {
      Input input;
      input.name = nb::cast<std::string>(one["name"]);
      input.column = nb::cast<std::size_t>(one["column"]);
      const nb::object capsule = one["type"];
      input.type = type_in(schema_in(capsule));
      input.format = schema_in(capsule).format;
      inputs.push_back(std::move(input));
    }
    for (const Input& input : inputs) {
      read.push_back(&input);
      keys.push_back(nb::str(input.name.data(), input.name.size()));
    }
    read_program(program, given);
    if (program.expressions.inputs != inputs.size()) {
      throw std::invalid_argument("expressions: each input needs a column");
    }
  }

  void run(std::size_t rows) {
    try {
      run_program(program, read, rows, pool);
    } catch (const engine::ExpressionError& error) {
      fail_at("ResultOverflowError", error.sentence, error.row);
    }
  }

  // A block of an input: as it lies there, if it can be, else its words.
  void read_block(std::size_t i, const ArrowArray& array, engine::Pool& texts, std::size_t first,
                  std::size_t rows) {
    Input& input = inputs[i];
    Expressions::Register& held = program.expressions.registers[i];
    const bool direct = input.type.width == 8 && !input.type.dictionary &&
                        (input.type.layout == 'i' || input.type.layout == 'f') &&
                        input.type.kind != engine::Kind::kDecimal;
    const std::int64_t at = array.offset + static_cast<std::int64_t>(first);
    if (direct && array.null_count == 0) {
      held.words = static_cast<const Word*>(array.buffers[1]) + at;
      held.valid = Expressions::ones();
      held.holes = false;
      return;
    }
    ArrowArray block = array;
    block.offset = at;
    block.length = static_cast<std::int64_t>(rows);
    engine::ArrowColumn(input.type, block).read(texts, input.words, input.valid);
    held.words = input.words.data();
    held.valid = input.valid.data();
    held.holes = array.null_count != 0;
  }

  nb::object columns(nb::handle capsule) {
    const Turn turn(turns);
    auto* batch = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array"));
    if (batch == nullptr) throw nb::python_error();
    const auto rows = static_cast<std::size_t>(batch->length);
    engine::Column out;
    out.format = "+s";
    out.length = batch->length;
    try {
      const nb::gil_scoped_release without_gil;
      out.children = evaluated(*batch, rows);
    } catch (const engine::ExpressionError& error) {
      fail_at("ResultOverflowError", error.sentence, error.row);
    }
    return exported(std::move(out));
  }

  std::vector<engine::Column> evaluated(const ArrowArray& batch, std::size_t rows) {
    Expressions& expressions = program.expressions;
    std::vector<engine::Column> found(program.made.size());
    // Whole numbers, times and floats are written where they go.
    std::size_t written = 0;
    std::vector<bool> direct(found.size(), false);
    std::vector<bool> taken(expressions.registers.size(), false);
    for (std::size_t k = 0; k < found.size(); ++k) {
      MadeColumn& made = program.made[k];
      made.words.clear();
      made.valid.clear();
      const bool plain = made.type.width == 8 &&
                         (made.type.layout == 'i' || made.type.layout == 'f') &&
                         made.type.kind != engine::Kind::kDecimal;
      const bool own = made.from >= expressions.inputs &&
                       !expressions.registers[made.from].constant && !taken[made.from];
      if (!plain || !own) continue;
      direct[k] = taken[made.from] = true;
      written += rows * sizeof(Word);
      found[k].format = made.format;
      found[k].name = made.name;
      found[k].length = static_cast<std::int64_t>(rows);
      found[k].buffers.emplace_back(rows * sizeof(Word));
    }
    const Targets targets{expressions};
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (!direct[k] || written < kPastCaches || found[k].buffers[0].size() < LargeMemory::kLeast) {
        continue;  // small blocks may not lie at multiples of 32 bytes
      }
      Expressions::Register& held = expressions.registers[program.made[k].from];
      held.past_caches = !expressions.is_read(program.made[k].from);
    }
    engine::Pool kept;
    for (std::size_t first = 0; first < rows; first += Expressions::kBlock) {
      const std::size_t count = std::min(Expressions::kBlock, rows - first);
      engine::Pool texts;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        read_block(i, *batch.children[inputs[i].column], texts, first, count);
      }
      for (std::size_t k = 0; k < found.size(); ++k) {
        if (!direct[k]) continue;
        expressions.registers[program.made[k].from].target =
            reinterpret_cast<Word*>(found[k].buffers[0].data()) + first;
      }
      expressions.run(count, first);
      for (std::size_t k = 0; k < found.size(); ++k) {
        if (!direct[k]) {
          program.made[k].take(expressions, count, kept);
          continue;
        }
        const Expressions::Register& held = expressions.registers[program.made[k].from];
        if (!held.holes) continue;
        for (std::size_t i = 0; i < count; ++i) {
          if (held.valid[i] != 0) continue;
          found[k].set_null(first + i);
          std::memset(found[k].buffers[0].data() + (first + i) * sizeof(Word), 0, sizeof(Word));
        }
      }
    }
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (!direct[k]) found[k] = program.made[k].column();
    }
    return found;
  }

  static constexpr std::size_t kPastCaches = std::size_t{16} << 20;  // they would not hold it

  // Lets steps write to their own words again.
  struct Targets {
    Expressions& expressions;
    ~Targets() {
      for (Expressions::Register& held : expressions.registers) {
        held.target = nullptr;
        held.past_caches = false;
      }
    }
  };

  // The values of one row by name; columns that it lacks are null.
  nb::dict row(const nb::dict& values) {
    const Turn turn(turns);
    if (pool.size() > 4096) pool.sweep();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Input& input = inputs[i];
      PyObject* const value = PyDict_GetItemWithError(values.ptr(), keys[i].ptr());
      if (value == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
      const bool some = value != nullptr && value != Py_None;
      input.valid.assign(1, some ? 1 : 0);
      input.words.assign(1, some ? word_of(pool, input, value) : Word{0});
    }
    run(1);
    nb::dict found;
    for (const MadeColumn& made : program.made) {
      found[nb::str(made.name.data(), made.name.size())] = nb::steal(made.object(0));
    }
    return found;
  }
};

}  // namespace

void bind_expressions(nb::module_& m) {
  nb::class_<RowExpressions>(m, "Expressions")
      .def(nb::init<nb::dict>(), nb::arg("program"))
      .def("columns", &RowExpressions::columns, nb::arg("batch"))
      .def("row", &RowExpressions::row, nb::arg("values"));
}

}  // namespace slidefold::bindings
