// SBA and PBA against recomputation, their costs, and PBA's thread.
#include <chrono>
#include <memory>

#include "boundary_ops.hpp"
#include "check.hpp"
#include "slidefold/algorithms/boundary_rows.hpp"
#include "slidefold/algorithms/parallel_boundary.hpp"

#if SLIDEFOLD_FORKS
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace slidefold;
using namespace slidefold::check;

constexpr std::size_t kAlways = 0;  // hand every chunk over, however small

TEST(theorem_1) {
  CHECK_EQ(optimal_chunk_rows(10, 2), 4);  // the paper's Fig. 2 takes 5, and would wait 2 T_u
  CHECK_EQ(optimal_chunk_rows(32, 1), 17);
  CHECK_EQ(optimal_chunk_rows(std::size_t{1} << 20, 1), 524289);  // the paper prints 5242884
  CHECK_EQ(optimal_chunk_rows(7, 7), 1);
  CHECK_EQ(optimal_chunk_rows(1, 1), 1);
  for (std::size_t range = 1; range <= 120; ++range) {
    CHECK_EQ(optimal_chunk_rows(range, 1), range == 1 ? 1 : (range + 2) / 2);
    for (std::size_t slide = 1; slide <= range; ++slide) {
      // The largest chunk whose lcs, b-1 combines, are done when s(n+1-b) + r mod s values came.
      const std::size_t slices = range / slide;
      std::size_t best = slices;
      while (best - 1 > slide * (slices + 1 - best) + range % slide) --best;
      CHECK_EQ(optimal_chunk_rows(range, slide), best);
      CHECK_EQ(slices / best, 1);
    }
  }
}

TEST(theorem_2) {
  CHECK_EQ(optimal_chunk_time(60, 1, 1e-6), 60);  // merging takes no time: the whole window
  CHECK_EQ(optimal_chunk_time(60, 1, 0), 60);
  CHECK_EQ(optimal_chunk_time(5, 5, 1), 1);
  CHECK_EQ(optimal_chunk_time(1000, 1, 1), 667);  // (1000 * 2 + 3) / 3
  CHECK_EQ(optimal_chunk_time(1000.5, 1, 1), 668);
  for (double slide : {0.5, 1.0, 3.0, 7.0}) {
    for (double range = slide; range < 100; range += 0.5) {
      for (double unit : {0.01, 0.3, 1.0, 20.0}) {
        const auto slices = static_cast<std::size_t>(range / slide);
        const double tail = range - static_cast<double>(slices) * slide;
        // How late the lcs of chunk b are, as in Theorem 1 but in time.
        const auto late = [&](std::size_t b) {
          return (static_cast<double>(b) - 1) * unit - (tail > 0 ? tail + unit : 0.0) -
                 static_cast<double>(slices + 1 - b) * (slide + unit);
        };
        const std::size_t chunk = optimal_chunk_time(range, slide, unit);
        CHECK(1 <= chunk && chunk <= slices && slices / chunk == 1);
        CHECK(late(chunk) < 1e-9 && (chunk == slices || late(chunk + 1) > -1e-9));
      }
    }
  }
}

// Fig. 2, with its chunk and with the best one.
TEST(figure_2) {
  const std::vector<double> values{5, 4, 6, 3, 0, 0, 1, 0, 2, 3, 1, 2, 7, 5, 3, 4, 9, 5, 4, 8};
  for (std::size_t chunk : {5, 4, 1}) {
    RowsPba<Max> pba(Max{}, 10, 2, chunk, kAlways);
    RowsSba<Max> sba(Max{}, 10, 2, chunk);
    std::vector<double> results;
    for (const double value : values) {
      const bool whole = pba.insert(value);
      CHECK_EQ(sba.insert(value), whole);
      if (whole) results.push_back(pba.query());
      CHECK_EQ(sba.query(), pba.query());
    }
    CHECK(results == (std::vector<double>{6, 6, 7, 7, 9, 9}));
  }
}

