// Operators known only at run time, so that any algorithm runs with any operator.
//
// Layout: an Algebra is a table of function pointers over raw states, a context its first argument.
//   DynOp<N> keeps states of up to N plain bytes inside its slots; AnyOp keeps a pointer, for
//   states that own memory or Python objects.
// Invariants: the functions are thread-safe and keep no statics. remove and newer_wins are null
//   where the operator has no such property; whoever builds a SubtractOnEvict or SlickDeque asks
//   first. same is null where states have no exact equality.
// Cost: one indirect call a combine.
// Paper: none.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "slidefold/operator.hpp"
#include "slidefold/storage/archive.hpp"

namespace slidefold {

struct Algebra {
  std::size_t size;  // bytes of a state
  bool plain;        // states are plain bytes: no destructor, copied by memcpy
  void (*identity)(const void* context, void* out);
  void (*combine)(const void* context, const void* older, const void* newer, void* out);
  void (*remove)(const void* context, const void* whole, const void* older, void* out);
  bool (*newer_wins)(const void* context, const void* older, const void* newer);
  bool (*same)(const void* context, const void* a, const void* b);
  // For states that are not plain. All outputs above are then constructed, not assigned.
  void (*absorb)(const void* context, void* accumulated, const void* newer);
  void* (*allocate)();  // room for one state
  void (*release)(void* room);
  void (*copy)(const void* from, void* out);
  void (*destroy)(void* state);
  // Null where states cannot be saved. load constructs its output.
  void (*save)(const void* context, const void* state, Saver& saver);
  void (*load)(const void* context, void* out, Loader& loader);
};

struct ErasedOp {
  const Algebra* algebra = nullptr;
  std::shared_ptr<const void> context;
};

template <std::size_t kBytes>
struct DynOp : ErasedOp {
  static constexpr bool fallible = true;
  struct alignas(16) State {
    std::byte bytes[kBytes];
  };

  State identity() const {
    State out;
    algebra->identity(context.get(), out.bytes);
    return out;
  }
  State combine(const State& older, const State& newer) const {
    State out;
    algebra->combine(context.get(), older.bytes, newer.bytes, out.bytes);
    return out;
  }
  State remove(const State& whole, const State& older) const {
    State out;
    algebra->remove(context.get(), whole.bytes, older.bytes, out.bytes);
    return out;
  }
  bool newer_wins(const State& older, const State& newer) const {
    return algebra->newer_wins(context.get(), older.bytes, newer.bytes);
  }
  bool same(const State& a, const State& b) const {
    return algebra->same == nullptr || algebra->same(context.get(), a.bytes, b.bytes);
  }
  void archive(Saver& a, State& state) const { algebra->save(context.get(), state.bytes, a); }
  void archive(Loader& a, State& state) const { algebra->load(context.get(), state.bytes, a); }
};

// A state behind a pointer, copied and destroyed through its algebra.
class AnyState {
 public:
  AnyState() = default;
  explicit AnyState(const Algebra* algebra) : algebra_(algebra), room_(algebra->allocate()) {}
  AnyState(const AnyState& other) {
    if (other.room_ == nullptr) return;
    algebra_ = other.algebra_;
    room_ = algebra_->allocate();
    algebra_->copy(other.room_, room_);
    full_ = true;
  }
  AnyState(AnyState&& other) noexcept { swap(other); }
  AnyState& operator=(AnyState other) noexcept {
    swap(other);
    return *this;
  }
  ~AnyState() {
    if (full_) algebra_->destroy(room_);
    if (room_ != nullptr) algebra_->release(room_);
  }

  const void* get() const { return room_; }
  void* get() { return room_; }
  void filled() { full_ = true; }  // the room now holds a constructed state

 private:
  void swap(AnyState& other) noexcept {
    std::swap(algebra_, other.algebra_);
    std::swap(room_, other.room_);
    std::swap(full_, other.full_);
  }
  const Algebra* algebra_ = nullptr;
  void* room_ = nullptr;
  bool full_ = false;
};

struct AnyOp : ErasedOp {
  static constexpr bool fallible = true;
  using State = AnyState;

