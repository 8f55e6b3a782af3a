// Questions to the engine of arrival order: they change nothing.
#include <nanobind/stl/string.h>

#include <numeric>
#include <span>

#include "engine_core.hpp"
#include "signals.hpp"

namespace slidefold::bindings {
namespace {

constexpr std::size_t kFewQuestions = 8;

// Thrown for a question about a time whose rows may be gone.
struct TooOld {
  std::size_t row;
};

// The rows of each group, one after the other; rows of no group are left out.
struct GroupedRows {
  std::vector<std::size_t> starts;
  std::vector<std::uint32_t> rows;

  GroupedRows(const std::vector<engine::Slot>& groups, std::size_t count) : starts(count + 1) {
    for (const engine::Slot group : groups) {
      if (group != engine::kNoSlot) ++starts[group + 1];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    rows.resize(starts.back());
    std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i] != engine::kNoSlot) rows[next[groups[i]]++] = static_cast<std::uint32_t>(i);
    }
  }
  std::span<const std::uint32_t> of(std::size_t group) const {
    return {rows.data() + starts[group], rows.data() + starts[group + 1]};
  }
};

// Some rows of a batch as a batch of their own.
class PickedRows {
 public:
  PickedRows(const Engine::Given& given, std::size_t columns, std::size_t mask_bytes,
             std::size_t key_words)
      : given_(given),
        mask_bytes_(mask_bytes),
        key_words_(key_words),
        columns_(columns),
        words_(columns) {}

  void pick(std::span<const std::uint32_t> rows) {
    times_.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) times_[i] = given_.times[rows[i]];
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const auto* const from = static_cast<const Word*>(given_.columns[c]);
      words_[c].resize(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) words_[c][i] = from[rows[i]];
    }
    keys_.clear();
    masks_.clear();
    for (const std::uint32_t row : rows) {
      const Word* const key = given_.keys + row * key_words_;
      keys_.insert(keys_.end(), key, key + key_words_);
      if (given_.present == nullptr) continue;
      const std::uint8_t* const mask = given_.present + row * mask_bytes_;
      masks_.insert(masks_.end(), mask, mask + mask_bytes_);
    }
  }
  // The picked rows from one place to another.
  Engine::Given between(std::size_t first, std::size_t end) {
    for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c] = words_[c].data() + first;
    return {end - first, times_.data() + first, columns_.data(),
            given_.present == nullptr ? nullptr : masks_.data() + first * mask_bytes_,
            keys_.data() + first * key_words_};
  }

 private:
  const Engine::Given& given_;
  std::size_t mask_bytes_, key_words_;
  std::vector<const void*> columns_;
  std::vector<std::vector<Word>> words_;
  std::vector<Time> times_;
  std::vector<Word> keys_;
  std::vector<std::uint8_t> masks_;
};

// Answers each question over the first upto[i] events. A question looks at its own key alone, so
// keys are taken one after the other: what a key holds stays in the cache, and goes when all its
// questions are answered. Events that no question looks at are not inserted.
void replay_rows(EngineCore& core, Inputs& questions, const std::int64_t* upto) {
  Engine& engine = *core.engine;
  const std::size_t key_words = engine.program().key_words;
  const Engine::Given asked = questions.given(core.pool, 0);
  const Engine::Given given = core.inputs.given(core.pool, core.seen);
  engine::Keys keys(key_words);
  std::vector<engine::Slot> groups(asked.count);
  for (std::size_t i = 0; i < asked.count; ++i) groups[i] = keys.add(asked.keys + i * key_words);
  const GroupedRows asks(groups, keys.slots());
  groups.resize(given.count);
  for (std::size_t i = 0; i < given.count; ++i) groups[i] = keys.find(given.keys + i * key_words);
  const GroupedRows events(groups, keys.slots());
  PickedRows picked(given, core.inputs.stored.size(), engine.program().shape.mask_bytes(),
                    key_words);
  std::vector<Word> walked(core.asked_delta.size());
  RowPoll polled;
  for (std::size_t g = 0; g < keys.slots(); ++g) {
    const std::span<const std::uint32_t> rows = events.of(g);
    picked.pick(rows);
    std::size_t done = 0;
    for (const std::uint32_t i : asks.of(g)) {
      std::size_t until = done;
      while (until < rows.size() && rows[until] < upto[i]) ++until;
      if (until > done) {
        try {
          engine.insert(picked.between(done, until), nullptr);
        } catch (engine::Falls& falls) {
          falls.row = rows[done + falls.row];
          throw;
        } catch (engine::Missing& missing) {
          missing.row = rows[done + missing.row];
          throw;
        }
        engine.commit(nullptr);
        done = until;
      }
      polled(1);
      see_own(core, questions, i, i);
      for (std::size_t w = 0; w < walked.size(); ++w) {
        if (core.asked_delta[w] != ~std::size_t{0}) {
          walked[w] = questions.inputs[core.asked_delta[w]].words[i];
        }
      }
      engine.ask(engine.find(keys.key(static_cast<engine::Slot>(g)).data()), asked.times[i],
                 walked.data(), i);
    }
    const engine::Slot slot = engine.find(keys.key(static_cast<engine::Slot>(g)).data());
    if (slot != engine::kNoSlot) engine.drop(slot);
  }
}

}  // namespace

