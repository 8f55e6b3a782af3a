// The hash of a value, for sketches: 64 bits, the same on every machine.
//
// Layout: none.
// Invariants: equal values have equal hashes: -0.0 is 0.0, and NaN is one value. Equal numbers of
//   another type have another hash.
// Cost: a few multiplications; one multiplication for eight bytes of a string.
// Paper: none.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace slidefold {

inline std::uint64_t mix64(std::uint64_t x) {  // the finaliser of splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = mix64(bytes.size());
  std::uint64_t word = 0;
  unsigned shift = 0;
  for (const char c : bytes) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(c)) << shift;
    if ((shift += 8) == 64) hash = mix64(hash ^ word), word = 0, shift = 0;
  }
  return mix64(hash ^ word);
}

inline std::uint64_t hash_value(std::int64_t value) {
  return mix64(static_cast<std::uint64_t>(value));
}
inline std::uint64_t hash_value(double value) {  // -0.0 equals 0.0, and NaN is one value
  if (value == 0) value = 0;
  if (value != value) return mix64(0x7ff8000000000000u);
  return mix64(std::bit_cast<std::uint64_t>(value));
}
inline std::uint64_t hash_value(const std::string& value) { return hash_bytes(value); }

}  // namespace slidefold
