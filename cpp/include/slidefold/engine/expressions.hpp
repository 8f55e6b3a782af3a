// Expressions of one row: arithmetic, comparisons and conditions over columns of words.
//
// Layout: registers, each a block of words with a validity byte per row, and steps that read one or
//   two registers and write another. The first registers are the inputs, which lie elsewhere;
//   constants are registers that are written once. A decimal has a second word per row, its upper
//   half.
// Invariants: I1 a step reads registers with smaller numbers than the one that it writes. I2 a row
//   without a value takes part in no error.
// Cost: O(steps x rows), in blocks that stay in the cache; no memory per row.
// Paper: none.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
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
  static constexpr std::size_t kBlock = 512;  // so that the registers of a step stay in the cache

  struct Register {
    const Word* words = nullptr;
    const Word* upper = nullptr;  // of decimals
    const std::uint8_t* valid = nullptr;
    bool constant = false;
    bool holes = true;  // whether a row of the block may have no value; if not, valid is all ones
    std::vector<Word> own_words, own_upper;
    std::vector<std::uint8_t> own_valid;
    Word* target = nullptr;  // where a step writes, if not to its own words
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
    out.own_words.resize(kBlock);
    out.own_valid.resize(kBlock);
    if (wide) out.own_upper.resize(kBlock);
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
    out.own_words.assign(kBlock, word);
    out.own_upper.assign(kBlock, upper);
    out.own_valid.assign(kBlock, valid ? 1 : 0);
    out.holes = !valid;
    out.constant = true;
  }
  Word add_text(std::string_view text) { return constants_->add(text); }

  // Runs all steps for rows that the input registers hold; `first` is the number of the first row.
  void run(std::size_t rows, std::size_t first) {
    first_ = first;
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
  std::unique_ptr<Pool> constants_ = std::make_unique<Pool>();
  std::unique_ptr<Pool> texts_ = std::make_unique<Pool>();  // that steps have made
  std::size_t first_ = 0;
};

namespace expression_detail {

using Step = Expressions::Step;

inline constexpr const char* kTooLarge = "does not fit in a signed 64-bit integer";
inline constexpr const char* kTooLong = "has more than 38 digits";

template <class T>
T from(Word word) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    return text_of(word);
  } else {
    return std::bit_cast<T>(word);
  }
}
template <class T>
Word to(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else {
    return std::bit_cast<Word>(value);
  }
}

inline void both_valid(const Step& step, Expressions& e, std::size_t rows) {
  if (!e.registers[step.a].holes && !e.registers[step.b].holes) return e.set_full(step);
  const std::uint8_t *a = e.valid(step.a), *b = e.valid(step.b);
  std::uint8_t* const out = e.out_valid(step);
  for (std::size_t i = 0; i < rows; ++i) out[i] = a[i] & b[i];
}

inline void same_valid(const Step& step, Expressions& e, std::size_t rows) {
  if (!e.registers[step.a].holes) return e.set_full(step);
  std::copy_n(e.valid(step.a), rows, e.out_valid(step));
}