// Fig. 3: k = 4, five parts: lcs * ca * ca * ca * csa.
TEST(figure_3) {
  Counted::Counts counts;
  RowsSba<Counted> sba(Counted{&counts}, 16, 1, 4);
  for (std::size_t i = 1; i <= 64; ++i) {
    counts.own = 0;
    sba.insert(static_cast<double>(i % 11));
    if (i <= 16) continue;
    // The first of a chunk starts csa for nothing; the last finds ca and makes lcs.
    const std::size_t place = i % 4;
    CHECK_EQ(counts.own, place == 1 ? 4 : place == 0 ? 1 + 3 + 2 : 1 + 4);
  }
}

template <class Rows, class... Arguments>
void lockstep(Arguments... arguments) {
  for (std::size_t range = 1; range <= 24; ++range) {
    for (std::size_t slide = 1; slide <= range; ++slide) {
      for (std::size_t chunk = 0; chunk <= range / slide; ++chunk) {
        Rows rows(Concat{}, range, slide, chunk, arguments...);
        std::string all;
        for (std::size_t i = 1; i <= 3 * range + 2 * slide; ++i) {
          all += letter(i * i);
          CHECK_EQ(rows.insert(letter(i * i)), i >= range && i % slide == 0);
          const std::size_t open = i % slide;
          const std::string window = last(all.substr(0, i - open), range);
          CHECK_EQ(rows.query(), window);
          CHECK_EQ(rows.size(), std::min(i, open == 0 ? range : range - slide + open));
          if ((i + range) % 5 > 0) continue;
          const auto contents = letters(last(all, range + open));
          rows.check(&contents);
        }
        CHECK(rows.bytes() <= (3 * range + 13) / 2 * sizeof(std::string));
      }
    }
  }
}

TEST(sba_in_lockstep) { lockstep<RowsSba<Concat>>(); }
TEST(pba_in_lockstep) { lockstep<RowsPba<Concat>>(kAlways); }
TEST(pba_with_its_own_hand_over) { lockstep<RowsPba<Concat>>(); }

// Slices as a time window has them: some empty, long gaps, a tail or not.
struct Slice {
  std::string head, tail;
};

// Again until it does not fail; in between it must be as if nothing had happened.
template <class Algorithm, class Step>
bool insist(Algorithm& algorithm, bool& armed, Step step) {
  for (;; armed = false) try {
      armed = true;
      const bool result = transact(algorithm, step);
      armed = false;
      return result;
    } catch (const std::runtime_error&) {
    }
}

template <class Algorithm, class Op, class... Arguments>
void gaps(Op op, bool& armed, Arguments... arguments) {
  std::mt19937 random(7);
  for (std::size_t slices = 1; slices <= 9; ++slices) {
    for (std::size_t chunk = 1; chunk <= slices; ++chunk) {
      for (const bool has_tail : {false, true}) {
        Algorithm algorithm(op, slices, has_tail, chunk, arguments...);
        std::vector<Slice> seen(1);
        for (int step = 0; step < 120; ++step) {
          const auto kind = random() % 8;
          if (kind < 4) {
            const bool in_tail = random() % 2 == 0 || !seen.back().tail.empty();
            const auto value = letter(random());
            insist(algorithm, armed, [&] { return algorithm.add(value, in_tail), true; });
            (in_tail ? seen.back().tail : seen.back().head) += value;
            continue;
          }
          const std::size_t count = kind < 7 ? 1 : random() % (3 * slices + 4);
          const bool whole = insist(algorithm, armed, [&] {
            return kind < 7 ? algorithm.close_slice() : algorithm.skip_slices(count);
          });
          seen.resize(seen.size() + count);
          CHECK_EQ(whole, seen.size() > slices + (has_tail ? 1 : 0));
          if (count == 0) continue;
          const std::size_t closed = seen.size() - 1;
          const std::size_t from = closed > slices ? closed - slices : 0;
          std::string window = has_tail && from > 0 ? seen[from - 1].tail : "";
          std::vector<std::vector<std::string>> pieces;
          for (std::size_t i = from; i < closed; ++i) {
            window += seen[i].head + seen[i].tail;
            // A piece with a tail is the tail before and the head; without, the whole slice.
            const std::string before = has_tail && i > 0 ? seen[i - 1].tail : "";
            pieces.push_back(letters(before + seen[i].head + (has_tail ? "" : seen[i].tail)));
          }
          pieces.push_back(letters(has_tail ? seen[closed - 1].tail : ""));
          CHECK_EQ(algorithm.query(), window);
          algorithm.check(&pieces);
        }
      }
    }
  }
}

