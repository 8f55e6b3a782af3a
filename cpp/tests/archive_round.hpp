// Saving, loading, and damaging what was saved.
#pragma once

#include <cstddef>
#include <string>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold::test {

template <class Saved>
std::string saved(Saved& object) {
  Saver saver;
  object.archive(saver);
  return saver.bytes();
}

template <class Loaded>
void load(Loaded& object, const std::string& bytes) {
  Loader loader(bytes);
  object.archive(loader);
  loader.finish();
  if constexpr (requires { object.check(); }) {
    object.check();
  } else {
    object.check(nullptr);
  }
}

template <class Algorithm>
bool loads(Algorithm& algorithm, const std::string& bytes) {
  try {
    load(algorithm, bytes);
    return true;
  } catch (const BadState&) {
  } catch (const BrokenInvariant&) {
  }
  return false;
}

// Calls visit with each way to flip one bit.
template <class Visit>
void each_flip(const std::string& bytes, const Visit& visit) {
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    visit(damaged);
  }
}

}  // namespace slidefold::test
