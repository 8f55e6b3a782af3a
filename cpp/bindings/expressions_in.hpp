// Expressions that Python has compiled into plain values.
#pragma once

#include "engine_inputs.hpp"
#include "slidefold/engine/arrow_out.hpp"
#include "slidefold/engine/expressions.hpp"

namespace slidefold::bindings {

// What a register becomes: a column of a type.
struct MadeColumn {
  std::string name;
  std::uint32_t from = 0;  // the register
  engine::Type type;
  std::string format;
  std::vector<Word> words;
  std::vector<std::uint8_t> valid;

  // Copies what the register holds; texts go to a pool that outlives them.
  void take(const engine::Expressions& expressions, std::size_t rows, engine::Pool& pool);
  engine::Column column() const;
  PyObject* object(std::size_t row) const;  // a new reference
};

// Expressions, and the columns that they make.
struct ExpressionProgram {
  engine::Expressions expressions;
  std::vector<MadeColumn> made;
};

// The schema of a capsule, and its description of a column.
const ArrowSchema& schema_in(nb::handle capsule);
engine::Type type_in(const ArrowSchema& schema);

// Reads {"inputs": number, "steps": [...], "outputs": [...]}.
void read_program(ExpressionProgram& program, nb::handle given);

// Runs the expressions over columns of words, block by block.
void run_program(ExpressionProgram& program, const std::vector<const Input*>& inputs,
                 std::size_t rows, engine::Pool& pool);

[[noreturn]] void fail_at(const char* kind, const std::string& sentence, std::size_t row);

// The capsules of a record batch.
nb::object exported(engine::Column batch);

// A value of Python as a word of a column.
Word word_of(engine::Pool& pool, const Input& input, PyObject* value);

}  // namespace slidefold::bindings