TEST(sba_with_gaps) {
  bool armed = false;
  std::mt19937 random(13);
  gaps<Sba<Concat>>(Concat{}, armed);
  gaps<Sba<Failing>>(Failing{{}, &armed, &random}, armed);
}
TEST(pba_with_gaps) {
  bool armed = false;
  gaps<Pba<Concat>>(Concat{}, armed, kAlways);
}

TEST(a_gap_of_any_length_is_short_work) {
  Sba<Concat> sba(Concat{}, 5, true, 3);
  sba.add("a", false);
  sba.add("b", true);
  CHECK(sba.skip_slices(std::uint64_t{1} << 62));
  CHECK_EQ(sba.query(), "");
  sba.add("c", false);
  sba.add("d", true);
  CHECK(sba.close_slice());
  CHECK_EQ(sba.query(), "cd");
  sba.check(nullptr);
}

// A combine that fails leaves everything as it was, at every place where it can fail.
template <class Rows>
void failures() {
  std::mt19937 random(11);
  bool armed = false;
  struct Shape {
    std::size_t range, slide, chunk;
  };
  for (const auto& [range, slide, chunk] :
       {Shape{1, 1, 0}, {7, 1, 0}, {8, 1, 8}, {9, 1, 2}, {10, 3, 0}, {12, 4, 3}, {11, 4, 1}}) {
    Rows rows(Failing{{}, &armed, &random}, range, slide, chunk);
    std::string all;
    int failed = 0;
    while (all.size() < 8 * range) {
      const bool give_up = random() % 4 == 0;
      armed = true;
      try {
        transact(rows, [&] {
          rows.insert(letter(all.size()));
          if (give_up) throw std::runtime_error("after the insert");
        });
        all += letter(all.size());
      } catch (const std::runtime_error&) {
        ++failed;
      }
      armed = false;
      const std::size_t open = all.size() % slide;
      const auto contents = letters(last(all, range + open));
      rows.check(&contents);
    }
    CHECK(failed > 0);
  }
}

TEST(a_failed_combine_changes_nothing) {
  failures<RowsSba<Failing>>();
  failures<RowsPba<Failing>>();  // which runs as SBA
}

// At most 3 combines per slide, 4 with a tail, apart from s-1 for the slice and b-2 for lcs.
template <class Rows, class... Arguments>
void costs(std::size_t range, std::size_t slide, bool sba, Arguments... arguments) {
  Counted::Counts counts;
  Rows rows(Counted{&counts}, range, slide, 0, arguments...);
  const std::size_t chunk = rows.chunk(), tail = range % slide;
  std::size_t total = 0, slides = 0;
  for (std::size_t i = 1; i <= 3 * range; ++i) {
    counts.own = 0;
    rows.insert(static_cast<double>(i * 7919 % 1013));
    // In the slice: one, but for the first value of a piece.
    const bool begins = (i - 1 + tail) % slide == 0;
    std::size_t most = begins ? 0 : 1;
    const std::size_t pieces = (i - 1) / slide + 1;
    const bool cuts = tail == 0 ? i % slide == 0 : begins;  // csa, and maybe lcs
    if (cuts) most += 1;
    if (cuts && sba && pieces % chunk == 0 && chunk > 2) most += chunk - 2;
    if (i % slide == 0) most += tail == 0 ? 2 : 3;
    CHECK(counts.own <= most);
    if (i > range) total += counts.own, slides += i % slide == 0;
  }
  if (slide == 1 && slides > 2 * chunk && !sba) CHECK(total < 3 * slides);
}

