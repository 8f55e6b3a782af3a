// SBA, the sequential boundary aggregator: slices in chunks, each window cut at chunk boundaries.
//
// Layout: a window W[r, s] is a tail of r mod s values and floor(r/s) slices after it. Pieces begin
//   where windows begin, so a piece is a slice's tail and the next slice's head, and the tail that
//   closes a window is the piece still open: no tail is kept. The last floor(r/s) pieces lie in a
//   ring. In a finished chunk of b pieces the slots hold lcs, suffix folds up to the chunk's end;
//   the first of them is ca, the whole chunk. In the current chunk they hold slice aggregates
//   (saa); the first of them is csa, the fold so far. Empty slices are skipped, never combined.
// Invariants: I1 the counters agree with the number of pieces. I2 lcs. I3 ca. I4 csa. I5 saa.
//   I6 the open piece. I7 the result is the fold of the last closed window, or of all so far.
// Cost: a slide 1 for csa and k+1 to merge, k = floor(floor(r/s)/b), one more with a tail: <= 3 and
//   <= 4 if 2b > floor(r/s); b-2 more when a chunk ends; floor(r/s) + 2 states, less than the
//   paper's (3n+13)/2, as lcs, ca and csa all live in the slots of saa.
// Paper: pba-parallel-boundary, section 4, from its description; slices as Cutty cuts them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "slidefold/algorithms/boundary_chunk.hpp"
#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"
#include "slidefold/storage/slice_ring.hpp"
#include "slidefold/storage/undo.hpp"

