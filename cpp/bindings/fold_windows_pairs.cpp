// Two columns over windows: what they have to do with each other, or the row where one is largest.
#include "fold_windows_job.hpp"

namespace slidefold::bindings {
namespace {

// Row numbers beside keys.
template <class Key>
struct NumberedKeys {
  const Key* keys;
  Pair<std::uint32_t, Key> operator[](std::size_t row) const {
    return {static_cast<std::uint32_t>(row), keys[row]};
  }
};

template <class X, class Y>
struct PairValues {
  const X* x;
  const Y* y;
  Pair<X, Y> operator[](std::size_t row) const { return {x[row], y[row]}; }
};

void require_pair(const JobSpec& job) {
  if (nb::isinstance<nb::tuple>(job.values) && nb::len(job.values) == 2) return;
  fail("ValueTypeError", "expected a pair of columns");
}

// The row of an extreme key, or a word of that row.
template <class Op, class Key>
std::unique_ptr<Job> extreme_job(const JobSpec& job, Op op, nb::handle keys,
                                 std::shared_ptr<void> words) {
  auto column = column_of<Key>(keys, job.rows);
  op.flip = job.spec.name == "max_by" ? 0 : -1;
  const LiftPresent<Op, NumberedKeys<Key>> lift{op, {column->data()}, job.present.valid};
  using Held = std::pair<std::shared_ptr<void>, std::shared_ptr<void>>;
  return fold_job<Op>(job, std::make_shared<Held>(column, std::move(words)), lift);
}

template <class Key>
std::unique_ptr<Job> extreme_row_job(const JobSpec& job) {
  if (!nb::isinstance<nb::tuple>(job.values)) {
    return extreme_job<LargestRow<Key>, Key>(job, {}, job.values, nullptr);
  }
  require_pair(job);
  const nb::object words_given = job.values[0], keys = job.values[1];
  const auto words = words_of<std::uint64_t>(words_given, job.rows);
  if (words == nullptr) fail("ValueTypeError", "expected unsigned words of 8 bytes");
  AtLargestRow<Key> op;
  op.words = words->data();
  return extreme_job<AtLargestRow<Key>, Key>(job, op, keys, words);
}

template <class X, class Y>
std::unique_ptr<Job> joint_job(const JobSpec& job, Joint kind) {
  using Op = ColumnJoint<X, Y>;
  require_pair(job);
  auto columns =
      std::make_shared<std::pair<std::shared_ptr<Column<X>>, std::shared_ptr<Column<Y>>>>(
          column_of<X>(job.values[0], job.rows), column_of<Y>(job.values[1], job.rows));
  Op op;
  op.kind = kind;
  if (kind == Joint::kCovariance) op.ddof = job.spec.number("ddof");
  const PairValues<X, Y> values{columns->first->data(), columns->second->data()};
  return fold_job<Op>(job, columns,
                      LiftPresent<Op, PairValues<X, Y>>{op, values, job.present.valid});
}

}  // namespace

std::unique_ptr<Job> pair_job(const JobSpec& job) {
  const std::string_view name = job.spec.name;
  if (name == "max_by" || name == "min_by") {
    return with_number(job.spec.key, [&](auto key) -> std::unique_ptr<Job> {
      return extreme_row_job<decltype(key)>(job);
    });
  }
  Joint kind = Joint::kCorrelation;
  if (name == "covariance") {
    kind = Joint::kCovariance;
  } else if (name == "trend") {
    kind = Joint::kTrend;
  } else if (name != "correlation") {
    return nullptr;
  }
  return with_number(job.spec.dtype, [&](auto x) {
    return with_number(job.spec.key, [&](auto y) -> std::unique_ptr<Job> {
      return joint_job<decltype(x), decltype(y)>(job, kind);
    });
  });
}

}  // namespace slidefold::bindings