void ask_rows(EngineCore& core, std::optional<Time> now) {
  const auto answer = [&] {
    const Engine::Given given = core.inputs.given(core.pool, 0);
    const Input& clock = core.inputs.inputs[core.inputs.time];
    reset(core, given.count);
    if (core.watermark) {
      for (std::size_t i = 0; i < given.count; ++i) {
        if (clock.valid[i] != 0 && given.times[i] < *core.watermark) throw TooOld{i};
      }
    }
    std::vector<Word> walked(core.asked_delta.size());
    for (std::size_t i = 0; i < given.count; ++i) {
      const bool own = clock.valid[i] != 0;
      see_own(core, core.inputs, i, i);
      if (!own && !now) continue;  // nothing has come yet
      for (std::size_t w = 0; w < walked.size(); ++w) {
        if (core.asked_delta[w] != ~std::size_t{0}) {
          walked[w] = core.inputs.inputs[core.asked_delta[w]].words[i];
        }
      }
      const engine::Slot slot =
          core.engine->find(given.keys + i * core.engine->program().key_words);
      core.engine->ask(slot, own ? given.times[i] : *now, walked.data(),
                       static_cast<std::uint32_t>(i));
    }
  };
  try {
    // A few questions take microseconds, but whoever gives up the interpreter may have to wait
    // hundreds of them to get it back.
    if (core.needs_gil || core.inputs.count() <= kFewQuestions) return answer();
    const nb::gil_scoped_release without_gil;
    answer();
  } catch (const TooOld& old) {
    fail_at("DataError", "a question must not ask for a time before the watermark, but it does",
            old.row);
  } catch (const std::domain_error& error) {
    fail("ValueTypeError", error.what());
  } catch (const std::length_error& error) {
    fail("DataError", error.what());
  }
}

nb::object replay(EngineCore& core, nb::handle events, nb::handle asked,
                  const nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig>& upto) {
  const Turn turn(core.turns);
  read_batch(core, asked);
  Inputs questions = core.inputs;
  read_array(core, events);  // a sweep would take the texts of the questions
  if (upto.shape(0) != questions.count()) fail("ValueTypeError", "expected a place per question");
  for (std::size_t i = 0; i < upto.shape(0); ++i) {
    const auto count = static_cast<std::int64_t>(core.inputs.count());
    if (upto.data()[i] < 0 || upto.data()[i] > count) fail("ValueTypeError", "expected places");
  }
  see_holes(core);
  reset(core, questions.count());
  const Signals signals;
  try {
    if (core.needs_gil) {
      replay_rows(core, questions, upto.data());
    } else {
      const nb::gil_scoped_release without_gil;
      replay_rows(core, questions, upto.data());
    }
  } catch (const engine::Falls& falls) {
    fail_at("TimeOrderError",
            named(core, falls.column) +
                " of a delta window must not decrease in time order, but it does",
            falls.row);
  } catch (const engine::Missing& missing) {
    fail_at("DataError", named(core, missing.column) + (missing.null ? " is null" : " is NaN"),
            missing.row);
  } catch (const std::domain_error& error) {
    fail("ValueTypeError", error.what());
  } catch (const std::length_error& error) {
    fail("DataError", error.what());
  }
  return results_of(core, questions.count());
}

void peek(EngineCore& core) {
  Engine& engine = *core.engine;
  const Engine::Given given = core.inputs.given(core.pool, core.seen);
  see_holes(core);
  reset(core, given.count);
  const std::vector<std::uint32_t> out(given.count, 0);
  for (std::size_t i = 0; i < given.count; ++i) see_own(core, core.inputs, 0, i);
  try {
    engine.insert(given, nullptr);
    engine.answer_each_inserted(out.data());
  } catch (...) {
    engine.undo();
    throw;
  }
  engine.undo();
}

}  // namespace slidefold::bindings
