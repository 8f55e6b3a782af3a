// What sketches lower to, as Python sees them.
#pragma once

#include <cmath>
#include <memory>

#include "python.hpp"
#include "slidefold/operators/count_min.hpp"
#include "slidefold/operators/max_entropy.hpp"
#include "slidefold/operators/moment_sketch.hpp"
#include "slidefold/operators/naive_bayes.hpp"

namespace slidefold::bindings {

// The moments of a window: quantiles are solved for when the first one is asked.
class Moments {
 public:
  template <class State>
  Moments(const State& state, std::size_t k)
      : n_(state.n + static_cast<double>(state.wild)),
        low_(state.wild > 0 ? std::nan("") : state.low),
        high_(state.wild > 0 ? std::nan("") : state.high),
        mean_(state.wild > 0 ? std::nan("") : state.pivot + state.offset) {
    if (state.wild > 0 || state.sums.empty()) return;
    const double half = state.high / 2 - state.low / 2;
    const double center = state.low + half;
    const double shift = ((state.pivot - center) + state.offset) / half;
    const double unit = std::ldexp(1 / half, static_cast<int>(state.unit));
    std::vector<double> central(k + 1, 0), powers(k + 1, 0);
    central[0] = 1;
    double scale = unit;
    for (std::size_t p = 2; p <= k; ++p) {
      scale *= unit;
      central[p] = state.sums[p - 2] * scale / state.n;
    }
    for (std::size_t p = 0; p <= k; ++p) {
      double choose = 1, power = 1;
      for (std::size_t j = 0; j <= p; ++j) {  // (d + shift)^p
        powers[p] += choose * power * central[p - j];
        power *= shift;
        choose = choose * static_cast<double>(p - j) / static_cast<double>(j + 1);
      }
    }
    // T_{i+1} = 2 x T_i - T_{i-1}, coefficient by coefficient.
    std::vector<double> before(k + 1, 0), now(k + 1, 0);
    now[0] = 1;
    for (std::size_t i = 0; i <= k; ++i) {
      double moment = 0;
      for (std::size_t p = 0; p <= i; ++p) moment += now[p] * powers[p];
      moments_.push_back(std::clamp(moment, -1.0, 1.0));
      std::vector<double> next(k + 1, 0);
      for (std::size_t p = 0; p < k; ++p) next[p + 1] = (i == 0 ? 1 : 2) * now[p];
      for (std::size_t p = 0; p <= k; ++p) next[p] -= before[p];
      before = std::exchange(now, std::move(next));
    }
  }

  double n() const { return n_; }
  double low() const { return low_; }
  double high() const { return high_; }
  double mean() const { return mean_; }
  const std::vector<double>& moments() const { return moments_; }

  bool operator==(const Moments& other) const {
    const bool wild = low_ != low_ && other.low_ != other.low_;
    return n_ == other.n_ && moments_ == other.moments_ &&
           (wild || (low_ == other.low_ && high_ == other.high_ && mean_ == other.mean_));
  }

  double quantile(double q) {
    if (moments_.empty() || q == 0) return low_;
    if (q == 1) return high_;
    if (density_ == nullptr) density_ = std::make_shared<const MaxEntropy>(moments_);
    const double half = high_ / 2 - low_ / 2;
    return std::clamp(low_ + (density_->quantile(q) + 1) * half, low_, high_);
  }

 private:
  double n_, low_, high_, mean_;
  std::vector<double> moments_;  // Chebyshev, on [low, high]; empty if there is one value only
  std::shared_ptr<const MaxEntropy> density_;
};

// A classifier of any types of labels and features.
struct Classifier {
  virtual ~Classifier() = default;
  virtual nb::object predict(nb::handle features) const = 0;
  virtual nb::object labels() const = 0;
  virtual nb::object counts() const = 0;
  virtual bool same(const Classifier& other) const = 0;
};

template <class T>
nb::object to_python(const T& value) {
  PyObject* result = Value<T>::to(value);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

template <class Label, class Feature>
class ClassifierOf final : public Classifier {
 public:
  using Counts = typename NaiveBayes<Label, Feature>::State;
  explicit ClassifierOf(const Counts& counts) : model_(counts) {}
  nb::object predict(nb::handle features) const override {
    if (!PyTuple_Check(features.ptr()) && !PyList_Check(features.ptr())) {
      fail("ValueTypeError", "expected a tuple of features, got " + shown(features.ptr()));
    }
    std::vector<Feature> values;
    for (const nb::handle value : features) values.push_back(Value<Feature>::from(value.ptr()));
    const auto found = model_.predict(values);
    return found ? to_python(*found) : nb::none();
  }
  nb::object labels() const override {
    nb::dict result;
    for (const auto& [label, n] : model_.labels()) result[to_python(label)] = n;
    return result;
  }

  nb::object counts() const override {
    nb::list result;
    for (const auto& [key, n] : model_.counts()) {
      const auto& [feature, value, label] = key;
      result.append(nb::make_tuple(to_python(label), feature, to_python(value), n));
    }
    return result;
  }

  bool same(const Classifier& other) const override {
    const auto* like = dynamic_cast<const ClassifierOf*>(&other);
    return like != nullptr && model_ == like->model_;
  }

 private:
  BayesModel<Label, Feature> model_;
};

struct NaiveBayesModel {
  std::shared_ptr<const Classifier> classifier;
};

}  // namespace slidefold::bindings