// A function of one or two words that cannot fail.
template <class In, class Fn>
void unary(const Step& step, Expressions& e, std::size_t rows) {
  const Word* const __restrict a = e.words(step.a);
  Word* const __restrict out = e.out(step);
  same_valid(step, e, rows);
  if constexpr (std::is_same_v<In, std::string_view>) {
    for (std::size_t i = 0; i < rows; ++i) {
      if (e.valid(step.out)[i] != 0) out[i] = to(Fn{}(from<In>(a[i])));
    }
  } else {
    for (std::size_t i = 0; i < rows; ++i) out[i] = to(Fn{}(from<In>(a[i])));
  }
}
template <class In, class Fn>
void binary(const Step& step, Expressions& e, std::size_t rows) {
  const Word* const __restrict a = e.words(step.a);
  const Word* const __restrict b = e.words(step.b);
  Word* const __restrict out = e.out(step);
  both_valid(step, e, rows);
  if constexpr (std::is_same_v<In, std::string_view>) {
    const std::uint8_t* const valid = e.valid(step.out);
    for (std::size_t i = 0; i < rows; ++i) {
      if (valid[i] != 0) out[i] = to(Fn{}(from<In>(a[i]), from<In>(b[i])));
    }
  } else {
    for (std::size_t i = 0; i < rows; ++i) out[i] = to(Fn{}(from<In>(a[i]), from<In>(b[i])));
  }
}
// A function of whole numbers that tells whether its result does not fit.
template <class Fn>
void checked(const Step& step, Expressions& e, std::size_t rows) {
  const Word *const a = e.words(step.a), *const b = e.words(step.b);
  Word* const out = e.out(step);
  both_valid(step, e, rows);
  const std::uint8_t* const valid = e.valid(step.out);
  for (std::size_t i = 0; i < rows; ++i) {
    std::int64_t result = 0;
    const bool over = Fn{}(from<std::int64_t>(a[i]), from<std::int64_t>(b[i]), &result);
    if (over && valid[i] != 0) e.fail(step, i, kTooLarge);
    out[i] = to(result);
  }
}
template <class Fn>
void checked_wide(const Step& step, Expressions& e, std::size_t rows) {
  both_valid(step, e, rows);
  const std::uint8_t* const valid = e.valid(step.out);
  const int128 limit = power_of_ten(38);
  for (std::size_t i = 0; i < rows; ++i) {
    if (valid[i] == 0) continue;
    int128 result = 0;
    if (Fn{}(e.wide(step.a, i), e.wide(step.b, i), &result) || result >= limit ||
        result <= -limit) {
      e.fail(step, i, kTooLong);
    }
    e.put(step, i, result);
  }
}

struct Add {
  template <class T>
  bool operator()(T a, T b, T* out) const {
    return __builtin_add_overflow(a, b, out);
  }
};
struct Subtract {
  template <class T>
  bool operator()(T a, T b, T* out) const {
    return __builtin_sub_overflow(a, b, out);
  }
};
struct Multiply {
  template <class T>
  bool operator()(T a, T b, T* out) const {
    return __builtin_mul_overflow(a, b, out);
  }
};

// Division of whole numbers, rounded down; by zero it gives null.
template <bool kRest>
void divided(const Step& step, Expressions& e, std::size_t rows) {
  const Word *const a = e.words(step.a), *const b = e.words(step.b);
  Word* const out = e.out(step);
  const std::uint8_t *const va = e.valid(step.a), *const vb = e.valid(step.b);
  std::uint8_t* const valid = e.out_valid(step);
  for (std::size_t i = 0; i < rows; ++i) {
    valid[i] = va[i] & vb[i];
    const auto x = from<std::int64_t>(a[i]), y = from<std::int64_t>(b[i]);
    if (y == 0) valid[i] = 0;
    if (valid[i] == 0) continue;
    if (y == -1) {
      std::int64_t negative = 0;
      if (__builtin_sub_overflow(std::int64_t{0}, x, &negative) && !kRest) {
        e.fail(step, i, kTooLarge);
      }
      out[i] = kRest ? 0 : to(negative);
      continue;
    }
    const std::int64_t rest = x % y;
    const bool down = rest != 0 && (rest < 0) != (y < 0);
    out[i] = to(kRest ? rest + (down ? y : 0) : x / y - (down ? 1 : 0));
  }
}