  State identity() const {
    return made([&](void* out) { algebra->identity(context.get(), out); });
  }
  State combine(const State& older, const State& newer) const {
    return made([&](void* out) { algebra->combine(context.get(), older.get(), newer.get(), out); });
  }
  State remove(const State& whole, const State& older) const {
    return made([&](void* out) { algebra->remove(context.get(), whole.get(), older.get(), out); });
  }
  bool newer_wins(const State& older, const State& newer) const {
    return algebra->newer_wins(context.get(), older.get(), newer.get());
  }
  void absorb(State& accumulated, const State& newer) const {
    if (algebra->absorb == nullptr) {
      accumulated = combine(accumulated, newer);
    } else {
      algebra->absorb(context.get(), accumulated.get(), newer.get());
    }
  }
  bool same(const State& a, const State& b) const {
    return algebra->same == nullptr || algebra->same(context.get(), a.get(), b.get());
  }

  // A state that was never filled stands for nothing: algorithms do not save those.
  void archive(Saver& a, State& state) const {
    expect(state.get() != nullptr, "a state that is to be saved is missing");
    algebra->save(context.get(), state.get(), a);
  }
  void archive(Loader& a, State& state) const {
    state = made([&](void* out) { algebra->load(context.get(), out, a); });
  }

  template <class Fill>
  State made(Fill&& fill) const {
    State state(algebra);
    fill(state.get());
    state.filled();
    return state;
  }
};

// The algebra of an operator known at compile time; the context is the operator itself.
template <Monoid Op>
struct AlgebraOf {
  using State = typename Op::State;
  static const Op& op(const void* context) { return *static_cast<const Op*>(context); }
  static const State& at(const void* state) { return *static_cast<const State*>(state); }

  static void identity(const void* context, void* out) {
    ::new (out) State(op(context).identity());
  }
  static void combine(const void* context, const void* older, const void* newer, void* out) {
    ::new (out) State(op(context).combine(at(older), at(newer)));
  }
  static void remove(const void* context, const void* whole, const void* older, void* out) {
    ::new (out) State(op(context).remove(at(whole), at(older)));
  }
  static bool newer_wins(const void* context, const void* older, const void* newer) {
    return op(context).newer_wins(at(older), at(newer));
  }
  static bool same(const void* context, const void* a, const void* b) {
    return op(context).same(at(a), at(b));
  }
  static void absorb(const void* context, void* accumulated, const void* newer) {
    op(context).absorb(*static_cast<State*>(accumulated), at(newer));
  }
  static void* allocate() { return ::operator new(sizeof(State)); }
  static void release(void* room) { ::operator delete(room); }
  static void copy(const void* from, void* out) { ::new (out) State(at(from)); }
  static void destroy(void* state) { static_cast<State*>(state)->~State(); }
  static void save(const void* context, const void* state, Saver& saver) {
    archive_state(saver, op(context), at(state));
  }
  static void load(const void* context, void* out, Loader& loader) {
    State state{};
    archive_state(loader, op(context), state);
    ::new (out) State(std::move(state));
  }

  static const Algebra* table() {
    static constexpr Algebra algebra = [] {
      Algebra a{};
      a.size = sizeof(State);
      a.plain = std::is_trivially_copyable_v<State>;
      a.identity = identity;
      a.combine = combine;
      if constexpr (Invertible<Op>) a.remove = remove;
      if constexpr (Selective<Op>) a.newer_wins = newer_wins;
      if constexpr (Comparable<Op>) a.same = same;
      if constexpr (requires(const Op& o, State& s) { o.absorb(s, s); }) a.absorb = absorb;
      a.allocate = allocate;
      a.release = release;
      a.copy = copy;
      a.destroy = destroy;
      if constexpr (ArchivableOperator<Op>) a.save = save, a.load = load;
      return a;
    }();
    return &algebra;
  }
};

}  // namespace slidefold
