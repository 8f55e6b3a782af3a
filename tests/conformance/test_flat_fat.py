"""FlatFat beyond a queue: evicting anywhere, replacing, prefixes and suffixes, fixed capacity."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import slidefold as sf
from tests.support.cases import BY_ID, Case
from tests.support.implementations import IMPLEMENTATIONS, build

OPTIONS = [
    {},
    {"batch": True},
    {"capacity": 1},
    {"capacity": 5},
    {"capacity": 16, "batch": True},
    {"counted": True},
]
CASES = [BY_ID[name] for name in ("concat", "sum-int64", "collect-object", "user-compose")]
both = pytest.mark.parametrize("code", IMPLEMENTATIONS)


def machine_of(code: str, case: Case, options: dict[str, Any]) -> type[RuleBasedStateMachine]:
    """Return a machine that keeps the window as a dict from position to value."""
    room = options.get("capacity", 40)
    place = st.integers(0, 10**6)

    class Positions(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.window: Any = build(code, "flat_fat", case, checked=True, **options)
            self.held: dict[int, Any] = {}
            self.next = 0

        def pick(self, which: int) -> int:
            return sorted(self.held)[which % len(self.held)]

        @rule(value=case.kind.strategy)
        def insert(self, value: Any) -> None:
            if len(self.held) == room:
                if "capacity" in options:
                    with pytest.raises(sf.errors.CapacityError, match=str(room)):
                        self.window.insert(value)
                return
            assert self.window.insert(value) == self.next
            self.held[self.next] = value
            self.next += 1

        @rule(values=st.lists(case.kind.strategy, max_size=room))
        def fill(self, values: list[Any]) -> None:
            for value in values[: room - len(self.held)]:
                self.insert(value)

        @precondition(lambda self: self.held)
        @rule()
        def evict_oldest(self) -> None:
            self.window.evict()
            del self.held[min(self.held)]

        @precondition(lambda self: self.held)
        @rule(which=place)
        def evict_anywhere(self, which: int) -> None:
            position = self.pick(which)
            self.window.evict(position)
            del self.held[position]

        @rule(which=place)
        def evict_what_is_gone(self, which: int) -> None:
            position = which % (self.next + 2)
            if position not in self.held:
                sentence = str(position) if self.held else rf"{position}|empty window"
                for step in (self.window.evict, self.window.prefix, self.window.suffix):
                    with pytest.raises(sf.errors.EmptyWindowError, match=sentence):
                        step(position)

        @rule(wanted=st.lists(st.tuples(place, case.kind.strategy), max_size=8))
        def update(self, wanted: list[tuple[int, Any]]) -> None:
            if not self.held:
                return
            new = {self.pick(which): value for which, value in wanted}
            self.window.update(list(new), list(new.values()))
            self.held.update(new)

        @precondition(lambda self: self.held)
        @rule(value=case.kind.strategy)
        def update_with_one_gone(self, value: Any) -> None:
            with pytest.raises(sf.errors.EmptyWindowError):
                self.window.update([min(self.held), self.next], [value, value])

        @rule()
        def trigger(self) -> None:
            self.window.trigger()

        @rule()
        def continue_with_a_copy(self) -> None:
            old, self.window = self.window, self.window.copy()
            while len(old):
                old.evict()

        @precondition(lambda self: self.held)
        @rule(which=place)
        def prefix_and_suffix(self, which: int) -> None:
            position = self.pick(which)
            at = sorted(self.held).index(position)
            values = [self.held[key] for key in sorted(self.held)]
            assert case.right(self.window.prefix(position), values[: at + 1])
            assert case.right(self.window.suffix(position), values[at:])

        @invariant()
        def agree(self) -> None:
            self.window.check()
            assert len(self.window) == len(self.held)
            assert self.window.capacity >= len(self.held)

        @rule()
        def query(self) -> None:
            values = [self.held[key] for key in sorted(self.held)]
            assert case.right(self.window.query(), values)
            assert case.right(self.window.aggregate(), values)
            self.window.check()

        def teardown(self) -> None:
            self.query()

    return Positions


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_positions(case: Case, options: dict[str, Any]) -> None:
    run_state_machine_as_test(machine_of("native", case, options))


@pytest.mark.parametrize("options", OPTIONS[:-1], ids=str)
def test_positions_of_the_reference(options: dict[str, Any]) -> None:
    run_state_machine_as_test(machine_of("reference", BY_ID["concat"], options))


@both
def test_a_batch_waits_for_its_trigger(code: str) -> None:
    """Events only write slots: combines come with the trigger, and fewer than one by one."""
    case = BY_ID["sum-int64"]
    batched = build(code, "flat_fat", case, batch=True, counted=True, capacity=1024)
    single = build(code, "flat_fat", case, counted=True, capacity=1024)
    for value in range(1024):
        batched.insert(value)
        single.insert(value)
    assert batched.combines == 0
    batched.trigger()
    assert batched.combines == 1023
    assert single.combines > 5 * 1023
    assert batched.query() == single.query() == sum(range(1024))


@both
def test_capacity_follows_the_window(code: str) -> None:
    """Doubling when full, compacting when three quarters are used, halving below a quarter."""
    window = build(code, "flat_fat", BY_ID["count"])
    seen = set()
    for _ in range(1000):
        window.insert(None)
        seen.add(window.capacity)
    assert window.capacity == 1024
    assert seen == {2**k for k in range(2, 11)}
    while len(window):
        window.evict()
    assert window.capacity == 4
    window = build(code, "flat_fat", BY_ID["count"])
    for _ in range(64):
        window.insert(None)
    for _ in range(16):  # three quarters stay
        window.evict()
    for _ in range(16):
        window.insert(None)
    assert window.capacity == 64


@both
def test_holes_are_compacted(code: str) -> None:
    """A ring full of holes is compacted instead of doubled, and positions stay what they were."""
    window = build(code, "flat_fat", BY_ID["collect-int64"], checked=True)
    positions = [window.insert(value) for value in range(64)]
    for position in positions[1:-1:2]:
        window.evict(position)
    held = [value for value in range(64) if value % 2 == 0 or value == 63]
    assert window.query() == held
    for value in range(64, 80):
        positions.append(window.insert(value))
        held.append(value)
        window.check()
    assert window.capacity == 64
    assert window.query() == held
    assert window.prefix(positions[10]) == [0, 2, 4, 6, 8, 10]
    assert window.suffix(positions[78]) == [78, 79]
    window.update([positions[10], positions[78]], [-1, -2])
    assert window.query() == [{10: -1, 78: -2}.get(value, value) for value in held]
