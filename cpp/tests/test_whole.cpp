// Means that are rounded once, and numbers that travel as int64.
#include "check.hpp"
#include "slidefold/operators/counts.hpp"
#include "slidefold/operators/ranges.hpp"
#include "slidefold/operators/whole.hpp"

using namespace slidefold;

namespace {

constexpr std::uint64_t kTop = std::uint64_t{1} << 63;
std::int64_t code(std::uint64_t value) { return static_cast<std::int64_t>(value ^ kTop); }

template <class Op>
typename Op::Out fold(const Op& op, const std::vector<std::int64_t>& values) {
  auto state = op.identity();
  for (const std::int64_t value : values) state = op.combine(state, op.lift(value));
  return op.lower(state);
}

}  // namespace

TEST(a_ratio_is_rounded_once) {
  CHECK_EQ(ratio(1, 3), 1.0 / 3.0);
  CHECK_EQ(ratio(-10, 4), -2.5);
  CHECK_EQ(ratio(0, int128{1} << 100), 0.0);
  const int128 odd = (int128{1} << 53) + 1;  // halfway between two floats: to the even one
  CHECK_EQ(ratio(odd, 1), 0x1p53);
  CHECK_EQ(ratio(2 * odd + 1, 2), 0x1p53 + 2);  // a little more than halfway
  CHECK_EQ(ratio(-2 * odd - 1, 2), -0x1p53 - 2);
  CHECK_EQ(ratio(3, int128{1} << 120), 3 * 0x1p-120);
  CHECK_EQ(ratio((int128{1} << 126) - 1, 1), 0x1p126);
}

TEST(means_of_integers_are_those_of_the_exact_sum) {
  // Rounded first, the sum would be 2^54 and the mean 2^54 / 3.
  const std::int64_t big = (std::int64_t{1} << 54) - 1;
  CHECK_EQ(fold(Mean<std::int64_t>{}, {big, 1, 1}), ratio(static_cast<int128>(big) + 2, 3));
  CHECK_EQ(fold(DecimalMean{{}, 10}, {1, 1, 1}), 0.1);
  CHECK_EQ(fold(DecimalMean{{}, 100}, {-1050, 50}), -5.0);
}

TEST(codes_of_unsigned_numbers_are_added_as_the_numbers) {
  const std::uint64_t most = ~std::uint64_t{0};
  CHECK_EQ(fold(Unsigned<Mean<std::int64_t>>{}, {code(0), code(10)}), 5.0);
  CHECK_EQ(fold(Unsigned<Mean<std::int64_t>>{}, {code(most), code(most)}), 0x1p64);
  const std::uint64_t far = 1'700'000'000'000'000'000;
  CHECK_EQ(fold(Unsigned<RelativeVariation<std::int64_t>>{}, {code(far), code(far + 17)}),
           17.0 / 1.7e18);
}

TEST(edges_are_compared_with_the_numbers) {
  const Histogram<std::int64_t> bins({0.5, 0x1p63, 0x1p63 + 2048}, int128{1} << 63);
  const std::vector<std::int64_t> found =
      fold(bins, {code(0), code(1), code(kTop - 1), code(kTop), code(kTop + 2047)});
  CHECK_EQ(found[0], 2);
  CHECK_EQ(found[1], 2);
}
