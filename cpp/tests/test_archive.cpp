// Values and the states of operators, saved and loaded; other bytes are refused.
#include <cstring>
#include <limits>
#include <string>

#include "check.hpp"
#include "slidefold/operators/arithmetic.hpp"
#include "slidefold/operators/bloom.hpp"
#include "slidefold/operators/dyn.hpp"
#include "slidefold/operators/extremes.hpp"
#include "slidefold/operators/moments.hpp"
#include "slidefold/operators/positional.hpp"
#include "slidefold/storage/archive.hpp"

using namespace slidefold;

// ---- values

template <class T>
static T round_trip(const T& value) {
  Saver saver;
  saver(value);
  Loader loader(saver.bytes());
  T result{};
  loader(result);
  loader.finish();
  return result;
}

TEST(numbers_are_little_endian) {
  Saver saver;
  saver(std::uint32_t{0x01020304}, true, std::int8_t{-2}, std::string("ab"));
  CHECK_EQ(saver.bytes(), std::string("\4\3\2\1\1\xFE\2\0\0\0\0\0\0\0ab", 16));
}

TEST(values_come_back) {
  const int128 large = (int128{-5} << 100) + 7;
  CHECK(round_trip(large) == large);
  CHECK_EQ(round_trip(std::numeric_limits<std::int64_t>::min()),
           std::numeric_limits<std::int64_t>::min());
  const double nan = std::bit_cast<double>(0xFFF8000000001234u);
  CHECK_EQ(std::bit_cast<std::uint64_t>(round_trip(nan)), 0xFFF8000000001234u);
  const std::vector<std::string> words = {"", "a\0b", "\xC3\xA9\xF0\x9F\x98\x80"};
  CHECK(round_trip(words) == words);
}

TEST(what_is_no_value_is_refused) {
  const auto refused = [](const std::string& bytes, auto value) {
    CHECK_THROWS((Loader(bytes)(value)), BadState);
  };
  refused("\2", bool{});
  refused("abc", std::int32_t{});
  refused(std::string("\3\0\0\0\0\0\0\0ab", 10), std::string{});
  refused(std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8), std::vector<double>{});
  CHECK_THROWS(Loader("x").finish(), BadState);
}

// Loaded states can be added up: neither counts nor sums overflow, together or alone.
TEST(counts_and_sums_fit_together) {
  constexpr std::int64_t half = std::int64_t{1} << 61;
  Saver saver;
  for (const std::int64_t n : {half, half, std::int64_t{1}}) saver.count(n);
  Loader loader(saver.bytes());
  std::int64_t n = 0;
  loader.count(n), loader.count(n);
  CHECK_EQ(n, half);
  CHECK_THROWS(loader.count(n), BadState);
  for (const std::int64_t wrong : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    Saver one;
    one.count(wrong);
    CHECK_THROWS(Loader(one.bytes()).count(n), BadState);
  }
  for (const double wrong : {-1.0, 0.5, 0x1p63, std::numeric_limits<double>::quiet_NaN()}) {
    Saver one;
    one.count(wrong);
    double real = 0;
    CHECK_THROWS(Loader(one.bytes()).count(real), BadState);
  }
  const int128 most = int128{1} << 126;
  for (const int128 sum : {most, -most}) {
    Saver both;
    both.total(sum), both.total(int128{-1});
    Loader sums(both.bytes());
    int128 total = 0;
    sums.total(total);
    CHECK(total == sum);
    CHECK_THROWS(sums.total(total), BadState);
  }
}

