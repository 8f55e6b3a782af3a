// A tiny test helper. One source file is one executable; this header brings its main(). A failed
// check ends its test and says where and why; the other tests still run.
//   TEST(a_new_window_is_empty) {
//     CHECK_EQ(window.size(), 0);
//     CHECK_THROWS(window.evict(), std::out_of_range);
//   }
#pragma once

#include <cstdio>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace slidefold::check {

inline std::vector<std::pair<const char*, void (*)()>> tests;
inline bool add(const char* name, void (*body)()) { return tests.emplace_back(name, body), true; }

[[noreturn]] inline void fail(const char* file, int line, const std::string& what) {
  throw std::logic_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

template <typename T>
std::string show(const T& value) {
  std::ostringstream out;
  out.precision(17);
  if constexpr (requires { out << value; }) out << value;
  return out.str();
}

// Integers are the same if their values are, whatever their signedness.
template <typename A, typename B>
bool same(const A& a, const B& b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    using Wide = std::common_type_t<A, B>;
    return static_cast<Wide>(a) == static_cast<Wide>(b) && (a < A{}) == (b < B{});
  } else {
    return a == b;
  }
}

}  // namespace slidefold::check

#define TEST(name)                                                                         \
  static void name();                                                                      \
  [[maybe_unused]] static const bool name##_added = ::slidefold::check::add(#name, &name); \
  static void name()
#define CHECK_FAIL(what) ::slidefold::check::fail(__FILE__, __LINE__, what)
#define CHECK(condition) ((condition) ? void() : CHECK_FAIL(#condition " is false"))
#define CHECK_EQ(left, right)                                                                  \
  [&](const auto& a, const auto& b) {                                                          \
    using namespace ::slidefold::check;                                                        \
    if (!same(a, b)) CHECK_FAIL(#left " == " #right " is false: " + show(a) + ", " + show(b)); \
  }((left), (right))
#define CHECK_THROWS(expression, error)               \
  [&] {                                               \
    try {                                             \
      static_cast<void>(expression);                  \
    } catch (const error&) {                          \
      return;                                         \
    }                                                 \
    CHECK_FAIL(#expression " did not throw " #error); \
  }()

int main() {
  int failed = 0;
  for (const auto& [name, body] : ::slidefold::check::tests) try {
      body();
    } catch (const std::exception& error) {
      std::printf("FAILED %s\n  %s\n", name, error.what());
      ++failed;
    }
  std::printf("%d passed, %d failed\n", int(::slidefold::check::tests.size()) - failed, failed);
  return failed == 0 ? 0 : 1;
}
