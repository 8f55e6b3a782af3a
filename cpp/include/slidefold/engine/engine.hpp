// The engine of arrival order: rows and their answers (arrivals.hpp), results that are not at rows,
// and questions.
//
// Layout: that of Arrivals. Results that are not at rows lie at multiples of a time (grid.hpp), at
//   every n-th row of a key, or where a session or a punctuated window closes.
// Invariants: those of Arrivals.
// Cost: an end of a window, or a question, O(log n) combines per part.
// Paper: fiba-out-of-order, section 4.3 (range queries).
#pragma once

#include "slidefold/engine/arrivals.hpp"

namespace slidefold::engine {

class Engine : public Arrivals {
 public:
  using Arrivals::Arrivals;

  // ---- results that are not at rows

  // Calls emit(end) for each end after a time, up to another, whose largest window holds a row of
  // a key.
  template <class Emit>
  void each_end(Slot slot, Time after, Time until, const Grid& grid, Emit&& emit) {
    const KeyStore& store = by_slot_[slot];
    if (is_empty(store) || grid.far < grid.near || after == kNewest) return;
    std::optional<Time> end =
        grid.from(std::max(after + 1, behind_of(oldest_of(store), grid.near)));
    while (end && *end <= until) {
      // The first end at which a window holds a row; only windows with later rows are asked again.
      std::optional<Time> next;
      for (const Held& held : grid.largest) {
        const std::optional<Time> t = first_from(store, grid.low(*end, held));
        if (!t) continue;
        const std::optional<Time> first = grid.from(std::max(*end, behind_of(*t, held.near)));
        if (first && (!next || *first < *next)) next = first;
      }
      if (!next) return;
      if (*next == *end) {
        emit(*end);
        if (*end == kNewest) return;
        next = grid.from(*end + 1);
      }
      end = next;
    }
  }
  // How many ends that would be at most, from the oldest and the newest row alone.
  double most_ends(Slot slot, Time after, Time until, const Grid& grid) {
    const KeyStore& store = by_slot_[slot];
    if (is_empty(store)) return 0;
    const Time first = std::max(after, before(behind_of(oldest_of(store), grid.near), 1));
    const Time last = std::min(until, behind_of(newest_of(store), grid.far));
    if (last <= first) return 0;
    return (static_cast<double>(last) - static_cast<double>(first)) /
               static_cast<double>(grid.step) +
           1;
  }
  // How many ends that are: from row to row, without looking at each end.
  double count_ends(Slot slot, Time after, Time until, const Grid& grid) {
    const auto floored = [&](int128 t) {
      const int128 ahead = t - grid.shift;
      return ahead / grid.step - (ahead % grid.step < 0 ? 1 : 0);
    };
    int128 counted = floored(after), total = 0;  // the multiples up to here are done
    const int128 end = floored(until);
    each_time(by_slot_[slot], [&](Time time) {
      const int128 t = time;
      const int128 first = std::max(counted, floored(t + grid.near - 1));
      const int128 last = std::min(end, floored(t + grid.far));
      if (last > first) {
        total += last - first;
        counted = last;
      }
    });
    return static_cast<double>(total);
  }
  // Calls emit(first, end, start, stop) for each session, or each window up to a mark, that a
  // watermark closes: its rows by rank, and its bounds in time. They count as answered.
  template <class Emit>
  void close_windows(Slot slot, Time watermark, Emit&& emit) {
    KeyStore& store = by_slot_[slot];
    if (store.size == 0) return;
    const std::uint64_t m = stores_.trees().rank(store, ends_.behind(store, watermark));
    const auto* session = std::get_if<SessionRule>(&program_.windows[0].rule);
    const auto* marks = std::get_if<MarkRule>(&program_.windows[0].rule);
    const auto close = [&](std::uint64_t end, Time stop) {
      emit(store.answered, end, time_at(store, store.answered), stop);
      store.answered = end;
    };
    remember(slot);
    std::uint64_t i = std::max(store.passed, store.answered);
    if (i < m) {
      Time last = i > store.answered ? time_at(store, i - 1) : 0;
      each_row(slot, i, m - i, [&](const Leaf* leaf, std::int32_t at) {
        const Time t = leaf->times()[at];
        if (session != nullptr) {
          if (i > store.answered && SessionRule::apart(last, t, session->gap)) {
            close(i, last + session->gap);
          }
        } else if (marks != nullptr && marks->marked(leaf, at)) {
          close(i + 1, t);
        }
        last = t;
        ++i;
      });
      store.passed = m;
    }
    if (session != nullptr && m > store.answered) {
      const Time last = time_at(store, m - 1);
      if (watermark == kNewest ||
          (watermark >= last &&
           !(static_cast<std::uint64_t>(watermark) - static_cast<std::uint64_t>(last) <
             static_cast<std::uint64_t>(session->gap)))) {
        close(m, behind_of(last, session->gap));
      }
    }
  }
  // Answers the window of rows between two ranks.
  void answer_between(Slot slot, std::uint64_t low, std::uint64_t high, std::uint32_t out) {
    KeyStore& store = by_slot_[slot];
    for (std::size_t w = 0; w < asks_.size(); ++w) {
      stores_.answers().between(store, store.block, w, stores_.trees().at_rank(store, low),
                                stores_.trees().at_rank(store, high), out, asks_of(store, w));
    }
  }
  // Answers one row of a key.
  void answer_row(Slot slot, std::uint64_t rank, std::uint32_t out) {
    answer_one(by_slot_[slot], rank, out);
  }
  // Where the earliest window of a row starts: `spans` has the lengths of time windows; others
  // start at their oldest row. Nothing if no window holds a row.
  std::optional<Time> start_of(Slot slot, std::uint64_t rank,
                               const std::vector<std::optional<Time>>& spans) {
    KeyStore& store = by_slot_[slot];
    const Place place = stores_.trees().at_rank(store, rank);
    const RowAt row = stores_.answers().row_at(store, place);
    std::optional<Time> start;
    const auto starts = [&](Time t) { start = start ? std::min(*start, t) : t; };
    for (std::size_t w = 0; w < spans.size(); ++w) {
      if (std::holds_alternative<LifetimeRule>(program_.windows[w].rule)) continue;
      if (spans[w]) {
        starts(before(row.time(), *spans[w]));
        continue;
      }
      std::visit(
          [&](auto rule) {
            rule.see(row);
            const std::uint64_t low =
                stores_.trees().rank(store, rule.low(stores_.trees(), store, place));
            const std::uint64_t high =
                stores_.trees().rank(store, rule.high(stores_.trees(), store, place));
            if (low < high) starts(time_at(store, low));
          },
          program_.windows[w].rule);
    }
    // As rows come last, a window never starts behind its row.
    if (start) start = std::min(*start, row.time());
    return start;
  }
  void count_answered(Slot slot, std::uint64_t rows) {
    remember(slot);
    by_slot_[slot].answered += rows;
  }

