// Questions to the engine of arrival order: they change nothing.
#include <nanobind/stl/string.h>

#include "engine_core.hpp"
#include "signals.hpp"

namespace slidefold::bindings {
namespace {

constexpr std::size_t kFewQuestions = 8;

// Thrown for a question about a time whose rows may be gone.
struct TooOld {
  std::size_t row;
};

// Inserts events in their order, and answers each question when upto[i] of them are there.
void replay_rows(EngineCore& core, Inputs& questions, const std::int64_t* upto) {
  Engine& engine = *core.engine;
  const Engine::Given asked = questions.given(core.pool, 0);
  const Engine::Given given = core.inputs.given(core.pool, core.seen);
  const std::size_t columns = core.inputs.stored.size();
  const std::size_t bytes = engine.program().shape.mask_bytes();
  std::vector<const void*> moved(columns);
  std::vector<Word> walked(core.asked_delta.size());
  std::size_t done = 0;
  RowPoll polled;
  for (std::size_t i = 0; i < asked.count; ++i) {
    const auto until = static_cast<std::size_t>(upto[i]);
    if (until > done) {
      for (std::size_t c = 0; c < columns; ++c) {
        moved[c] = static_cast<const Word*>(given.columns[c]) + done;
      }
      const Engine::Given part{until - done, given.times + done, moved.data(),
                               given.present == nullptr ? nullptr : given.present + done * bytes,
                               given.keys + done * engine.program().key_words};
      engine.insert(part, nullptr);
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
    const engine::Slot slot = engine.find(asked.keys + i * engine.program().key_words);
    engine.ask(slot, asked.times[i], walked.data(), static_cast<std::uint32_t>(i));
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
