// A step of the engine of arrival order: rows go in, and what is answered comes out.
#include <nanobind/stl/string.h>

#include <numeric>

#include "engine_core.hpp"
#include "signals.hpp"

namespace slidefold::bindings {
namespace {

// The own value of a row that is answered, from where the row is stored.
void see_own(EngineCore& core, std::size_t out, const engine::Leaf* leaf, std::int32_t i) {
  for (Output* output : core.ranked) {
    output->own[out] = leaf->column(output->own_stored)[i];
    output->has_own[out] = core.engine->nodes().present(leaf, i, output->own_presence) ? 1 : 0;
  }
}

// Places of rows in order of time.
void in_time_order(const std::vector<Time>& times, const std::vector<std::uint8_t>& taken,
                   std::vector<std::int64_t>& order, std::vector<std::uint32_t>& out) {
  order.clear();
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (taken[i] != 0) order.push_back(static_cast<std::int64_t>(i));
  }
  const auto before = [&](std::int64_t a, std::int64_t b) {
    return times[static_cast<std::size_t>(a)] < times[static_cast<std::size_t>(b)];
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
  }
  out.assign(times.size(), 0);
  for (std::size_t place = 0; place < order.size(); ++place) {
    out[static_cast<std::size_t>(order[place])] = static_cast<std::uint32_t>(place);
  }
}

// Answers what has become final. Rows come out by time; those of one time key by key, in the order
// of peers.
void answer_due(EngineCore& core, Time until, Answered& answered) {
  Engine& engine = *core.engine;
  const std::vector<engine::Waiting>& due = engine.due(until);
  reset(core, due.size());
  if (due.empty()) return;
  // How many rows of each key, in order of their first ones.
  core.groups.group(due);
  struct Row {
    Time time;
    std::uint32_t place;
    Word number;
    const engine::Leaf* leaf;
    std::int32_t at;
  };
  std::vector<Row> rows;
  rows.reserve(due.size());
  const std::uint32_t column = engine.program().number;
  for (std::size_t g = 0; g < core.groups.size(); ++g) {
    const engine::Slot slot = core.groups.slot(g);
    engine.each_row(slot, engine.answered(slot), core.groups.rows(g).size(),
                    [&](const engine::Leaf* leaf, std::int32_t i) {
                      rows.push_back({leaf->times()[i], static_cast<std::uint32_t>(rows.size()),
                                      leaf->column(column)[i], leaf, i});
                    });
  }
  std::vector<std::uint32_t> outs(rows.size());
  const auto before = [](const Row& a, const Row& b) { return a.time < b.time; };
  if (!std::is_sorted(rows.begin(), rows.end(), before)) {
    std::stable_sort(rows.begin(), rows.end(), before);
  }
  answered.rows.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    outs[rows[i].place] = static_cast<std::uint32_t>(i);
    answered.rows.push_back(static_cast<std::int64_t>(rows[i].number));
    see_own(core, i, rows[i].leaf, rows[i].at);
  }
  std::size_t first = 0;
  for (std::size_t g = 0; g < core.groups.size(); ++g) {
    const std::size_t count = core.groups.rows(g).size();
    engine.answer_next(core.groups.slot(g), {outs.data() + first, count});
    first += count;
  }
}

// Ends in order, those of one time key by key.
void answer_ends(EngineCore& core) {
  std::stable_sort(
      core.ends.begin(), core.ends.end(),
      [](const EngineCore::End& a, const EngineCore::End& b) { return a.end < b.end; });
  reset(core, core.ends.size());
  RowPoll polled;
  for (std::size_t i = 0; i < core.ends.size(); ++i) {
    const EngineCore::End& end = core.ends[i];
    const auto out = static_cast<std::uint32_t>(i);
    polled(1);
    if (core.slide == EngineCore::Slide::kTime) {
      core.engine->ask(end.slot, end.end, nullptr, out);
    } else if (core.slide == EngineCore::Slide::kRows) {
      core.engine->answer_row(end.slot, end.low, out);
    } else {
      core.engine->answer_between(end.slot, end.low, end.high, out);
    }
  }
}

