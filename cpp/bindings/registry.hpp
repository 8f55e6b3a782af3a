// The one table of what exists: operators by name and type (operators.cpp), algorithms by name
// (registry.cpp), and how the two are paired.
//
// A hot pair is a static template; every other one is the algorithm over an erased operator, so
// that anything runs with anything.
#pragma once

#include <string>
#include <string_view>

#include "face.hpp"
#include "slidefold/operators/moments.hpp"

namespace slidefold::bindings {

// An operator as Python describes it.
struct Spec {
  std::string name;
  std::string dtype;  // of the values; of the argument for max_by and min_by
  std::string key;    // of the key, for max_by and min_by
  nb::dict params;    // ddof, bits, hashes, ...; the functions of a user's operator
  bool keeps_nulls;   // None is a value, not something to skip

  std::int64_t number(const char* param) const { return nb::cast<std::int64_t>(params[param]); }
  double real(const char* param) const { return nb::cast<double>(params[param]); }
};
Spec spec_from(nb::handle description);

// What an operator can do, as the planner and the pair checks see it.
struct Traits {
  bool invertible, selective, commutative, fallible;
  std::size_t state_bytes;
};
Traits traits(const Spec& spec);

struct ErasedOperator {
  ErasedOp op;
  bool plain;
  std::size_t bytes;
  std::shared_ptr<std::atomic<std::int64_t>> combines;  // when counted
};
ErasedOperator erase(const Spec& spec, bool counted);

// Calls visit with a DynOp or AnyOp that can hold the operator's states. Without the template for
// 64 bytes, plain states of more than 16 lie behind a pointer.
template <bool k64 = true, class Visit>
auto with_erased(const ErasedOperator& erased, Visit&& visit) {
  if (erased.plain && erased.bytes <= 16) return visit(DynOp<16>{erased.op});
  if constexpr (k64) {
    if (erased.plain && erased.bytes <= 64) return visit(DynOp<64>{erased.op});
  }
  return visit(AnyOp{erased.op});
}

using FacePtr = std::unique_ptr<Face>;
using Maker = FacePtr (*)(const Spec&, const Options&);

// How many static templates an algorithm is worth: those that plans choose for events get the
// numbers, the others the few that throughput comparisons use, so that algorithms compete on equal
// terms, or only the sum. Columns are folded by others (fold_hot.cpp).
enum class Static { kNone, kSum, kFew, kNumbers };

// A lean build has the sum at most: sooner compiled, and every result the same.
#ifdef SLIDEFOLD_LEAN
inline constexpr bool kLean = true;
#else
inline constexpr bool kLean = false;
#endif

// Calls visit with the static operator if the spec names one of few, else returns null.
template <class Visit>
auto with_few_operators(const Spec& spec, Visit&& visit) {
  using Result = decltype(visit(Sum<double>{}));
  if (spec.dtype != "float64") return Result{};
  if (spec.name == "sum") return visit(Sum<double>{});
  if (spec.name == "max") return visit(MinMax<Extreme::kMax, double>{});
  if (spec.name == "mean") return visit(Mean<double>{});
  if (spec.name == "geomean") return visit(Geomean<double>{});
  return Result{};
}

// Calls visit with a value of the type that the name of a type stands for.
template <class Visit>
auto with_number(const std::string& dtype, Visit&& visit) {
  return dtype == "int64" ? visit(std::int64_t{}) : visit(double{});
}

// Calls visit with the static operator if the spec names one of a number, else returns null.
template <class Visit>
auto with_number_operator(const Spec& spec, Visit&& visit) {
  using Result = decltype(visit(Sum<double>{}));
  const std::string_view name = spec.name;
  if (name == "count") return visit(Count{});
  if (name == "geomean" && spec.dtype == "float64") return visit(Geomean<double>{});
  return with_number(spec.dtype, [&](auto t) {
    using T = decltype(t);
    if (name == "sum") return visit(Sum<T>{});
    if (name == "mean") return visit(Mean<T>{});
    if (name == "min") return visit(MinMax<Extreme::kMin, T>{});
    if (name == "max") return visit(MinMax<Extreme::kMax, T>{});
    if (name == "var") return visit(Var<T>{spec.number("ddof"), false});
    if (name == "std") return visit(Var<T>{spec.number("ddof"), true});
    return Result{};
  });
}

// Calls visit with the static operator if the spec names a hot one, else returns null.
template <class Visit>
auto with_hot_operator(const Spec& spec, Visit&& visit) {
  using Result = decltype(visit(Sum<double>{}));
  const std::string_view name = spec.name;
  if (name != "max_by" && name != "min_by") return with_number_operator(spec, visit);
  if (spec.dtype != "float64" && spec.dtype != "int64") return Result{};
  return with_number(spec.dtype, [&](auto arg) {
    return with_number(spec.key, [&](auto key) {
      using A = decltype(arg);
      using K = decltype(key);
      return name == "max_by" ? visit(ExtremeBy<Extreme::kMax, A, K>{})
                              : visit(ExtremeBy<Extreme::kMin, A, K>{});
    });
  });
}

// Pairs an algorithm with whatever operator the spec names. Build<Op>::make(op, options) makes the
// face. The template for states of up to 64 bytes takes long to compile, so only algorithms that
// plans choose have it, and those that a figure runs over such states.
template <template <class> class Build, Static kStatic, bool kInvertible = false,
          bool kSelective = false, bool k64 = kStatic == Static::kNumbers, class Options>
auto make(const Spec& spec, const Options& options) {
  using Pointer = decltype(Build<AnyOp>::make(std::declval<AnyOp>(), options));
  bool erased_only = options.counted;
  if constexpr (requires { options.erased; }) erased_only |= options.erased;
  if (!erased_only) {
    const auto build = [&](auto op) -> Pointer {
      using Op = decltype(op);
      if constexpr ((!kInvertible || Invertible<Op>) && (!kSelective || Selective<Op>)) {
        return Build<Op>::make(op, options);
      } else {
        return nullptr;
      }
    };
    Pointer face;
    if constexpr (kStatic == Static::kSum || (kLean && kStatic != Static::kNone)) {
      if (spec.name == "sum" && spec.dtype == "float64") face = build(Sum<double>{});
    } else if constexpr (kStatic == Static::kFew) {
      face = with_few_operators(spec, build);
    } else if constexpr (kStatic == Static::kNumbers) {
      face = with_number_operator(spec, build);
    }
    if (face != nullptr) return face;
  }
  const ErasedOperator erased = erase(spec, options.counted);
  Pointer face = with_erased<(k64 && !kLean)>(
      erased, [&](auto op) -> Pointer { return Build<decltype(op)>::make(op, options); });
  if constexpr (requires { face->combines; }) face->combines = erased.combines;
  return face;
}

// Most algorithms are made from the operator alone.
template <template <class> class Algorithm>
struct Plain {
  template <class Op>
  struct Build {
    static FacePtr make(const Op& op, const Options& options) {
      return std::make_unique<FaceOf<Op, Algorithm<Op>>>(op, Algorithm<Op>(op), options);
    }
  };
};

struct AlgorithmEntry {
  const char* name;
  Maker make;
  bool needs_invertible;
  bool needs_selective;
};
const std::vector<AlgorithmEntry>& algorithms();

// The algorithm of that name over the operator, if the two go together.
FacePtr make_face(const std::string& name, nb::handle op, Options options);
Options options_from(nb::dict options);

}  // namespace slidefold::bindings