TEST(combines_are_bounded) {
  for (std::size_t range = 1; range <= 40; ++range) {
    for (std::size_t slide = 1; slide <= range; ++slide)
      costs<RowsSba<Counted>>(range, slide, true);
  }
  costs<RowsSba<Counted>>(std::size_t{1} << 18, 1, true);
  costs<RowsSba<Counted>>(100'000, 7, true);
}

// The caller's combines; it makes the lcs itself only if the thread has not begun.
TEST(the_second_thread_makes_the_lcs) {
  Counted::Counts counts;
  const std::size_t range = std::size_t{1} << 16;
  RowsPba<Counted> pba(Counted{&counts}, range);
  const std::size_t chunk = pba.chunk();
  std::size_t chunks = 0, passes_here = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto patient = [&] {
    return std::chrono::steady_clock::now() - begin < std::chrono::seconds(5);
  };
  for (std::size_t i = 1; i <= 4 * range || (counts.others == 0 && patient()); ++i) {
    const std::size_t before = counts.own;
    pba.insert(static_cast<double>(i * 7919 % 1013));
    const std::size_t cost = counts.own - before;
    if (cost > 3) {
      CHECK(cost <= 3 + chunk - 2);
      ++passes_here;
    }
    chunks += i % chunk == 0;
  }
  const std::size_t before = counts.own;
  pba.check(nullptr);  // settles the last pass, here if need be
  if (counts.own > before) ++passes_here;
  CHECK(counts.others > 0);
  CHECK_EQ(counts.others % (chunk - 2), 0);
  CHECK_EQ(counts.others / (chunk - 2) + passes_here, chunks);
}

#if SLIDEFOLD_FORKS
// In a child there is no second thread: the window goes on there as in the parent, and ends.
TEST(pba_goes_on_in_a_child_process) {
  for (const std::size_t before : {0, 7, 500, 5000}) {
    RowsPba<Concat> pba(Concat{}, 40, 1, 8, kAlways);
    RowsSba<Concat> sba(Concat{}, 40, 1, 8);
    const auto go_on = [&](std::size_t from, std::size_t rows) {
      for (std::size_t i = from; i < from + rows; ++i) {
        pba.insert(letter(static_cast<unsigned>(i)));
        sba.insert(letter(static_cast<unsigned>(i)));
        if (pba.query() != sba.query()) return false;
      }
      return true;
    };
    CHECK(go_on(0, before));
    const pid_t child = fork();
    if (child == 0) {
      bool same = true;
      {
        const auto dropped = pba;  // a copy that is not used
        same = go_on(before, 500);
        const auto copy = pba;
        pba = copy;
        same = same && go_on(before + 500, 100);
        const auto another = std::make_unique<RowsPba<Concat>>(pba);
      }
      {
        RowsPba<Concat> unused = std::move(pba);
      }
      _exit(same ? 0 : 1);
    }
    CHECK(go_on(before, 500));
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
  }
}
#endif

// Started, stopped, copied, assigned and destroyed at random moments, each with a twin in SBA.
TEST(pba_survives_anything) {
  std::mt19937 random(3);
  struct Twins {
    RowsPba<Concat> pba;
    RowsSba<Concat> sba;
  };
  std::vector<std::unique_ptr<Twins>> alive;
  const auto pick = [&] { return static_cast<std::ptrdiff_t>(random() % alive.size()); };
  for (int step = 0; step < 6000; ++step) {
    const auto kind = alive.empty() ? 0 : random() % 8;
    const bool room = alive.size() < 6;
    if (kind == 0 && room) {
      const std::size_t range = 1 + random() % 40, slide = 1 + random() % range;
      const std::size_t chunk = random() % 12;
      alive.push_back(
          std::make_unique<Twins>(Twins{RowsPba<Concat>(Concat{}, range, slide, chunk, kAlways),
                                        RowsSba<Concat>(Concat{}, range, slide, chunk)}));
    } else if (kind == 1 && room) {
      alive.push_back(std::make_unique<Twins>(*alive[static_cast<std::size_t>(pick())]));
    } else if (kind == 2) {
      *alive.front() = *alive[static_cast<std::size_t>(pick())];
    } else if (kind == 3) {
      alive.erase(alive.begin() + pick());
    } else {
      auto& [pba, sba] = *alive[static_cast<std::size_t>(pick())];
      for (auto count = random() % 60; count > 0; --count) {
        const auto value = letter(random());
        CHECK_EQ(pba.insert(value), sba.insert(value));
        CHECK_EQ(pba.query(), sba.query());
      }
      if (kind == 7) pba.check(nullptr);
    }
  }
}
