// What an engine runs: the shape of its stores, its windows, and how rows of one time are ordered.
//
// Layout: plain values, made once from a definition.
// Invariants: none; Arrivals and Engine take them as they are.
// Cost: none.
// Paper: none.
#pragma once

#include <optional>
#include <variant>

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

// The rows that a window holds at an end: from end - far, or some local days before it, to
// end - near.
struct Held {
  Time far = 0, near = 0;
  std::size_t back = 0;  // days; 0 if it does not count them
  bool open = false;     // whether it leaves out the start of the first of these days
};

// Where windows end if not at rows: at multiples of a step. The largest windows at an end hold rows
// from end - far to end - near.
struct Grid {
  Time step = 1, shift = 0, far = 0, near = 0;
  std::vector<Held> largest;  // of which one must hold a row
  // Local days instead: ends are at the start of every n-th one.
  std::shared_ptr<const Days> days = nullptr;
  std::size_t every_days = 1, first_day = 0;
  std::size_t back = 0;  // how many days the largest window holds; 0 if it does not count days
  bool fill = false;     // ends without rows between others have results too

  // Where the largest window starts at an end.
  Time low(Time end) const { return back > 0 ? days->back(end, back) : before(end, far); }
  Time low(Time end, const Held& held) const {
    if (held.back == 0) return before(end, held.far);
    return days->back(end, held.back) + (held.open ? 1 : 0);
  }

  // The first end that is not before a time; nothing if it does not fit.
  std::optional<Time> from(Time t) const {
    if (days != nullptr) {
      std::size_t day = std::max(days->from(t), first_day);
      day += (every_days - (day - first_day) % every_days) % every_days;
      if (day >= days->starts.size()) return std::nullopt;
      return days->starts[day];
    }
    const int128 ahead = static_cast<int128>(t) - shift;
    int128 steps = ahead / step;
    if (steps * step < ahead) ++steps;
    const int128 end = steps * step + shift;
    if (end > kNewest) return std::nullopt;
    return static_cast<Time>(end);
  }
};

struct Program {
  Shape shape;
  std::vector<Window> windows;
  std::size_t key_words = 1;
  std::vector<TieColumn> ties;
  std::uint32_t number = kNoColumn;         // the column of arrival numbers, if rows have them
  std::vector<std::uint32_t> text_columns;  // whose words are texts
  std::vector<std::uint32_t> text_keys;     // the same of keys
};

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
