// Expressions of one row: arithmetic, comparisons and conditions over columns of words.
//
// Layout: registers, each a block of words with a validity byte per row, and steps that read one or
//   two registers and write another. Blocks have room for as many rows as a run has needed, at most
//   kBlock. The first registers are the inputs, which lie elsewhere; constants are registers that
//   are written once. A decimal has a second word per row, its upper half.
// Invariants: I1 a step reads registers with smaller numbers than the one that it writes. I2 a row
//   without a value takes part in no error.
// Cost: O(steps x rows), in blocks that stay in the cache; no memory per row.
// Paper: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "slidefold/engine/arrow.hpp"
#include "slidefold/operators/whole.hpp"

namespace slidefold::engine {

// Thrown for a value that an expression cannot give.
struct ExpressionError {
  std::string sentence;
  std::size_t row;
};

class Expressions {
 public:
  // So that the registers of a step stay in the cache. Five formulas x / y - 1 of 1M rows: 3.8 ms
  // with 1,024 rows, 3.4 with 2,048.
  static constexpr std::size_t kBlock = 2048;

  struct Register {
    const Word* words = nullptr;
    const Word* upper = nullptr;  // of decimals
    const std::uint8_t* valid = nullptr;
    bool constant = false;
    bool holes = true;  // whether a row of the block may have no value; if not, valid is all ones
    std::vector<Word> own_words, own_upper;
    std::vector<std::uint8_t> own_valid;
    Word* target = nullptr;    // where a step writes, if not to its own words
    bool past_caches = false;  // whether nobody reads soon what is written there
    bool wide = false;         // whether it has upper halves

    void resize(std::size_t rows) {
      own_words.resize(rows, constant ? own_words[0] : Word{0});
      own_valid.resize(rows, constant ? own_valid[0] : std::uint8_t{0});
      if (wide) own_upper.resize(rows, constant ? own_upper[0] : Word{0});
    }
  };

  struct Step;
  using Run = void (*)(const Step&, Expressions&, std::size_t rows);
  struct Step {
    Run run = nullptr;
    std::uint32_t out = 0, a = 0, b = 0;
    std::int64_t number = 0;  // what the step multiplies by, or divides by
    std::string text;         // the expression, for errors
    std::unordered_set<Word> words;
    std::unordered_set<std::string> texts;
  };

  std::size_t inputs = 0;
  std::vector<Register> registers;
  std::vector<Step> steps;

  // A register that steps write.
  void add(Step step, bool wide) {
    registers.emplace_back();
    Register& out = registers.back();
    out.wide = wide;
    out.resize(room_);
    step.out = static_cast<std::uint32_t>(registers.size() - 1);
    if (step.a >= step.out || step.b >= step.out) {
      throw std::invalid_argument("expressions I1: a step reads what is not written yet");
    }
    steps.push_back(std::move(step));
  }
  // A register with one value in all rows.
  void add_constant(Word word, Word upper, bool valid) {
    registers.emplace_back();
    Register& out = registers.back();
    out.own_words.assign(room_, word);
    out.own_upper.assign(room_, upper);
    out.own_valid.assign(room_, valid ? 1 : 0);
    out.holes = !valid;
    out.wide = true;
    out.constant = true;
  }
  Word add_text(std::string_view text) { return constants_->add(text); }

  // Runs all steps for rows that the input registers hold; `first` is the number of the first row.
  void run(std::size_t rows, std::size_t first) {
    first_ = first;
    if (rows > room_) make_room(rows);
    if (texts_->size() > kBlock) texts_ = std::make_unique<Pool>();  // of blocks before this one
    for (std::size_t r = inputs; r < registers.size(); ++r) {
      Register& own = registers[r];
      own.words = own.target != nullptr ? own.target : own.own_words.data();
      own.upper = own.own_upper.data();
      own.valid = own.own_valid.data();
      if (!own.constant) own.holes = true;  // unless a step says otherwise
    }
    for (const Step& step : steps) step.run(step, *this, rows);
  }

  // Whether a step reads a register.
  bool is_read(std::uint32_t r) const {
    return std::any_of(steps.begin(), steps.end(),
                       [&](const Step& step) { return step.a == r || step.b == r; });
  }

  static Run find(const std::string& name);

  // ---- for steps

  const Word* words(std::uint32_t r) const { return registers[r].words; }
  const std::uint8_t* valid(std::uint32_t r) const { return registers[r].valid; }
  int128 wide(std::uint32_t r, std::size_t i) const {
    return static_cast<int128>(static_cast<uint128>(registers[r].upper[i]) << 64 |
                               registers[r].words[i]);
  }
  Word* out(const Step& step) { return const_cast<Word*>(registers[step.out].words); }
  // All rows of a block have a value.
  static const std::uint8_t* ones() {
    static const std::vector<std::uint8_t> all(kBlock, 1);
    return all.data();
  }
  void set_full(const Step& step) {
    registers[step.out].valid = ones();
    registers[step.out].holes = false;
  }
  Word* out_upper(const Step& step) { return registers[step.out].own_upper.data(); }
  std::uint8_t* out_valid(const Step& step) { return registers[step.out].own_valid.data(); }
  void put(const Step& step, std::size_t i, int128 value) {
    out(step)[i] = static_cast<Word>(static_cast<uint128>(value));
    out_upper(step)[i] = static_cast<Word>(static_cast<uint128>(value) >> 64);
  }
  Pool& texts() { return *texts_; }
  [[noreturn]] void fail(const Step& step, std::size_t i, const char* what) const {
    throw ExpressionError{step.text + " " + what, first_ + i};
  }

 private:
  // Runs that see one row at a time need no blocks.
  void make_room(std::size_t rows) {
    room_ = std::min(kBlock, std::max(rows, 2 * room_));
    for (std::size_t r = inputs; r < registers.size(); ++r) registers[r].resize(room_);
  }

  std::size_t room_ = 1;  // rows that registers have room for
  std::unique_ptr<Pool> constants_ = std::make_unique<Pool>();
  std::unique_ptr<Pool> texts_ = std::make_unique<Pool>();  // that steps have made
  std::size_t first_ = 0;
};

}  // namespace slidefold::engine
