// What an engine runs: the shape of its stores, its windows, and how rows of one time are ordered.
//
// Layout: plain values, made once from a definition.
// Invariants: none; Arrivals and Engine take them as they are.
// Cost: none.
// Paper: none.
#pragma once

#include <optional>
#include <variant>

#include "slidefold/engine/grid.hpp"
#include "slidefold/engine/key_store.hpp"
#include "slidefold/engine/pool.hpp"

namespace slidefold::engine {

using Rule = std::variant<TimeRule, RowsRule, LifetimeRule, SessionRule, MarkRule,
                          DeltaRule<std::int64_t>, DeltaRule<double>>;

struct Window {
  Rule rule;
  std::vector<std::size_t> parts;
};

// How the words of a column are ordered.
enum class Compare : std::uint8_t { kWhole, kUnsigned, kReal, kText, kDecimal };

inline int compare_words(Compare how, Word a, Word b) {
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : (y < x ? 1 : 0); };
  switch (how) {
    case Compare::kUnsigned:
      return order(a, b);
    case Compare::kReal: {
      const auto x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
      if (x != x || y != y) return (x != x ? 1 : 0) - (y != y ? 1 : 0);  // NaN is the largest
      return order(x, y);
    }
    case Compare::kText:
      return a == b ? 0 : order(text_of(a), text_of(b));
    case Compare::kDecimal: {  // little-endian, the sign in the last byte
      if (a == b) return 0;
      const std::string_view x = text_of(a), y = text_of(b);
      const auto sign = [](std::string_view value) { return (value.back() & 0x80) != 0 ? -1 : 1; };
      if (sign(x) != sign(y)) return sign(x);
      for (std::size_t i = x.size(); i-- > 0;) {
        if (x[i] != y[i])
          return static_cast<unsigned char>(x[i]) < static_cast<unsigned char>(y[i]) ? -1 : 1;
      }
      return 0;
    }
    default:
      return order(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
  }
}

// A column that orders rows of equal time; nulls come first.
struct TieColumn {
  std::uint32_t column;
  std::uint32_t presence;
  Compare how;
};

inline constexpr std::uint32_t kNoColumn = ~std::uint32_t{0};

struct Program {
  Shape shape;
  std::vector<Window> windows;
  std::size_t key_words = 1;
  std::vector<TieColumn> ties;
  std::uint32_t number = kNoColumn;         // the column of arrival numbers, if rows have them
  std::vector<std::uint32_t> text_columns;  // whose words are texts
  std::vector<std::uint32_t> text_keys;     // the same of keys
  std::optional<Grid> ends;                 // where windows end, if only there
};

// With the parts in which sessions and punctuated windows find their ends, behind all others.
inline Program with_breaks(Program program) {
  std::vector<Part>& parts = program.shape.parts;
  const std::size_t own = parts.size();
  const auto number_of = [&](Part part) {
    std::size_t p = own;
    while (p < parts.size() && parts[p].columns != part.columns) ++p;
    if (p == parts.size()) parts.push_back(std::move(part));
    return p;
  };
  for (Window& window : program.windows) {
    if (auto* session = std::get_if<SessionRule>(&window.rule)) {
      session->part = number_of(gaps_part());
    } else if (auto* marks = std::get_if<MarkRule>(&window.rule)) {
      marks->part = number_of(marks_part(marks->column));
    }
  }
  return program;
}

// Thrown when the column of a delta window falls, or has no value; `row` is that of the batch.
struct Falls {
  std::uint32_t column;
  std::size_t row;
};
struct Missing {
  std::uint32_t column;
  std::size_t row;
  bool null;  // else NaN
};

}  // namespace slidefold::engine