  // ---- questions

  // Answers a row that is not there: the windows of a key that end at a time. `walked` has the
  // value of each delta window's column, by window.
  void ask(Slot slot, Time t, const Word* walked, std::uint32_t out) {
    for (std::size_t w = 0; w < asks_.size(); ++w) {
      if (slot == kNoSlot) {
        Answers::nothing(&out, 1, asks_[w]);
        continue;
      }
      KeyStore& store = by_slot_[slot];
      std::visit(
          [&](auto rule) {
            const std::vector<Ask>& asks = asks_at(store, w, rule, t);
            Place low, high;
            if (store.size == 0 ||
                !ends_.ends_at(store, rule, t, walked == nullptr ? 0 : walked[w], low, high)) {
              return Answers::nothing(&out, 1, asks);
            }
            stores_.answers().between(store, store.block, w, low, high, out, asks);
          },
          program_.windows[w].rule);
    }
  }

  // ---- texts

  void sweep(Pool& pool) {
    if (!pool.wants_sweep()) return;
    if (!program_.text_columns.empty() || !program_.text_keys.empty()) {
      each_key([&](Slot slot, KeyStore& store) {
        for (const std::uint32_t k : program_.text_keys) {
          if (const Word word = key(slot)[k]; word != 0) Pool::mark(word);
        }
        each_row(slot, 0, store.size, [&](const Leaf* leaf, std::int32_t i) {
          for (const std::uint32_t c : program_.text_columns) {
            if (const Word word = leaf->column(c)[i]; word != 0) Pool::mark(word);
          }
        });
      });
    }
    pool.sweep();
  }
};

}  // namespace slidefold::engine