// Python's and numpy's division of floats, rounded down.
struct FloorDivide {
  double operator()(double a, double b) const {
    if (b == 0) return a / b;
    double rest = std::fmod(a, b);
    double quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(0.0, a / b);
    const double down = std::floor(quotient);
    return quotient - down > 0.5 ? down + 1 : down;
  }
};
struct Modulo {
  double operator()(double a, double b) const {
    const double rest = std::fmod(a, b);
    if (rest == 0) return std::copysign(0.0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
  }
};
struct Log {
  double operator()(double a) const { return std::log(a); }
};
// The rest of a value after some half-lives.
struct Fade {
  double operator()(double a, double b) const { return a * std::exp2(-b); }
};
struct Absolute {
  double operator()(double a) const { return std::fabs(a); }
};

inline void negate_whole(const Step& step, Expressions& e, std::size_t rows) {
  const Word* const a = e.words(step.a);
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    std::int64_t result = 0;
    const bool over = __builtin_sub_overflow(std::int64_t{0}, from<std::int64_t>(a[i]), &result);
    if (over && e.valid(step.out)[i] != 0) e.fail(step, i, kTooLarge);
    e.out(step)[i] = to(result);
  }
}
inline void absolute_whole(const Step& step, Expressions& e, std::size_t rows) {
  const Word* const a = e.words(step.a);
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    auto value = from<std::int64_t>(a[i]);
    const bool over = value < 0 && __builtin_sub_overflow(std::int64_t{0}, value, &value);
    if (over && e.valid(step.out)[i] != 0) e.fail(step, i, kTooLarge);
    e.out(step)[i] = to(value);
  }
}
template <bool kAbsolute>
void negate_wide(const Step& step, Expressions& e, std::size_t rows) {
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const int128 value = e.wide(step.a, i);
    e.put(step, i, kAbsolute && value >= 0 ? value : -value);
  }
}
// A whole number times a constant: times in other units.
inline void scale_whole(const Step& step, Expressions& e, std::size_t rows) {
  const Word* const a = e.words(step.a);
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    std::int64_t result = 0;
    const bool over = __builtin_mul_overflow(from<std::int64_t>(a[i]), step.number, &result);
    if (over && e.valid(step.out)[i] != 0) e.fail(step, i, kTooLarge);
    e.out(step)[i] = to(result);
  }
}
// Decimals get more digits behind the point.
inline void scale_wide(const Step& step, Expressions& e, std::size_t rows) {
  same_valid(step, e, rows);
  const int128 times = power_of_ten(static_cast<int>(step.number)), limit = power_of_ten(38);
  for (std::size_t i = 0; i < rows; ++i) {
    if (e.valid(step.out)[i] == 0) continue;
    int128 result = 0;
    if (__builtin_mul_overflow(e.wide(step.a, i), times, &result) || result >= limit ||
        result <= -limit) {
      e.fail(step, i, kTooLong);
    }
    e.put(step, i, result);
  }
}

// ---- comparisons

struct Equal {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};
struct Less {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};
struct AtMost {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a <= b;
  }
};
template <class Fn>
void compare_wide(const Step& step, Expressions& e, std::size_t rows) {
  both_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (e.valid(step.out)[i] != 0) {
      e.out(step)[i] = Fn{}(e.wide(step.a, i), e.wide(step.b, i)) ? 1 : 0;
    }
  }
}

// ---- truth: null is unknown

inline void negate_truth(const Step& step, Expressions& e, std::size_t rows) {
  const Word* const a = e.words(step.a);
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) e.out(step)[i] = a[i] == 0 ? 1 : 0;
}
template <bool kDecides>  // a value that decides whatever the other one is: true for or
void junction(const Step& step, Expressions& e, std::size_t rows) {
  const Word *const a = e.words(step.a), *const b = e.words(step.b);
  const std::uint8_t *const va = e.valid(step.a), *const vb = e.valid(step.b);
  for (std::size_t i = 0; i < rows; ++i) {
    const bool left = va[i] != 0 && (a[i] != 0) == kDecides;
    const bool right = vb[i] != 0 && (b[i] != 0) == kDecides;
    e.out(step)[i] = (left || right) == kDecides ? 1 : 0;
    e.out_valid(step)[i] = left || right || (va[i] != 0 && vb[i] != 0) ? 1 : 0;
  }
}

// ---- nulls

