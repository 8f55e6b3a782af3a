// State as bytes: one description, `archive(a)`, of what saving writes and loading reads.
//
// Layout: numbers little-endian in their own width; a bool is a byte; values with a length begin
// with
//   it, in 64 bits. A type describes itself by a member `archive(a)` that visits its fields; an
//   operator whose states need it (an erased one, one that validates) by `archive(a, state)`.
// Invariants: I1 equal states give equal bytes: fields are written, never padding or spare memory.
//   I2 a loader never reads past its end, and asks for no more memory than the bytes that are left
//   account for. I3 what is loaded is checked: bools, texts, lengths, counts and sums here, the
//   rest by its type. I4 what a loader has read as counts and sums can be added up without
//   overflow.
// Cost: O(bytes).
// Paper: none.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace slidefold {

// Bytes that are not the state of what loads them.
struct BadState : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void expect(bool holds, const char* otherwise) {
  if (!holds) throw BadState(otherwise);
}

class Saver;
class Loader;

namespace archiving {

// Numbers whose every byte counts: long double has padding.
__extension__ using Wide = __int128;
template <class T>
concept Number =
    (std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, long double>) ||
    std::is_same_v<T, Wide>;

template <class T>
inline constexpr bool is_vector_v = false;
template <class T>
inline constexpr bool is_vector_v<std::vector<T>> = true;

template <class T>
using BytesOf = std::array<char, sizeof(T)>;

template <class T>
BytesOf<T> little_endian(BytesOf<T> bytes) {
  if constexpr (std::endian::native == std::endian::big) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

}  // namespace archiving

template <class T>
inline constexpr bool archivable_v = requires(T& value, Saver& saver, Loader& loader) {
  value.archive(saver);
  value.archive(loader);
};
template <archiving::Number T>
inline constexpr bool archivable_v<T> = true;
template <>
inline constexpr bool archivable_v<bool> = true;
template <>
inline constexpr bool archivable_v<std::string> = true;
template <class T>
inline constexpr bool archivable_v<std::vector<T>> = archivable_v<T>;

template <class T>
concept Archivable = archivable_v<T>;

// An operator whose states can be saved and loaded.
template <class Op>
concept ArchivableOperator =
    Archivable<typename Op::State> ||
    requires(const Op& op, typename Op::State& state, Saver& saver, Loader& loader) {
      op.archive(saver, state);
      op.archive(loader, state);
    };

// UTF-8 as Python takes it: no overlong forms, no surrogates.
inline bool is_text(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  for (std::size_t i = 0; i < bytes.size();) {
    const unsigned char lead = at(i);
    const std::size_t more = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if (more == 0) {
      ++i;
      continue;
    }
    if (lead < 0xC2 || lead > 0xF4 || bytes.size() - i <= more) return false;
    const unsigned char first = at(i + 1);
    if (lead == 0xE0 && first < 0xA0) return false;
    if (lead == 0xED && first > 0x9F) return false;
    if (lead == 0xF0 && first < 0x90) return false;
    if (lead == 0xF4 && first > 0x8F) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      if ((at(i + k) & 0xC0) != 0x80) return false;
    }
    i += more + 1;
  }
  return true;
}

class Saver {
 public:
  static constexpr bool kLoading = false;

  template <class... Values>
  void operator()(const Values&... values) {
    (save(values), ...);
  }

  // How many items follow, each of at least `least` bytes.
  std::size_t length(std::size_t count, std::size_t /*least*/ = 1) {
    save(static_cast<std::uint64_t>(count));
    return count;
  }

  // How many values a state stands for, and their exact sum.
  void count(const std::int64_t& n) { save(n); }
  void count(const double& n) { save(n); }
  void total(const archiving::Wide& sum) { save(sum); }

  // Any bytes; a std::string that is visited as a value is a text.
  void blob(const std::string& bytes) {
    length(bytes.size());
    bytes_.append(bytes);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  void save(const T& value) {
    static_assert(Archivable<T>,
                  "this type cannot be saved: give it a member template archive(Archive& a) that "
                  "visits its fields, a(first, second)");
    if constexpr (std::is_same_v<T, bool>) {
      bytes_.push_back(value ? 1 : 0);
    } else if constexpr (archiving::Number<T>) {
      const auto bytes = archiving::little_endian<T>(std::bit_cast<archiving::BytesOf<T>>(value));
      bytes_.append(bytes.data(), bytes.size());
    } else if constexpr (std::is_same_v<T, std::string>) {
      blob(value);
    } else if constexpr (archiving::is_vector_v<T>) {
      length(value.size());
      for (const auto& item : value) save(item);
    } else {
      const_cast<T&>(value).archive(*this);  // the same member loads; saving changes nothing
    }
  }

  std::string bytes_;
};

class Loader {
 public:
  static constexpr bool kLoading = true;

