// Numbers of one column over windows.
#include <bit>
#include <cstdint>

#include "fold_windows_job.hpp"

namespace slidefold::bindings {
namespace {

// Operators for which there is a value that changes nothing: it takes the place of nulls.
template <class Op>
std::unique_ptr<Job> value_job(const JobSpec& spec, const Op& op) {
  using T = typename Op::In;
  auto column = column_of<T>(spec.values, spec.rows);
  const T* const values = column->data();
  const bool* const valid = spec.present.valid;
  if (valid == nullptr) return fold_job<Op>(spec, column, LiftValue<Op>{op, values});
  return fold_job<Op>(spec, column, LiftOrNeutral<Op>{op, values, valid});
}

template <class Op>
std::unique_ptr<Job> present_job(const JobSpec& spec, const Op& op) {
  using T = typename Op::In;
  auto column = column_of<T>(spec.values, spec.rows);
  const LiftPresent<Op, const T*> lift{op, column->data(), spec.present.valid};
  return fold_job<Op>(spec, column, lift);
}

std::unique_ptr<Job> geomean_job(const JobSpec& spec) {
  using Op = ColumnMean<double>;
  Op op;
  op.logarithms = true;
  const auto column = column_of<double>(spec.values, spec.rows);
  auto logarithms = std::make_shared<Buffer<double>>(spec.rows);
  run_long(false, [&] {
    in_blocks(0, spec.rows,
              [&](std::size_t row) { (*logarithms)[row] = std::log(column->data()[row]); });
  });
  const LiftPresent<Op, const double*> lift{op, logarithms->data(), spec.present.valid};
  return fold_job<Op>(spec, logarithms, lift);
}

}  // namespace

std::unique_ptr<Job> number_job(const JobSpec& job) {
  const Spec& spec = job.spec;
  const std::string_view name = spec.name;
  if (name == "geomean" && spec.dtype == "float64") return geomean_job(job);
  if (spec.dtype != "float64" && spec.dtype != "int64") return nullptr;
  return with_number(spec.dtype, [&](auto t) -> std::unique_ptr<Job> {
    using T = decltype(t);
    if (name == "sum") return value_job(job, ColumnSum<T>{});
    if (name == "max") return value_job(job, ColumnExtreme<T>{});
    if (name == "min") return value_job(job, ColumnExtreme<T>{-1});
    if (name == "mean") return present_job(job, ColumnMean<T>{});
    if (name == "var") return present_job(job, Var<T>{spec.number("ddof"), false});
    if (name == "std") return present_job(job, Var<T>{spec.number("ddof"), true});
    return nullptr;
  });
}

}  // namespace slidefold::bindings
