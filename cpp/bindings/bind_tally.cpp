// Kernels over frames of codes: how often values occur, and where a value stands among them.
#include <nanobind/stl/string.h>

#include <set>

#include "arrays.hpp"
#include "registry.hpp"
#include "slidefold/columns/tally.hpp"

namespace slidefold::bindings {
namespace {

using Bounds = Column<std::int64_t>;
using Codes = Column<std::int32_t>;

void require_codes(const Codes& codes, std::size_t distinct, const Bounds& lo, const Bounds& hi) {
  const std::size_t rows = codes.shape(0);
  if (lo.shape(0) != hi.shape(0)) {
    fail("ValueTypeError", "lo and hi differ in length: " + std::to_string(lo.shape(0)) + " and " +
                               std::to_string(hi.shape(0)));
  }
  require_frames({lo.data(), hi.data(), lo.shape(0)}, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    if (codes.data()[i] < 0 || static_cast<std::size_t>(codes.data()[i]) >= distinct) {
      fail("ValueTypeError", "expected codes numbered below " + std::to_string(distinct));
    }
  }
}

// Calls visit(frame) with the set at each frame.
template <class Set, class Visit>
void each_frame(Set& set, const Bounds& lo, const Bounds& hi, Visit&& visit) {
  run_long(false, [&] {
    FrameWalk<Set> walk(set);
    in_blocks(0, lo.shape(0), [&](std::size_t frame) {
      walk.move(lo.data()[frame], hi.data()[frame]);
      visit(frame);
    });
  });
}

nb::object count_codes(const Codes& codes, std::size_t distinct, const Bounds& lo,
                       const Bounds& hi) {
  require_codes(codes, distinct, lo, hi);
  const auto found = fresh_array<std::int64_t>(lo.shape(0));
  CodeCounts set(codes.data(), distinct);
  set.without_weights();
  each_frame(set, lo, hi, [&](std::size_t frame) {
    found.data[frame] = static_cast<std::int64_t>(set.distinct());
  });
  return found.array;
}

nb::object entropy_frames(const Codes& codes, std::size_t distinct, const Bounds& lo,
                          const Bounds& hi) {
  require_codes(codes, distinct, lo, hi);
  const auto found = fresh_array<double>(lo.shape(0));
  CodeCounts set(codes.data(), distinct);
  each_frame(set, lo, hi, [&](std::size_t frame) { found.data[frame] = set.entropy(); });
  return found.array;
}

// The most frequent code of each frame; -1 of an empty one.
nb::object mode_frames(const Codes& codes, std::size_t distinct, const Bounds& lo,
                       const Bounds& hi) {
  require_codes(codes, distinct, lo, hi);
  const auto found = fresh_array<std::int64_t>(lo.shape(0));
  CodeModes set(codes.data(), distinct);
  each_frame(set, lo, hi,
             [&](std::size_t frame) { found.data[frame] = set.empty() ? -1 : set.mode(); });
  return found.array;
}

// (codes, counts, where those of each frame end): the k most frequent codes of each frame.
nb::object frequent_frames(const Codes& codes, std::size_t distinct, const Bounds& lo,
                           const Bounds& hi, std::size_t k) {
  require_codes(codes, distinct, lo, hi);
  const auto offsets = fresh_array<std::int64_t>(lo.shape(0) + 1);
  std::vector<std::int64_t> items, counts;
  offsets.data[0] = 0;
  CodeModes set(codes.data(), distinct);
  each_frame(set, lo, hi, [&](std::size_t frame) {
    set.most_frequent(k, [&](std::int32_t code, std::uint32_t count) {
      items.push_back(code);
      counts.push_back(count);
    });
    offsets.data[frame + 1] = static_cast<std::int64_t>(items.size());
  });
  const auto found = fresh_array<std::int64_t>(items.size());
  const auto often = fresh_array<std::int64_t>(items.size());
  std::copy(items.begin(), items.end(), found.data);
  std::copy(counts.begin(), counts.end(), often.data);
  return nb::make_tuple(found.array, often.array, offsets.array);
}

// (smaller, equal): how many values of each frame are smaller than the frame's own, and how many
// are equal. An own value that is not a code is 2 * code - 1 of the next larger one, others 2 *
// code.
nb::object rank_frames_of(const Codes& codes, std::size_t distinct, const Bounds& lo,
                          const Bounds& hi, const Bounds& own) {
  require_codes(codes, distinct, lo, hi);
  if (own.shape(0) != lo.shape(0)) fail("ValueTypeError", "expected a value for each frame");
  for (std::size_t i = 0; i < own.shape(0); ++i) {
    if (own.data()[i] < -1 || own.data()[i] > 2 * static_cast<std::int64_t>(distinct)) {
      fail("ValueTypeError", "expected own values among the codes");
    }
  }
  const auto smaller = fresh_array<std::int64_t>(lo.shape(0));
  const auto equal = fresh_array<std::int64_t>(lo.shape(0));
  CodeRanks set(codes.data(), distinct);
  each_frame(set, lo, hi, [&](std::size_t frame) {
    const auto code = static_cast<std::size_t>((own.data()[frame] + 1) / 2);
    const bool known = own.data()[frame] % 2 == 0;
    smaller.data[frame] = static_cast<std::int64_t>(set.below(code));
    equal.data[frame] = known ? static_cast<std::int64_t>(set.equal(code)) : 0;
  });
  return nb::make_tuple(smaller.array, equal.array);
}

// (codes, first, end, where those of each frame end): the codes of each frame in order, and which
// rows of a code it holds, counted among the rows of that code. Frames never go back. None if a
// frame has more than `most` codes, and the frame.
nb::object code_frames(const Codes& codes, std::size_t distinct, const Bounds& lo, const Bounds& hi,
                       std::size_t most) {
  require_codes(codes, distinct, lo, hi);
  const auto offsets = fresh_array<std::int64_t>(lo.shape(0) + 1);
  offsets.data[0] = 0;
  std::vector<std::int64_t> found, first, end;
  std::vector<std::int64_t> left(distinct, 0), entered(distinct, 0);
  std::set<std::int32_t> present;
  std::int64_t low = 0, high = 0;
  std::int64_t refused = -1;
  run_long(false, [&] {
    in_blocks(0, lo.shape(0), [&](std::size_t frame) {
      if (refused >= 0) return;
      for (; high < hi.data()[frame]; ++high) {
        const std::int32_t code = codes.data()[high];
        if (entered[static_cast<std::size_t>(code)]++ == left[static_cast<std::size_t>(code)]) {
          present.insert(code);
        }
      }
      for (; low < lo.data()[frame]; ++low) {
        const std::int32_t code = codes.data()[low];
        if (low >= high) ++entered[static_cast<std::size_t>(code)];
        if (++left[static_cast<std::size_t>(code)] == entered[static_cast<std::size_t>(code)]) {
          present.erase(code);
        }
      }
      high = std::max(high, low);
      if (present.size() > most) refused = static_cast<std::int64_t>(frame);
      for (const std::int32_t code : present) {
        found.push_back(code);
        first.push_back(left[static_cast<std::size_t>(code)]);
        end.push_back(entered[static_cast<std::size_t>(code)]);
      }
      offsets.data[frame + 1] = static_cast<std::int64_t>(found.size());
    });
  });
  if (refused >= 0) return nb::int_(refused);
  const auto array = [](const std::vector<std::int64_t>& values) {
    const auto made = fresh_array<std::int64_t>(values.size());
    std::copy(values.begin(), values.end(), made.data);
    return made.array;
  };
  return nb::make_tuple(array(found), array(first), array(end), offsets.array);
}

}  // namespace

void bind_tally(nb::module_& m) {
  const auto def = [&](const char* name, auto function) {
    m.def(name, function, nb::arg("codes"), nb::arg("distinct"), nb::arg("lo"), nb::arg("hi"));
  };
  def("count_codes", count_codes);
  def("entropy_frames", entropy_frames);
  def("mode_frames", mode_frames);
  m.def("frequent_frames", frequent_frames, nb::arg("codes"), nb::arg("distinct"), nb::arg("lo"),
        nb::arg("hi"), nb::arg("k"));
  m.def("code_frames", code_frames, nb::arg("codes"), nb::arg("distinct"), nb::arg("lo"),
        nb::arg("hi"), nb::arg("most"));
  m.def("rank_frames", rank_frames_of, nb::arg("codes"), nb::arg("distinct"), nb::arg("lo"),
        nb::arg("hi"), nb::arg("own"));
}

}  // namespace slidefold::bindings