TEST(texts_are_utf_8) {
  for (const char* text : {"", "a", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEF\xBF\xBF",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "x\xC3\xA9y"}) {
    CHECK(is_text(text));
  }
  for (const char* text :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xE2\x82(", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    CHECK(!is_text(text));
  }
}

// ---- operators

struct Unsaveable {
  struct State {
    void* pointer;
  };
};
static_assert(!ArchivableOperator<Unsaveable>);
static_assert(ArchivableOperator<Sum<std::int64_t>> && ArchivableOperator<BloomOf<double>>);
static_assert(ArchivableOperator<DynOp<16>> && ArchivableOperator<AnyOp>);
static_assert(!Archivable<long double> && !Archivable<std::vector<void*>>);

template <class Op>
static typename Op::State state_round_trip(const Op& op, const typename Op::State& state) {
  Saver once, again;
  archive_state(once, op, state);
  Loader loader(once.bytes());
  typename Op::State result{};
  archive_state(loader, op, result);
  loader.finish();
  archive_state(again, op, result);
  CHECK_EQ(once.bytes(), again.bytes());
  return result;
}

template <class Op>
static void every_state_comes_back(const Op& op, const std::vector<typename Op::In>& values) {
  typename Op::State fold = op.identity();
  CHECK(op.same(state_round_trip(op, fold), fold));
  for (const auto& value : values) {
    fold = op.combine(fold, op.lift(value));
    CHECK(op.same(state_round_trip(op, fold), fold));
  }
}

TEST(the_states_of_operators_come_back) {
  const std::vector<std::int64_t> whole = {3, -7, std::numeric_limits<std::int64_t>::min(), 3};
  const std::vector<double> real = {1.5, -0.0, std::numeric_limits<double>::infinity(), 1e-300};
  every_state_comes_back(Count{}, {{}, {}});
  every_state_comes_back(Sum<std::int64_t>{}, whole);
  every_state_comes_back(Mean<std::int64_t>{}, whole);
  every_state_comes_back(MinMax<Extreme::kMax, double>{}, real);
  every_state_comes_back(ExtremeCount<Extreme::kMin, double>{}, real);
  every_state_comes_back(ExtremeBy<Extreme::kMax, std::string, double>{},
                         {{"one", 1.0}, {"two", 2.0}, {"", -1.0}});
  every_state_comes_back(AtEnd<End::kFirst, double>{}, real);
  every_state_comes_back(AtEnd<End::kLast, std::string>{}, {"x", "", "yz"});
  every_state_comes_back(Concat{}, {"x", "", "yz"});
  every_state_comes_back(Collect<std::string>{}, {"x", "", "yz"});
  for (const std::uint64_t bits : {64u, 300u, 4096u}) {
    BloomOf<std::int64_t> bloom;
    bloom.bits = bits;
    std::vector<std::int64_t> many;
    for (std::int64_t i = 0; i < 50; ++i) many.push_back(i * i);
    every_state_comes_back(bloom, many);
  }
  const Var<double> var;
  auto spread = var.lift(1.5);
  for (const double value : {2.0, 7.0}) spread = var.combine(spread, var.lift(value));
  CHECK_EQ(var.lower(state_round_trip(var, spread)), var.lower(spread));
  const Geomean<double> geomean;
  const auto logs = geomean.combine(geomean.lift(2.0), geomean.lift(5.0));
  CHECK_EQ(geomean.lower(state_round_trip(geomean, logs)), geomean.lower(logs));
}

TEST(padding_is_not_saved) {
  using By = ExtremeBy<Extreme::kMax, double, double>;
  std::string seen;
  for (const int garbage : {0, 0xFF}) {
    alignas(By::State) unsigned char room[sizeof(By::State)];
    std::memset(room, garbage, sizeof(room));
    auto* state = reinterpret_cast<By::State*>(room);
    state->key = 5, state->arg = 2.5, state->some = true;
    Saver saver;
    archive_state(saver, By{}, *state);
    if (garbage != 0) CHECK_EQ(saver.bytes(), seen);
    seen = saver.bytes();
  }
}

TEST(a_bloom_filter_of_another_size_is_refused) {
  const auto refused = [](bool dense, const std::vector<std::uint64_t>& words) {
    BloomOf<double> bloom;
    bloom.bits = 300;
    Saver saver;
    saver(dense, words);
    Loader loader(saver.bytes());
    Bloom::State state;
    CHECK_THROWS(bloom.archive(loader, state), BadState);
  };
  refused(true, {1, 2, 3, 4});
  refused(true, {1, 2, 3, 4, 5, 6});
  refused(false, {1, 2, 3});
  refused(false, {2, 1});
  refused(false, {2, 2});
}