namespace slidefold {

// Runs the pass at once, as SBA does. PBA's way is in parallel_boundary.hpp.
struct InlinePass {
  explicit InlinePass(std::size_t /*hand_over_from*/ = 0) {}
  template <class Pass>
  void start(const Pass& pass) {
    pass();
  }
  void settle() const {}
  void cancel() {}
};

template <class Op>
struct BoundaryTypes {
  using State = typename Op::State;
  using Store = SliceRing<State, fallible_v<Op>>;
  struct Marks {
    std::uint64_t pieces = 0;     // finished so far
    std::uint64_t closed = 0;     // slices closed so far
    std::uint64_t due = ~0ull;    // with so many pieces a window starts inside the lcs being made
    std::size_t at = 0;           // the slot of the next piece; of the oldest, once all are used
    std::size_t first = 0;        // the slot of the current chunk's first piece
    std::size_t phase = 0;        // pieces in the current chunk
    std::size_t front_phase = 0;  // the oldest piece's place in its chunk
    bool gaps = false;            // the current chunk has empty pieces
    bool open = false;            // the open piece has values
    bool in_tail = false;         // the open piece began in this slice
    State piece{};
    State result{};
  };
};

// Pass comes first among the bases: copying it settles the other one before its slots are read.
template <Monoid Op, class Pass>
class Boundary : protected Pass,
                 public Undoable<typename BoundaryTypes<Op>::Store,
                                 typename BoundaryTypes<Op>::Marks, fallible_v<Op>> {
 public:
  using Operation = Op;
  using State = typename Op::State;

  // slices = floor(r/s) >= 1; has_tail: r mod s != 0; a chunk larger than the window is the window.
  template <class... PassArguments>
  Boundary(Op op, std::size_t slices, bool has_tail, std::size_t chunk, PassArguments... arguments)
      : Pass(arguments...),
        op_(std::move(op)),
        has_tail_(has_tail),
        chunk_(std::clamp<std::size_t>(chunk, 1, slices)) {
    this->store_ = typename BoundaryTypes<Op>::Store(slices);
    this->marks_.result = op_.identity();
  }
  Boundary(const Boundary&) = default;
  Boundary& operator=(const Boundary&) = default;
  ~Boundary() { Pass::cancel(); }

  const Op& op() const { return op_; }
  std::size_t chunk() const { return chunk_; }
  // Slices in the window.
  std::size_t size() const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(this->marks_.pieces, slices()));
  }
  std::size_t bytes() const { return this->store_.bytes() + 2 * sizeof(State); }

  // Folds a value into the open slice. in_tail: it is among the slice's last r mod s, which the
  // window that begins in this slice sees; those come last.
  void add(State value, bool in_tail) {
    auto& marks = this->marks_;
    if (in_tail && has_tail_ && !marks.in_tail) {
      cut();
      marks.in_tail = true;
    }
    if (marks.open) {
      absorb(op_, marks.piece, value);
    } else {
      marks.piece = std::move(value);
      marks.open = true;
    }
  }

  // Closes the slice, which may be empty. True once a whole window has been seen.
  bool close_slice() {
    close();
    merge();
    return complete();
  }

  // add and close_slice for a slice of one value, or folded already, without a tail.
  bool push_slice(State slice) {
    cut(std::move(slice));
    ++this->marks_.closed;
    merge();
    return complete();
  }

  // As `count` calls of close_slice with nothing in between, in O(slices).
  bool skip_slices(std::uint64_t count) {
    if (count == 0) return complete();
    if (count <= slices() + 1) {
      while (count-- > 0) close();
    } else {
      forget(count);
    }
    merge();
    return complete();
  }

  bool complete() const { return this->marks_.closed >= slices() + (has_tail_ ? 1 : 0); }

  // The last window that was closed; before the first complete one, all up to the last close.
  const State& query() const { return this->marks_.result; }

  // contents: the values of each piece in the window, oldest first, then those of the open piece.
  void check(const std::vector<std::vector<State>>* contents) const;

  // Calls visit(state) for every state that is kept.
  template <class Visit>
  void for_states(Visit&& visit) const {
    Pass::settle();
    this->store_.for_each(visit);
    visit(this->marks_.piece);
    visit(this->marks_.result);
  }

  // Where pieces and chunks lie follows from their number.
  template <class Archive>
  void archive(Archive& a) {
    auto& marks = this->marks_;
    Pass::settle();
    a(chunk_, marks.pieces, marks.closed, marks.in_tail, marks.open);
    if constexpr (Archive::kLoading) {
      expect(1 <= chunk_ && chunk_ <= slices(), "a chunk is larger than the window");
      expect_position(marks.pieces);
      expect_position(marks.closed);
      locate();
    }
    bool gaps = marks.phase != 0 && marks.gaps;  // of a chunk that is not there they mean nothing
    a(gaps);
    if constexpr (Archive::kLoading) marks.gaps = gaps;
    const auto held = [&](std::size_t slot) { return slot < marks.pieces; };
    const auto state = [&](auto& visited) { archive_state(a, op_, visited); };
    this->store_.archive(a, held, state);
    if (marks.open) state(marks.piece);
    state(marks.result);
  }

 protected:
  std::size_t slices() const { return this->store_.size(); }

 private:
  void close() {
    auto& marks = this->marks_;
    if (!marks.in_tail) cut();
    marks.in_tail = false;
    ++marks.closed;
  }

  // The open piece goes into the ring.
  void cut() {
    auto& marks = this->marks_;
    if (marks.open) {
      cut(std::move(marks.piece));
      marks.open = false;
    } else {
      prepare();
      this->store_.clear(marks.at);
      marks.gaps = true;
      advance();
    }
  }

  void cut(State&& piece) {
    auto& marks = this->marks_;
    auto& store = this->store_;
    prepare();
    if (marks.phase != 0) {
      if (store.filled(marks.first)) {
        store.fold(op_, marks.first, piece);
      } else {
        store.set(marks.first, piece);
      }
    }
    store.set(marks.at, std::move(piece));
    advance();
  }

  void prepare() {
    auto& marks = this->marks_;
    await();
    if (marks.phase != 0) return;
    marks.first = marks.at;
    marks.gaps = false;
  }

  void advance() {
    auto& marks = this->marks_;
    marks.at = this->store_.next(marks.at);
    if (marks.pieces++ >= slices() && ++marks.front_phase == chunk_) marks.front_phase = 0;
    if (++marks.phase == chunk_) finish();
  }

  void finish() {
    auto& marks = this->marks_;
    marks.phase = 0;
    if (chunk_ <= 2) return;  // ca and the last slice aggregate are there already
    Pass::settle();
    Pass::start(LcsPass<Op>{&op_, &this->store_, marks.first, chunk_, marks.gaps});
    marks.due = marks.pieces - chunk_ + slices() + 1;
  }

  void await() {
    if (this->marks_.pieces < this->marks_.due) return;
    Pass::settle();
    this->marks_.due = ~0ull;
  }

  // lcs * ca .. ca * csa * tail, as many of them as there are.
  void merge() {
    auto& marks = this->marks_;
    const auto& store = this->store_;
    await();
    // Numbers are merged in registers, large states where they stay.
    constexpr bool kCopies = std::is_trivially_copyable_v<State>;
    std::conditional_t<kCopies, State, State&> result = marks.result;
    bool filled = false;
    const auto take = [&](const State& part) {
      if (filled) {
        absorb(op_, result, part);
      } else {
        result = part;
        filled = true;
      }
    };
    const std::size_t front = marks.pieces < slices() ? 0 : marks.at;
    const std::size_t finished = size() - marks.phase;
    for (std::size_t i = 0, step = chunk_ - marks.front_phase; i < finished; step = chunk_) {
      const std::size_t slot = store.ahead(front, i);
      if (store.filled(slot)) take(store[slot]);
      i += step;
    }
    if (marks.phase > 0 && store.filled(marks.first)) take(store[marks.first]);
    if (marks.open) take(marks.piece);
    if (!filled) result = op_.identity();
    if constexpr (kCopies) marks.result = result;
  }

  // So many empty slices that nothing is left.
  void forget(std::uint64_t count) {
    auto& marks = this->marks_;
    Pass::settle();
    for (std::size_t i = 0; i < slices(); ++i) this->store_.clear(i);
    marks.piece = State{};
    marks.closed += count;
    marks.pieces += count - (marks.in_tail ? 1 : 0);
    marks.in_tail = marks.open = false;
    marks.gaps = true;
    locate();
  }

  // The places that follow from the number of pieces, with no pass under way.
  void locate() {
    auto& marks = this->marks_;
    marks.due = ~0ull;
    marks.at = static_cast<std::size_t>(marks.pieces % slices());
    marks.phase = static_cast<std::size_t>(marks.pieces % chunk_);
    marks.front_phase = static_cast<std::size_t>((marks.pieces - size()) % chunk_);
    marks.first = static_cast<std::size_t>((marks.pieces - marks.phase) % slices());
  }

  Op op_;
  bool has_tail_;
  std::size_t chunk_;
};

