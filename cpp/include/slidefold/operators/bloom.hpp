// A Bloom filter: which values may have occurred.
//
// Layout: the 64-bit hashes of the values while they take less room than the bits would, then a
//   bitmap of `bits` bits; a value sets `hashes` bits, derived from its hash.
// Invariants: I1 sparse hashes are sorted and distinct. I2 dense exactly when there are more than
//   bits/128 distinct hashes (half the bitmap's bytes), so equal sets have equal states.
// Cost: combine O(sparse hashes) or bits/64 words; a singleton holds one hash and no bitmap.
// Paper: daba-in-order, Table 1 and section 7. Commutative, not invertible; the false-positive rate
//   is about (1 - exp(-hashes * n / bits)) ^ hashes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "slidefold/operator.hpp"
#include "slidefold/operators/hash.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

struct Bloom {
  static constexpr bool commutative = true;
  std::uint64_t bits = 1 << 14;
  std::uint64_t hashes = 3;

  struct State {
    std::vector<std::uint64_t> words;
    bool dense = false;
  };

  State identity() const { return {}; }
  State lift(std::uint64_t hash) const {
    State one{{hash}, false};
    return bits < 128 ? dense(one) : one;
  }

  State combine(const State& older, const State& newer) const {
    if (newer.dense && !older.dense) return combine(newer, older);  // commutes, copies once
    State both = older;
    absorb(both, newer);
    return both;
  }

  void absorb(State& older, const State& newer) const {
    if (!older.dense && !newer.dense) {
      std::vector<std::uint64_t> both;
      both.reserve(older.words.size() + newer.words.size());
      std::set_union(older.words.begin(), older.words.end(), newer.words.begin(), newer.words.end(),
                     std::back_inserter(both));
      older.words = std::move(both);
      if (older.words.size() > bits / 128) older = dense(older);
    } else if (newer.dense) {
      if (!older.dense) older = dense(older);
      for (std::size_t i = 0; i < older.words.size(); ++i) older.words[i] |= newer.words[i];
    } else {
      for (const std::uint64_t hash : newer.words) set(older, hash);
    }
  }

  State lower(const State& state) const { return state.dense ? state : dense(state); }
  bool same(const State& a, const State& b) const {
    return a.dense == b.dense && a.words == b.words;
  }

  template <class Archive>
  void archive(Archive& a, State& state) const {
    a(state.dense, state.words);
    if constexpr (Archive::kLoading) {
      const auto& words = state.words;
      const bool rising =
          std::adjacent_find(words.begin(), words.end(), std::greater_equal<>()) == words.end();
      expect(state.dense ? words.size() == words_of(bits) : words.size() <= bits / 128 && rising,
             "a Bloom filter has another size, or its hashes are not in order");
    }
  }

  static bool contains(const std::uint64_t* words, std::uint64_t bits, std::uint64_t hashes,
                       std::uint64_t hash) {
    for (std::uint64_t i = 0; i < hashes; ++i) {
      const std::uint64_t bit = position(hash, i, bits);
      if ((words[bit / 64] >> (bit % 64) & 1) == 0) return false;
    }
    return true;
  }

 private:
  static std::uint64_t words_of(std::uint64_t bits) { return (bits + 63) / 64; }

  static std::uint64_t position(std::uint64_t hash, std::uint64_t i, std::uint64_t bits) {
    return (hash + i * (mix64(hash) | 1)) % bits;  // double hashing
  }

  void set(State& state, std::uint64_t hash) const {
    for (std::uint64_t i = 0; i < hashes; ++i) {
      const std::uint64_t bit = position(hash, i, bits);
      state.words[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
  }

  State dense(const State& sparse) const {
    State result{std::vector<std::uint64_t>(words_of(bits)), true};
    for (const std::uint64_t hash : sparse.words) set(result, hash);
    return result;
  }
};

// The type of the values that were hashed: equal numbers of another type have another hash.
enum class BloomKey { kReal, kInteger, kText };

// What a window's Bloom filter lowers to.
struct BloomFilter {
  std::vector<std::uint64_t> words;
  std::uint64_t bits = 0, hashes = 0;
  BloomKey key = BloomKey::kReal;
  bool contains(std::uint64_t hash) const {
    return Bloom::contains(words.data(), bits, hashes, hash);
  }
};

template <class T>
struct BloomOf : Bloom {
  using In = T;
  using Out = BloomFilter;
  static constexpr BloomKey key = std::is_floating_point_v<T> ? BloomKey::kReal
                                  : std::is_integral_v<T>     ? BloomKey::kInteger
                                                              : BloomKey::kText;
  State lift(const T& value) const { return Bloom::lift(hash_value(value)); }
  Out lower(const State& state) const { return {Bloom::lower(state).words, bits, hashes, key}; }
};

}  // namespace slidefold