  explicit Loader(std::string_view bytes) : bytes_(bytes) {}

  template <class... Values>
  void operator()(Values&... values) {
    (load(values), ...);
  }

  std::size_t length(std::size_t /*count*/ = 0, std::size_t least = 1) {
    std::uint64_t count = 0;
    load(count);
    expect(count <= left() / least, "the state is longer than its bytes");
    return static_cast<std::size_t>(count);
  }

  // A fold adds each of the counts and sums at most once, so the whole must fit. Windows of that
  // many values do not exist: at 10 ns per value they take a thousand years to fill.
  void count(std::int64_t& n) {
    load(n);
    expect(0 <= n && n <= counts_left_, "a count is negative or too large");
    counts_left_ -= n;
  }
  void count(double& n) {
    load(n);
    const bool fits = 0 <= n && n <= static_cast<double>(counts_left_);
    expect(fits && n == std::floor(n), "a count is negative, too large or no whole number");
    counts_left_ -= std::min(static_cast<std::int64_t>(n), counts_left_);
  }
  void total(archiving::Wide& sum) {
    load(sum);
    expect(-sums_left_ <= sum && sum <= sums_left_, "a sum is too large");
    sums_left_ -= sum < 0 ? -sum : sum;
  }

  void blob(std::string& bytes) { bytes = take(length()); }

  std::size_t left() const { return bytes_.size(); }
  void finish() const { expect(left() == 0, "the state ends before its bytes do"); }

 private:
  std::string_view take(std::size_t count) {
    expect(count <= left(), "the state is longer than its bytes");
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  template <class T>
  void load(T& value) {
    static_assert(Archivable<T>, "this type cannot be loaded: give it archive(Archive& a)");
    if constexpr (std::is_same_v<T, bool>) {
      const char byte = take(1)[0];
      expect(byte == 0 || byte == 1, "a truth value is neither 0 nor 1");
      value = byte == 1;
    } else if constexpr (archiving::Number<T>) {
      archiving::BytesOf<T> bytes;
      std::memcpy(bytes.data(), take(sizeof(T)).data(), sizeof(T));
      value = std::bit_cast<T>(archiving::little_endian<T>(bytes));
    } else if constexpr (std::is_same_v<T, std::string>) {
      blob(value);
      expect(is_text(value), "a text is not UTF-8");
    } else if constexpr (archiving::is_vector_v<T>) {
      const std::size_t count = length();
      value.clear();
      for (std::size_t i = 0; i < count; ++i) load(value.emplace_back());
    } else {
      value.archive(*this);
    }
  }

  std::string_view bytes_;
  std::int64_t counts_left_ = std::int64_t{1} << 62;
  archiving::Wide sums_left_ = archiving::Wide{1} << 126;
};

// One state of an operator; at least one byte.
template <class Archive, class Op, class State>
void archive_state(Archive& a, const Op& op, State& state) {
  static_assert(ArchivableOperator<Op>,
                "the State of this operator cannot be saved: give it a member template "
                "archive(Archive& a) that visits its fields, or the operator archive(a, state)");
  auto& visited = const_cast<typename Op::State&>(state);  // saving changes nothing
  if constexpr (requires { op.archive(a, visited); }) {
    op.archive(a, visited);
  } else {
    a(visited);
  }
}

// A vector or deque of states.
template <class Archive, class Op, class States>
void archive_states(Archive& a, const Op& op, States& states) {
  const std::size_t count = a.length(states.size());
  if constexpr (Archive::kLoading) {
    states.clear();
    for (std::size_t i = 0; i < count; ++i) {
      typename Op::State state{};
      archive_state(a, op, state);
      states.push_back(std::move(state));
    }
  } else {
    for (const auto& state : states) archive_state(a, op, state);
  }
}

// A cursor into a queue that is loaded already, by its rank.
template <class Archive, class Queue, class Cursor>
void archive_cursor(Archive& a, const Queue& queue, Cursor& cursor) {
  std::uint64_t rank = 0;
  if constexpr (!Archive::kLoading) rank = queue.rank(cursor);
  a(rank);
  if constexpr (Archive::kLoading) {
    expect(rank <= queue.size(), "a cursor points outside of the window");
    cursor = queue.at(static_cast<std::size_t>(rank));
  }
}

// Running positions are 64 bits wide and start at 0: larger ones would soon overflow.
inline void expect_position(std::uint64_t position) {
  expect(position <= std::uint64_t{1} << 61, "a position is too large");
}

}  // namespace slidefold
