// Operators to test with: none of them commutes, and the fallible ones fail when told to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "slidefold/storage/archive.hpp"

namespace slidefold::test {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t limit) { return random() % limit; }

// Neither commutes nor associates: only the same combines of the same arguments give the same fold.
inline std::uint64_t mixed(std::uint64_t older, std::uint64_t newer) {
  const std::uint64_t both = (older ^ 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd + newer;
  return (both ^ (both >> 29)) * 0xbf58476d1ce4e5b9;
}

struct Failure : std::runtime_error {
  Failure() : std::runtime_error("the operator fails") {}
};

// How many calls of a fallible operator go well before one fails; negative: all do.
inline int fuse = -1;

template <bool kFallible>
inline void may_fail() {
  if constexpr (kFallible) {
    if (fuse >= 0 && fuse-- == 0) throw Failure();
  }
}

// Strings, one after the other: the free monoid, so every mistake shows.
template <bool kFallible = false>
struct Concat {
  using State = std::string;
  static constexpr bool fallible = kFallible;
  State identity() const { return ""; }
  State combine(const State& older, const State& newer) const {
    may_fail<kFallible>();
    return older + newer;
  }
  bool same(const State& a, const State& b) const { return a == b; }
  static State draw(Random& random) { return std::string(1, char('a' + below(random, 26))); }
};

// The value with the largest key, the oldest of equals. The tag tells equals apart.
struct Keyed {
  int key = -1;
  std::uint64_t tag = 0;
  template <class Archive>
  void archive(Archive& a) {
    a(key, tag);
  }
  bool operator==(const Keyed&) const = default;
};

template <bool kFallible = false>
struct Largest {
  using State = Keyed;
  static constexpr bool fallible = kFallible;
  State identity() const { return {}; }
  bool newer_wins(const State& older, const State& newer) const {
    may_fail<kFallible>();
    return older.key < newer.key;
  }
  State combine(const State& older, const State& newer) const {
    return newer_wins(older, newer) ? newer : older;
  }
  bool same(const State& a, const State& b) const { return a == b; }
  static State draw(Random& random) { return {int(below(random, 8)), random()}; }
};

// Maps x -> scale * x + shift modulo a prime, the newer after the older: a group.
struct Affine {
  static constexpr int kPrime = 101;
  int scale = 1, shift = 0;
  template <class Archive>
  void archive(Archive& a) {
    a(scale, shift);
    if constexpr (Archive::kLoading) {
      expect(0 < scale && scale < kPrime && 0 <= shift && shift < kPrime, "no map of the group");
    }
  }
  bool operator==(const Affine&) const = default;
};

template <bool kFallible = false>
struct Compose {
  static constexpr int kPrime = Affine::kPrime;
  using State = Affine;
  static constexpr bool fallible = kFallible;
  State identity() const { return {}; }
  State combine(const State& older, const State& newer) const {
    may_fail<kFallible>();
    return {newer.scale * older.scale % kPrime, (newer.scale * older.shift + newer.shift) % kPrime};
  }
  // The inverse of older first, then the whole.
  State remove(const State& whole, const State& older) const {
    int inverse = 1;
    while (inverse * older.scale % kPrime != 1) ++inverse;
    const int shift = (kPrime - older.shift) * inverse % kPrime;
    return combine({inverse, shift}, whole);
  }
  bool same(const State& a, const State& b) const { return a == b; }
  static State draw(Random& random) {
    return {1 + int(below(random, kPrime - 1)), int(below(random, kPrime))};
  }
};

// A state that names the oldest value it folds. The names of all that hold something are known.
class Token {
 public:
  using Name = std::uint64_t;
  inline static std::multiset<Name> held;
  inline static Name next = 0;

  Token() = default;
  explicit Token(Name name) : place_(held.insert(name)), full_(true) {}
  Token(const Token& other) : Token() {
    if (other.full_) *this = Token(other.name());
  }
  Token(Token&& other) noexcept : place_(other.place_), full_(std::exchange(other.full_, false)) {}
  Token& operator=(Token other) noexcept {
    std::swap(place_, other.place_);
    std::swap(full_, other.full_);
    return *this;
  }
  ~Token() {
    if (full_) held.erase(place_);
  }

  bool full() const { return full_; }
  Name name() const { return *place_; }

 private:
  std::multiset<Name>::iterator place_{};
  bool full_ = false;
};

// The oldest value. Draws are numbered, which makes it invertible.
template <bool kFallible = false>
struct Tokens {
  using State = Token;
  static constexpr bool fallible = kFallible;
  State identity() const { return {}; }
  bool newer_wins(const State&, const State&) const { return false; }
  State combine(const State& older, const State&) const { return older; }
  State remove(const State& whole, const State&) const { return Token(whole.name() + 1); }
  static State draw(Random&) { return Token(Token::next++); }
};

}  // namespace slidefold::test
