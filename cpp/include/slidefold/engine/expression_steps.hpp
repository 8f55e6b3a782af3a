// Steps of expressions by name: comparisons, conditions, nulls, conversions, and those of numbers.
//
// Layout: functions over a block of rows, and a table of all steps.
// Invariants: none of their own.
// Cost: O(rows); is_in O(rows) lookups.
// Paper: none.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "slidefold/engine/expression_numbers.hpp"

namespace slidefold::engine {

namespace expression_detail {

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