template <Monoid Op, class Pass>
void Boundary<Op, Pass>::check(const std::vector<std::vector<State>>* contents) const {
  Pass::settle();
  const auto& marks = this->marks_;
  const auto& store = this->store_;
  const std::size_t n = size(), finished = n - marks.phase;
  require(marks.at == marks.pieces % slices() && marks.phase == marks.pieces % chunk_ &&
              marks.front_phase == (marks.pieces - n) % chunk_ && finished <= n &&
              (marks.phase == 0 || marks.first == (marks.pieces - marks.phase) % slices()) &&
              marks.pieces == marks.closed + (marks.in_tail ? 1 : 0),
          "I1: the counters agree with the number of pieces");
  if (contents == nullptr) return;
  require(contents->size() == n + 1, "I1: the ring holds the window's pieces");
  const auto same = [&](bool filled, const State& kept, std::size_t from, std::size_t to,
                        const char* invariant) {
    State fold = op_.identity();
    bool any = false;
    for (std::size_t i = from; i < to; ++i) {
      for (const State& value : (*contents)[i]) {
        fold = op_.combine(fold, value);
        any = true;
      }
    }
    require(filled == any, invariant);
    if (any) require_same(op_, kept, fold, invariant);
  };
  const std::size_t front = marks.pieces < slices() ? 0 : marks.at;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t slot = store.ahead(front, i);
    const std::size_t place = (marks.front_phase + i) % chunk_;
    const State& kept = store[slot];
    const bool filled = store.filled(slot);
    if (i < finished) {
      same(filled, kept, i, i + chunk_ - place,
           place == 0 ? "I3: ca folds its chunk" : "I2: lcs folds up to its chunk's end");
    } else if (place == 0) {
      same(filled, kept, i, n, "I4: csa folds the current chunk");
    } else {
      same(filled, kept, i, i + 1, "I5: saa holds slice aggregates");
    }
  }
  same(marks.open, marks.piece, n, n + 1, "I6: the open piece folds its values");
}

template <Monoid Op>
class Sba : public Boundary<Op, InlinePass> {
 public:
  using Boundary<Op, InlinePass>::Boundary;
};

}  // namespace slidefold
