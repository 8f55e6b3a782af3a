// The density of largest entropy on [-1, 1] with given Chebyshev moments.
//
// Layout: a grid of cells, even in the angle, so that they are fine near the ends, and the mass
// below
//   each edge.
// Invariants: the masses rise from 0 to 1.
// Cost: a few dozen Newton steps of moments * cells operations.
// Paper: none in this repository; the dual is convex, Newton's steps are halved until it falls.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <vector>

namespace slidefold {

class MaxEntropy {
 public:
  // moments[i] is the mean of the i-th Chebyshev polynomial; moments[0] is 1. With more moments
  // than the data determine (few distinct values) the search fails, and fewer are tried.
  explicit MaxEntropy(std::vector<double> moments) {
    for (std::size_t j = 0; j < kCells; ++j) {
      const double angle = std::numbers::pi * (1 - (static_cast<double>(j) + 0.5) / kCells);
      at_[j] = std::cos(angle);
      width_[j] = std::sin(angle) * std::numbers::pi / kCells;
    }
    std::optional<std::vector<double>> found;
    while (!(found = solve(moments)) && moments.size() > 2) moments.pop_back();
    const std::vector<double> masses =
        found ? masses_of(*found) : std::vector<double>(width_.begin(), width_.end());
    double total = 0;
    for (const double mass : masses) below_.push_back(total), total += mass;
    below_.push_back(total);
    for (double& below : below_) below /= total;
  }

  // Where a share q of the mass lies below.
  double quantile(double q) const {
    const auto above = std::upper_bound(below_.begin() + 1, below_.end() - 1, q);
    const auto cell = static_cast<std::size_t>(above - below_.begin()) - 1;
    const double mass = below_[cell + 1] - below_[cell];
    const double part = mass > 0 ? std::clamp((q - below_[cell]) / mass, 0.0, 1.0) : 0.5;
    return edge(cell) + part * (edge(cell + 1) - edge(cell));
  }

 private:
  static constexpr std::size_t kCells = 512;
  using Vector = std::vector<double>;

  static double edge(std::size_t j) {
    return -std::cos(std::numbers::pi * static_cast<double>(j) / kCells);
  }

  // The mass of each cell under exp(sum of lambda_i T_i).
  Vector masses_of(const Vector& lambda) const {
    Vector masses(kCells);
    for (std::size_t j = 0; j < kCells; ++j) {
      double b1 = 0, b2 = 0;  // Clenshaw
      for (std::size_t i = lambda.size() - 1; i > 0; --i) {
        const double b = 2 * at_[j] * b1 - b2 + lambda[i];
        b2 = b1, b1 = b;
      }
      masses[j] = std::exp(at_[j] * b1 - b2 + lambda[0]) * width_[j];
    }
    return masses;
  }

  // Chebyshev moments 0..count-1 of masses.
  Vector moments_of(const Vector& masses, std::size_t count) const {
    Vector moments(count, 0);
    for (std::size_t j = 0; j < kCells; ++j) {
      double before = at_[j], now = 1;  // T_-1 = T_1
      for (std::size_t i = 0; i < count; ++i) {
        moments[i] += masses[j] * now;
        const double next = 2 * at_[j] * now - before;
        before = now, now = next;
      }
    }
    return moments;
  }

  static double dual(const Vector& masses, const Vector& lambda, const Vector& moments) {
    double value = 0;
    for (const double mass : masses) value += mass;
    for (std::size_t i = 0; i < lambda.size(); ++i) value -= lambda[i] * moments[i];
    return value;
  }

  std::optional<Vector> solve(const Vector& moments) const {
    const std::size_t n = moments.size();
    Vector lambda(n, 0);
    lambda[0] = -std::numbers::ln2;
    Vector masses = masses_of(lambda);
    double value = dual(masses, lambda, moments);
    for (int step = 0; step < 200; ++step) {
      const Vector found = moments_of(masses, 2 * n);
      Vector gradient(n);
      double worst = 0;
      for (std::size_t i = 0; i < n; ++i) {
        gradient[i] = found[i] - moments[i];
        worst = std::max(worst, std::abs(gradient[i]));
      }
      if (worst < 1e-9) return lambda;
      const std::optional<Vector> move = newton(found, gradient);
      if (!move) return std::nullopt;
      double slope = 0;
      for (std::size_t i = 0; i < n; ++i) slope += gradient[i] * (*move)[i];
      bool moved = false;
      for (double size = 1; size > 1e-10 && !moved; size /= 2) {
        Vector trial = lambda;
        for (std::size_t i = 0; i < n; ++i) trial[i] -= size * (*move)[i];
        Vector trial_masses = masses_of(trial);
        const double trial_value = dual(trial_masses, trial, moments);
        if (!(trial_value <= value - 1e-4 * size * slope)) continue;
        lambda = std::move(trial), masses = std::move(trial_masses), value = trial_value;
        moved = true;
      }
      // Where rounding hides the last steps, what is near enough will do.
      if (!moved) return worst < 1e-6 ? std::optional(lambda) : std::nullopt;
    }
    return std::nullopt;
  }

  // Solves H x = gradient by Cholesky; T_i T_j = (T_{i+j} + T_|i-j|) / 2.
  static std::optional<Vector> newton(const Vector& found, const Vector& gradient) {
    const std::size_t n = gradient.size();
    std::vector<Vector> root(n, Vector(n, 0));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = (found[i + j] + found[i - j]) / 2;
        for (std::size_t l = 0; l < j; ++l) sum -= root[i][l] * root[j][l];
        if (i == j) {
          if (!(sum > 1e-14 * found[0])) return std::nullopt;
          root[i][i] = std::sqrt(sum);
        } else {
          root[i][j] = sum / root[j][j];
        }
      }
    }
    Vector x = gradient;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) x[i] -= root[i][j] * x[j];
      x[i] /= root[i][i];
    }
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = i + 1; j < n; ++j) x[i] -= root[j][i] * x[j];
      x[i] /= root[i][i];
    }
    return x;
  }

  std::array<double, kCells> at_{}, width_{};
  Vector below_;
};

}  // namespace slidefold