inline void is_null(const Step& step, Expressions& e, std::size_t rows) {
  const std::uint8_t* const valid = e.valid(step.a);
  for (std::size_t i = 0; i < rows; ++i) {
    e.out(step)[i] = valid[i] == 0 ? 1 : 0;
    e.out_valid(step)[i] = 1;
  }
}
template <bool kWide>
void fill_null(const Step& step, Expressions& e, std::size_t rows) {
  const std::uint8_t *const va = e.valid(step.a), *const vb = e.valid(step.b);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint32_t from = va[i] != 0 ? step.a : step.b;
    e.out(step)[i] = e.words(from)[i];
    if constexpr (kWide) e.out_upper(step)[i] = e.registers[from].upper[i];
    e.out_valid(step)[i] = va[i] | vb[i];
  }
}
// The first, where the second is true.
template <bool kWide>
void only(const Step& step, Expressions& e, std::size_t rows) {
  const Word* const truth = e.words(step.b);
  const std::uint8_t *const va = e.valid(step.a), *const vb = e.valid(step.b);
  std::copy_n(e.words(step.a), rows, e.out(step));
  if constexpr (kWide) std::copy_n(e.registers[step.a].upper, rows, e.out_upper(step));
  for (std::size_t i = 0; i < rows; ++i) {
    e.out_valid(step)[i] = va[i] != 0 && vb[i] != 0 && truth[i] != 0 ? 1 : 0;
  }
}

// ---- one of several values

template <class T>
void is_in(const Step& step, Expressions& e, std::size_t rows) {
  const Word* const a = e.words(step.a);
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (e.valid(step.out)[i] == 0) continue;
    bool found = false;
    if constexpr (std::is_same_v<T, std::string_view>) {
      found = step.texts.contains(std::string(text_of(a[i])));
    } else if constexpr (std::is_same_v<T, double>) {
      const auto real = from<double>(a[i]);
      found = real == real && step.words.contains(to(real == 0 ? 0.0 : real));
    } else {
      found = step.words.contains(a[i]);
    }
    e.out(step)[i] = found ? 1 : 0;
  }
}

// ---- conversions

inline void unsigned_to_whole(const Step& step, Expressions& e, std::size_t rows) {
  const Word* const a = e.words(step.a);
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (e.valid(step.out)[i] != 0 && a[i] >> 63 != 0) e.fail(step, i, kTooLarge);
    e.out(step)[i] = a[i];
  }
}
struct ToReal {
  double operator()(std::int64_t a) const { return static_cast<double>(a); }
};
struct WholeTruth {
  bool operator()(std::int64_t a) const { return a != 0; }
};
struct RealTruth {
  bool operator()(double a) const { return a != 0; }
};
inline void real_to_whole(const Step& step, Expressions& e, std::size_t rows) {
  const Word* const a = e.words(step.a);
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (e.valid(step.out)[i] == 0) continue;
    const auto real = from<double>(a[i]);
    if (!(real >= -9223372036854775808.0 && real < 9223372036854775808.0)) {
      e.fail(step, i, kTooLarge);
    }
    if (std::trunc(real) != real) e.fail(step, i, "is not a whole number");
    e.out(step)[i] = to(static_cast<std::int64_t>(real));
  }
}
inline void whole_to_wide(const Step& step, Expressions& e, std::size_t rows) {
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    e.put(step, i, from<std::int64_t>(e.words(step.a)[i]));
  }
}
// Decimals of more than 18 digits come as texts of their bytes.
inline void text_to_wide(const Step& step, Expressions& e, std::size_t rows) {
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (e.valid(step.out)[i] == 0) continue;
    int128 value = 0;
    const std::string_view bytes = text_of(e.words(step.a)[i]);
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    e.put(step, i, value);
  }
}
inline void wide_to_real(const Step& step, Expressions& e, std::size_t rows) {
  same_valid(step, e, rows);
  const int128 unit = power_of_ten(static_cast<int>(step.number));
  for (std::size_t i = 0; i < rows; ++i) {
    if (e.valid(step.out)[i] != 0) e.out(step)[i] = to(ratio(e.wide(step.a, i), unit));
  }
}
inline void wide_to_whole(const Step& step, Expressions& e, std::size_t rows) {
  same_valid(step, e, rows);
  const int128 unit = power_of_ten(static_cast<int>(step.number));
  for (std::size_t i = 0; i < rows; ++i) {
    if (e.valid(step.out)[i] == 0) continue;
    const int128 value = e.wide(step.a, i), whole = value / unit;
    if (whole * unit != value) e.fail(step, i, "is not a whole number");
    const auto narrow = static_cast<std::int64_t>(whole);
    if (narrow != whole) e.fail(step, i, kTooLarge);
    e.out(step)[i] = to(narrow);
  }
}
inline void whole_to_text(const Step& step, Expressions& e, std::size_t rows) {
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (e.valid(step.out)[i] == 0) continue;
    e.out(step)[i] = e.texts().add(std::to_string(from<std::int64_t>(e.words(step.a)[i])));
  }
}
inline void truth_to_text(const Step& step, Expressions& e, std::size_t rows) {
  same_valid(step, e, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    e.out(step)[i] = e.texts().add(e.words(step.a)[i] != 0 ? "true" : "false");
  }
}