// Thrown where there are more results than fit.
struct TooMany {
  double results;
};

// Adds the ends of some keys: fn(visit) calls visit(slot, after, until) for each.
template <class Each>
void add_ends(EngineCore& core, Each&& each) {
  Engine& engine = *core.engine;
  double most = 0;
  each([&](engine::Slot slot, Time after, Time until) {
    most += engine.most_ends(slot, after, until, core.grid);
  });
  if (most > core.most_results) {
    if (core.grid.days != nullptr) throw TooMany{most};
    double exact = 0;
    each([&](engine::Slot slot, Time after, Time until) {
      exact += engine.count_ends(slot, after, until, core.grid);
    });
    if (exact > core.most_results) throw TooMany{exact};
  }
  if (core.grid.fill && core.grid.days == nullptr) {  // there are few days between any two times
    double filled = 0;
    each([&](engine::Slot slot, Time after, Time until) {
      std::optional<Time> last = engine.last_end(slot);
      engine.each_end(slot, after, until, core.grid, [&](Time end) {
        filled += last ? (static_cast<double>(end) - static_cast<double>(*last)) /
                             static_cast<double>(core.grid.step)
                       : 1;
        last = end;
      });
    });
    if (filled > core.most_results) throw TooMany{filled};
  }
  each([&](engine::Slot slot, Time after, Time until) {
    std::optional<Time> last;
    if (core.grid.fill) last = engine.last_end(slot);
    const auto add = [&](Time end) {
      const Time start =
          core.grid.back > 0 ? core.grid.low(end) : engine::before(end, core.largest);
      core.ends.push_back({slot, start, end, true, 0, 0});
    };
    engine.each_end(slot, after, until, core.grid, [&](Time end) {
      if (last) {  // the ends between have no rows
        for (auto empty = core.grid.from(*last + 1); empty && *empty < end;
             empty = core.grid.from(*empty + 1)) {
          add(*empty);
        }
      }
      add(end);
      if (core.grid.fill) last = end;
    });
    if (core.grid.fill && last) engine.set_last_end(slot, *last);
  });
}

// The results between two watermarks, where results are not at rows.
void answer_slide(EngineCore& core, Time since, Time until) {
  Engine& engine = *core.engine;
  using Slide = EngineCore::Slide;
  if (core.slide == Slide::kTime) {
    const std::optional<Time> next =
        since == engine::kNewest ? std::nullopt : core.grid.from(since + 1);
    if (since == engine::kOldest || (next && *next <= until)) {
      add_ends(core, [&](auto&& visit) {
        engine.each_key([&](engine::Slot slot, engine::KeyStore&) { visit(slot, since, until); });
      });
    }
    engine.pass(until);
  } else if (core.slide == Slide::kRows) {
    core.groups.group(engine.due(until));
    for (std::size_t g = 0; g < core.groups.size(); ++g) {
      const engine::Slot slot = core.groups.slot(g);
      const std::uint64_t first = engine.answered(slot), count = core.groups.rows(g).size();
      std::uint64_t rank = first;
      engine.each_row(slot, first, count, [&](const engine::Leaf* leaf, std::int32_t i) {
        if (rank % core.every == core.every - 1) {
          const auto start = engine.start_of(slot, rank, core.spans);
          core.ends.push_back(
              {slot, start.value_or(0), leaf->times()[i], start.has_value(), rank, 0});
        }
        ++rank;
      });
      engine.count_answered(slot, count);
    }
  } else {
    engine.due(until);
    engine.each_key([&](engine::Slot slot, engine::KeyStore&) {
      engine.close_windows(slot, until,
                           [&](std::uint64_t low, std::uint64_t high, Time start, Time end) {
                             core.ends.push_back({slot, start, end, true, low, high});
                           });
    });
  }
  answer_ends(core);
}

