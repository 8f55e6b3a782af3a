// Steps of expressions that compute numbers: whole, real and decimal.
//
// Layout: functions over a block of rows, made of a loop and a function of one or two words.
// Invariants: none of their own.
// Cost: O(rows); loops of words without errors are vectorised.
// Paper: none.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "slidefold/engine/expressions.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace slidefold::engine {

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
#if defined(__x86_64__) && defined(__GNUC__)
// Four floats at once instead of two: x / y - 1 takes 0.6 of the time. Results that go to memory
// past the caches save the reading of what they replace.
template <class Fn>
__attribute__((target("avx2"))) void wide_reals(const Word* __restrict a, const Word* __restrict b,
                                                Word* __restrict out, std::size_t rows,
                                                bool past_caches) {
  std::size_t i = 0;
  if (past_caches) {
    for (; i + 4 <= rows; i += 4) {
      alignas(32) Word four[4];
      for (std::size_t k = 0; k < 4; ++k) {
        four[k] = to(Fn{}(from<double>(a[i + k]), from<double>(b[i + k])));
      }
      _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i),
                          *reinterpret_cast<const __m256i*>(four));
    }
    _mm_sfence();
  }
  for (; i < rows; ++i) out[i] = to(Fn{}(from<double>(a[i]), from<double>(b[i])));
}
inline bool takes_wide_reals() { return __builtin_cpu_supports("avx2") != 0; }
#else
template <class Fn>
void wide_reals(const Word*, const Word*, Word*, std::size_t, bool) {}
inline bool takes_wide_reals() { return false; }
#endif

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
    return;
  }
  if constexpr (std::is_same_v<In, double>) {
    if (rows > 1 && takes_wide_reals()) {
      return wide_reals<Fn>(a, b, out, rows, e.registers[step.out].past_caches);
    }
  }
  if constexpr (!std::is_same_v<In, std::string_view>) {
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

}  // namespace expression_detail

}  // namespace slidefold::engine
