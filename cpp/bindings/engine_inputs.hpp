// What the engine of arrival order reads: Arrow columns or the values of one row, as words.
#pragma once

#include <optional>

#include "python.hpp"
#include "slidefold/engine/arrow.hpp"
#include "slidefold/engine/engine.hpp"
#include "slidefold/operators/whole.hpp"

namespace slidefold::bindings {

using engine::Word;

// How a column is stored beside, or instead of, its own words.
enum class Reading : std::uint8_t {
  kRaw,      // as it is
  kFlag,     // 1 where there is a value
  kReal,     // as a float
  kShifted,  // a uint64 less 2^63
  kLatin,    // bytes as a text of the characters with these codes
  kCode,     // a number in the type of a declared field
  kOrdered,  // the bytes of a decimal of more than 18 digits in its order, as kLatin
  kDigits,   // the same as digits, one length for all
};

struct Stored {
  std::uint32_t input;
  Reading reading;
  char code = 0;  // i u f b
  std::uint8_t bytes = 8;
  std::string complaint;  // the message for a value that does not fit
};

struct Input {
  std::string name;
  std::size_t column;  // of a batch
  engine::Type type;
  std::string format;
  std::vector<Word> words;
  std::vector<std::uint8_t> valid;
  bool holes = false;
};

// The values of one batch, or of one row.
class Inputs {
 public:
  std::vector<Input> inputs;
  std::size_t given_inputs = 0;  // those after them are made of them
  std::vector<Stored> stored;
  std::vector<std::vector<std::uint32_t>> presences;  // the inputs that must have a value
  std::vector<std::uint32_t> keys;
  std::uint32_t time = 0;
  std::uint32_t number = engine::kNoColumn;

  void read(engine::Pool& pool, const ArrowArray& batch) {
    count_ = static_cast<std::size_t>(batch.length);
    for (std::size_t i = 0; i < given_inputs; ++i) {
      Input& input = inputs[i];
      const ArrowArray& array = *batch.children[input.column];
      engine::ArrowColumn(input.type, array).read(pool, input.words, input.valid);
      input.holes = array.null_count != 0 || input.type.dictionary || input.type.layout == 'n';
    }
  }
  // One row: a value per input, null for None.
  void read_row(engine::Pool& pool, const std::vector<PyObject*>& values);

  // Words by stored column, masks and keys; numbers are those of arrival.
  engine::Engine::Given given(engine::Pool& pool, std::uint64_t first_number);
  std::size_t count() const { return count_; }
  // A row of a stored column, once it is given.
  Word stored_word(std::uint32_t column, std::size_t row) const {
    const bool raw = stored[column].reading == Reading::kRaw;
    return raw ? inputs[stored[column].input].words[row] : converted_[column][row];
  }
  const std::vector<engine::Time>& times() const { return times_; }
  // A key is a word per column, and bits that tell which of them are null.
  std::size_t key_words() const { return keys.size() + keys.size() / 64 + 1; }
  bool has_key(const Word* key, std::size_t k) const {
    return (key[keys.size() + k / 64] >> (k % 64) & 1) == 0;
  }
  bool has_holes(std::size_t presence) const {
    for (const std::uint32_t input : presences[presence]) {
      if (inputs[input].holes) return true;
    }
    return false;
  }

 private:
  void convert(engine::Pool& pool, const Stored& stored, std::vector<Word>& out) const;

  std::size_t count_ = 0;
  std::vector<engine::Time> times_;
  std::vector<std::vector<Word>> converted_;
  std::vector<Word> numbers_, keys_;
  std::vector<const void*> columns_;
  std::vector<std::uint8_t> masks_;
};

// Bytes as a text of the characters with these codes, which states can hold. And back.
std::string latin_text(std::string_view bytes);
std::string latin_bytes(std::string_view text);
// The bytes of a decimal in its order, the sign first and not last, as such a text. And back.
std::string ordered_text(std::string_view decimal);
std::string decimal_bytes(std::string_view text);

// A value of a column as a Python object; a new reference.
PyObject* object_of(const engine::Type& type, const std::string& format, Word word);

}  // namespace slidefold::bindings