// New rows: the ends after the watermark that they may have changed.
void answer_changed_ends(EngineCore& core) {
  Engine& engine = *core.engine;
  add_ends(core, [&](auto&& visit) {
    engine.each_changed([&](engine::Slot slot, std::uint64_t rank) {
      Time after = engine.time_of(slot, rank);
      if (after != engine::kOldest) --after;
      if (core.watermark) after = std::max(after, *core.watermark);
      visit(slot, after, engine::kNewest);
    });
  });
  answer_ends(core);
}

// Answers new rows, and those after them that they may have changed.
void answer_changed(EngineCore& core, Answered& answered) {
  Engine& engine = *core.engine;
  struct Again {
    engine::Slot slot;
    std::uint64_t rank;
    std::size_t first;
  };
  std::vector<Again> again;
  std::vector<Time> times;
  std::vector<std::pair<const engine::Leaf*, std::int32_t>> places;
  engine.each_changed([&](engine::Slot slot, std::uint64_t rank) {
    const std::uint64_t from = engine.first_peer(slot, rank);
    again.push_back({slot, from, times.size()});
    engine.each_row(slot, from, engine.size(slot) - from,
                    [&](const engine::Leaf* leaf, std::int32_t i) {
                      times.push_back(leaf->times()[i]);
                      if (!core.ranked.empty()) places.push_back({leaf, i});
                      answered.rows.push_back(
                          static_cast<std::int64_t>(leaf->column(engine.program().number)[i]));
                    });
  });
  // In order of time and arrival.
  std::vector<std::uint32_t> order(times.size()), place(times.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return times[a] != times[b] ? times[a] < times[b] : answered.rows[a] < answered.rows[b];
  });
  std::vector<std::int64_t> numbers(times.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::uint32_t>(i);
    numbers[i] = answered.rows[order[i]];
  }
  reset(core, times.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    see_own(core, place[i], places[i].first, places[i].second);
  }
  for (std::size_t g = 0; g < again.size(); ++g) {
    const std::size_t end = g + 1 < again.size() ? again[g + 1].first : times.size();
    engine.answer_again(again[g].slot, again[g].rank,
                        {place.data() + again[g].first, place.data() + end});
  }
  answered.rows = std::move(numbers);
}

// Takes the rows that Inputs has read, and moves the watermark; commit() or undo() follows.
Answered step(EngineCore& core, std::optional<Time> given_watermark, std::optional<Time> lateness,
              bool wanted) {
  Answered answered;
  Engine& engine = *core.engine;
  const Engine::Given given = core.inputs.given(core.pool, core.seen);
  const Input& clock = core.inputs.inputs[core.inputs.time];
  core.taken.assign(given.count, 1);
  std::optional<Time> newest;
  for (std::size_t i = 0; i < given.count; ++i) {
    const bool late = clock.valid[i] == 0 || (core.watermark && given.times[i] <= *core.watermark);
    if (late) {
      core.taken[i] = 0;
      answered.late.push_back(static_cast<std::int64_t>(i));
    } else {
      newest = newest ? std::max(*newest, given.times[i]) : given.times[i];
    }
  }
  answered.pushed = given.count - answered.late.size();
  std::optional<Time> moved = given_watermark;
  if (lateness && newest) {
    Time mark = 0;
    if (!__builtin_sub_overflow(*newest, *lateness, &mark)) moved = mark;
  }
  if (!moved || (core.watermark && *moved < *core.watermark)) moved = core.watermark;
  see_holes(core);
  core.overflows.clear();
  core.overflows.counts = core.waits || core.counts_overflows;
  try {
    engine.insert(given, answered.late.empty() ? nullptr : core.taken.data());
    core.ends.clear();
    if (core.slide != EngineCore::Slide::kNone) {
      if (core.again) {
        answer_changed_ends(core);
        engine.pass_inserted();
      } else {
        engine.wait(given, core.seen);
        if (moved) answer_slide(core, core.watermark.value_or(engine::kOldest), *moved);
      }
      if (!moved && !core.again) reset(core, 0);
    } else if (core.waits) {
      engine.wait(given, core.seen);
      reset(core, 0);
      if (moved) answer_due(core, *moved, answered);
    } else if (core.again) {
      answer_changed(core, answered);
    } else {
      in_time_order(core.inputs.times(), core.taken, answered.rows, core.out);
      reset(core, answered.pushed);
      for (const std::int64_t row : answered.rows) {
        see_own(core, core.inputs, core.out[static_cast<std::size_t>(row)],
                static_cast<std::size_t>(row));
      }
      engine.answer_inserted(core.out.data(), wanted);
    }
  } catch (...) {
    core.overflows.clear();
    engine.undo();
    throw;
  }
  core.overflows.counts = false;
  if (core.newest && (!newest || *newest < *core.newest)) newest = core.newest;
  core.open = EngineCore::Step{moved, newest, core.seen + given.count};
  return answered;
}

}  // namespace