template <class Fn>
void add_comparisons(std::unordered_map<std::string, Expressions::Run>& found,
                     const std::string& name) {
  found[name + "_whole"] = binary<std::int64_t, Fn>;
  found[name + "_real"] = binary<double, Fn>;
  found[name + "_text"] = binary<std::string_view, Fn>;
  found[name + "_wide"] = compare_wide<Fn>;
}

inline std::unordered_map<std::string, Expressions::Run> all_steps() {
  std::unordered_map<std::string, Expressions::Run> found{
      {"add_whole", checked<Add>},
      {"subtract_whole", checked<Subtract>},
      {"multiply_whole", checked<Multiply>},
      {"floor_divide_whole", divided<false>},
      {"modulo_whole", divided<true>},
      {"negate_whole", negate_whole},
      {"absolute_whole", absolute_whole},
      {"scale_whole", scale_whole},
      {"add_real", binary<double, std::plus<double>>},
      {"subtract_real", binary<double, std::minus<double>>},
      {"multiply_real", binary<double, std::multiplies<double>>},
      {"divide_real", binary<double, std::divides<double>>},
      {"floor_divide_real", binary<double, FloorDivide>},
      {"modulo_real", binary<double, Modulo>},
      {"negate_real", unary<double, std::negate<double>>},
      {"absolute_real", unary<double, Absolute>},
      {"log_real", unary<double, Log>},
      {"fade_real", binary<double, Fade>},
      {"add_wide", checked_wide<Add>},
      {"subtract_wide", checked_wide<Subtract>},
      {"multiply_wide", checked_wide<Multiply>},
      {"negate_wide", negate_wide<false>},
      {"absolute_wide", negate_wide<true>},
      {"scale_wide", scale_wide},
      {"not", negate_truth},
      {"and", junction<false>},
      {"or", junction<true>},
      {"is_null", is_null},
      {"fill_null", fill_null<false>},
      {"fill_null_wide", fill_null<true>},
      {"only", only<false>},
      {"only_wide", only<true>},
      {"is_in_whole", is_in<std::int64_t>},
      {"is_in_real", is_in<double>},
      {"is_in_text", is_in<std::string_view>},
      {"unsigned_to_whole", unsigned_to_whole},
      {"whole_to_real", unary<std::int64_t, ToReal>},
      {"whole_to_truth", unary<std::int64_t, WholeTruth>},
      {"real_to_truth", unary<double, RealTruth>},
      {"real_to_whole", real_to_whole},
      {"whole_to_wide", whole_to_wide},
      {"text_to_wide", text_to_wide},
      {"wide_to_real", wide_to_real},
      {"wide_to_whole", wide_to_whole},
      {"whole_to_text", whole_to_text},
      {"truth_to_text", truth_to_text},
  };
  add_comparisons<Equal>(found, "equal");
  add_comparisons<Less>(found, "less");
  add_comparisons<AtMost>(found, "at_most");
  return found;
}

}  // namespace expression_detail

inline Expressions::Run Expressions::find(const std::string& name) {
  static const auto known = expression_detail::all_steps();
  const auto found = known.find(name);
  if (found == known.end()) throw std::invalid_argument("there is no step " + name);
  return found->second;
}

}  // namespace slidefold::engine
