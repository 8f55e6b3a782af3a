// What a store folds: an operator over some of its columns, known only at run time.
//
// Layout: a Kernel is a table of functions over raw states and runs of values; a Part is a kernel
//   with its operator, the columns that it reads and the presence bit of the rows that count. A
//   part that walks has no states: its result is made of the rows of a window, such as a list.
// Invariants: I1 the functions are thread-safe and keep no statics. I2 fold and run take rows in
//   time order, oldest first. I3 a state that owns memory is constructed before it is used and
//   destroyed once.
// Cost: one indirect call per run of values, not per value, so that the build does not grow with
//   operators times windows.
// Paper: fiba-out-of-order for what the states in inner nodes are; none for the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "slidefold/operators/dyn.hpp"

namespace slidefold::engine {

using Word = std::uint64_t;  // any value of a column: its bits, or its number in a pool
using Time = std::int64_t;

inline constexpr std::uint32_t kAlways = ~std::uint32_t{0};  // the presence of every row
inline constexpr std::uint32_t kTimes = ~std::uint32_t{0};   // the times of rows, as a column

// Where the results of one feature go.
class Sink {
 public:
  virtual ~Sink() = default;
  // The result of a row; `state` holds `held` values.
  virtual void put(std::size_t row, const void* state, std::uint64_t held) = 0;
};

// Consecutive answers that share two ends. The window of answer i holds the values of the lower
// columns from at[i] to `end`, then what `back` holds, then those of the upper columns up to up[i];
// neither at nor up ever goes back. Afterwards `back` also holds upper values up to the last up[i].
struct Run {
  void* back;
  const void* const* lower;
  const std::int32_t* at;
  std::int32_t end;
  const void* const* upper;
  std::int32_t from;
  const std::int32_t* up;
  std::uint32_t count;
  const std::uint32_t* rows;  // the row of each answer
  const std::uint64_t* held;  // how many values its window holds
  Sink* sink;
};

struct Part;
struct Kernel {
  Algebra algebra;
  // Folds `count` rows from `first` on into a state.
  void (*fold)(const Part& part, void* state, const void* const* columns, std::int32_t first,
               std::int32_t count);
  void (*run)(const Part& part, const Run& run);
};

struct OrderKernel;  // orders.hpp

struct Part {
  const Kernel* kernel = nullptr;
  const OrderKernel* order = nullptr;  // of order statistics, whose windows hold multisets
  std::shared_ptr<const void> context;
  std::vector<std::uint32_t> columns;
  std::uint32_t presence = kAlways;
  bool commutative = false;
  bool walks = false;  // answered from the rows of a window: it has no states
  bool idle = false;   // nobody asks for it at the moment
  bool bound = false;  // states last no longer than the rows that they are made of

  // Of operators known only at run time: makes the state of one row, with what it needs for that.
  void (*lift)(const Part& part, const void* const* columns, std::int32_t row, void* out) = nullptr;
  std::shared_ptr<const void> reads;
  std::shared_ptr<const Kernel> own_kernel;

  const Algebra& algebra() const { return kernel->algebra; }
  // Whether windows keep a state of it.
  bool folds() const { return order == nullptr && !walks && !idle; }
  // Whether a state can take the place of rows.
  bool outlives_rows() const {
    return order == nullptr && !walks && !bound && algebra().save != nullptr &&
           algebra().load != nullptr;
  }
  // Whether states lie where they are kept; else there is a pointer to them.
  bool inside() const { return algebra().plain && algebra().size <= 64; }
  std::size_t slot_bytes() const { return inside() ? (algebra().size + 7) / 8 * 8 : sizeof(void*); }

  void identity(void* out) const { algebra().identity(context.get(), out); }
  void absorb(void* older, const void* newer) const {
    const Algebra& a = algebra();
    if (a.absorb != nullptr) {
      a.absorb(context.get(), older, newer);
    } else if (inside()) {
      alignas(16) std::byte both[64];
      a.combine(context.get(), older, newer, both);
      std::memcpy(older, both, a.size);
    } else {
      AnyState both(&a);
      a.combine(context.get(), older, newer, both.get());
      both.filled();
      if (!a.plain) a.destroy(older);
      a.copy(both.get(), older);
    }
  }
};

// One state of a part outside of any store.
class StateOf {
 public:
  explicit StateOf(const Part& part) : part_(&part) {
    room_ = part.inside() ? inside_ : part.algebra().allocate();
  }
  StateOf(StateOf&& other) noexcept
      : part_(other.part_), room_(other.room_), full_(std::exchange(other.full_, false)) {
    if (part_->inside()) {
      std::copy(other.inside_, other.inside_ + sizeof inside_, inside_);
      room_ = inside_;
    } else {
      other.room_ = nullptr;
    }
  }
  StateOf& operator=(StateOf&&) = delete;
  ~StateOf() {
    clear();
    if (room_ != inside_ && room_ != nullptr) part_->algebra().release(room_);
  }

  void reset() {
    clear();
    part_->identity(room_);
    full_ = true;
  }
  void assign(const void* state) {
    fill([&](void* out) { part_->algebra().copy(state, out); });
  }
  template <class Fill>
  void fill(Fill&& fill) {
    clear();
    fill(room_);
    full_ = true;
  }
  void* get() { return room_; }
  const void* get() const { return room_; }

 private:
  void clear() {
    if (full_ && !part_->algebra().plain) part_->algebra().destroy(room_);
    full_ = false;
  }
  const Part* part_;
  void* room_;
  bool full_ = false;
  alignas(16) std::byte inside_[64];
};

}  // namespace slidefold::engine