void reset(EngineCore& core, std::size_t rows) {
  for (const auto& output : core.outputs) output->reset(rows);
  for (Output* output : core.ranked) {
    output->own.assign(rows, 0);
    output->has_own.assign(rows, 0);
  }
  for (const auto& counts : core.counters) counts->found.assign(rows, 0);
}

void see_own(EngineCore& core, const Inputs& inputs, std::size_t out, std::size_t row) {
  for (Output* output : core.ranked) {
    const Input& input = inputs.inputs[output->own_input];
    output->own[out] = inputs.stored_word(output->own_stored, row);
    output->has_own[out] = input.valid[row];
  }
}

void see_holes(EngineCore& core, bool all) {
  for (std::size_t p = 0; p < core.holes.size(); ++p) {
    EngineCore::Holes& holes = *core.holes[p];
    if (holes.seen || !(all || core.inputs.has_holes(p))) continue;
    holes.seen = true;
    for (const std::size_t part : holes.parts) core.engine->set_idle(part, false);
  }
}

void close_all(EngineCore& core, Time watermark) {
  core.engine->due(watermark);
  core.engine->each_key([&](engine::Slot slot, engine::KeyStore&) {
    core.engine->close_windows(slot, watermark, [](std::uint64_t, std::uint64_t, Time, Time) {});
  });
}

void undo(EngineCore& core) {
  if (core.open) core.engine->undo();
  core.open.reset();
}

void commit(EngineCore& core) {
  if (!core.open) return;
  core.watermark = core.open->watermark;
  core.newest = core.open->newest;
  core.seen = core.open->seen;
  core.open.reset();
  evict(core, false);
}

void evict(EngineCore& core, bool all) {
  std::optional<Time> until = core.watermark;
  if (until && core.asks_before && *until != engine::kOldest) --*until;
  if (!all) {
    core.engine->commit(until ? &*until : nullptr);
  } else if (until) {
    core.engine->evict_all(*until);
  }
  if (core.engine->trim(all)) core.pool.expect_fewer();
}

std::string named(const EngineCore& core, std::uint32_t column) {
  return "the column '" + core.inputs.inputs[core.inputs.stored[column].input].name + "'";
}

Answered take(EngineCore& core, std::optional<Time> watermark, std::optional<Time> lateness,
              bool wanted) {
  const Signals signals;  // Ctrl-C takes the batch back
  try {
    if (core.needs_gil) {
      return step(core, watermark, lateness, wanted);
    }
    const nb::gil_scoped_release without_gil;
    return step(core, watermark, lateness, wanted);
  } catch (const engine::Falls& falls) {
    fail_at("TimeOrderError",
            named(core, falls.column) +
                " of a delta window must not decrease in time order, but it does",
            falls.row);
  } catch (const engine::Missing& missing) {
    fail_at("DataError", named(core, missing.column) + (missing.null ? " is null" : " is NaN"),
            missing.row);
  } catch (const TooMany& many) {
    nb::module_::import_("slidefold.definition.windows.results")
        .attr("require_results")(nb::int_(nb::float_(many.results)), core.every_text,
                                 core.engine->rows() + core.inputs.count(),
                                 core.engine->program().windows.size());
    fail("DataError", core.every_text + " gives too many results");
  } catch (const std::domain_error& error) {
    fail("ValueTypeError", error.what());
  } catch (const std::length_error& error) {
    fail("DataError", error.what());
  }
}

}  // namespace slidefold::bindings
