"""Every algorithm in every implementation, with every operator, beside Recalc and a plain list."""

from __future__ import annotations

import random
from collections.abc import Iterator
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

from slidefold import reference
from slidefold.errors import EmptyWindowError
from tests.support.algorithms import REGISTERED, fitting
from tests.support.cases import BY_ID, CASES, Case
from tests.support.implementations import build, codes_of, every

LARGEST = 48  # check() folds every stretch of the window again: O(n^2) combines


class World:
    """One window's values, and every algorithm that holds them."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.values: list[Any] = []
        names = fitting(case.operator)
        self.made = {
            (code, name): build(code, name, case, checked=True)
            for code in codes_of(case)
            for name in names
        }
        for name in names:  # counted operators are known at run time only
            self.made["counted", name] = build("native", name, case, checked=True, counted=True)

    def copy(self) -> World:
        twin = World.__new__(World)
        twin.case = self.case
        twin.values = list(self.values)
        twin.made = {key: each.copy() for key, each in self.made.items()}
        return twin

    def insert(self, value: Any) -> None:
        self.values.append(value)
        for each in self.made.values():
            each.insert(value)

    def evict(self) -> None:
        if not self.values:
            for each in self.made.values():
                with pytest.raises(EmptyWindowError, match="empty window"):
                    each.evict()
            return
        del self.values[0]
        for each in self.made.values():
            each.evict()

    def verify(self) -> None:
        oracle = self.made["native", "recalc"].query()
        for key, each in self.made.items():
            each.check()
            assert len(each) == len(self.values), key
            got = each.query()
            assert self.case.right(got, self.values), (key, got, self.values)
            if self.case.same_everywhere:
                same = got == oracle or repr(got) == repr(oracle)  # NaN, also inside of something
                assert same or isinstance(got, list), (key, got, oracle)
            each.check()  # a query may rearrange


def machine_of(case: Case) -> type[RuleBasedStateMachine]:
    """Return a machine that walks the algorithms through one operator."""

    class Lockstep(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.worlds = [World(case)]

        def world(self, which: int) -> World:
            return self.worlds[which % len(self.worlds)]

        @rule(value=case.kind.strategy, which=st.integers(0, 1))
        def insert(self, value: Any, which: int) -> None:
            if len(self.world(which).values) < LARGEST:
                self.world(which).insert(value)

        @rule(which=st.integers(0, 1))
        def evict(self, which: int) -> None:
            self.world(which).evict()

        @rule(values=st.lists(case.kind.strategy, max_size=20), which=st.integers(0, 1))
        def grow(self, values: list[Any], which: int) -> None:
            for value in values[: LARGEST - len(self.world(which).values)]:
                self.world(which).insert(value)

        @rule(count=st.integers(1, LARGEST), which=st.integers(0, 1))
        def shrink(self, count: int, which: int) -> None:
            for _ in range(min(count, len(self.world(which).values))):
                self.world(which).evict()

        @rule(values=st.lists(case.kind.strategy, max_size=10), which=st.integers(0, 1))
        def slide(self, values: list[Any], which: int) -> None:
            world = self.world(which)
            if world.values:
                for value in values:
                    world.evict()
                    world.insert(value)

        @rule(which=st.integers(0, 1))
        def empty(self, which: int) -> None:
            while self.world(which).values:
                self.world(which).evict()

        @precondition(lambda self: len(self.worlds) == 1)
        @rule()
        def copy(self) -> None:
            self.worlds.append(self.worlds[0].copy())

        @precondition(lambda self: len(self.worlds) == 2)
        @rule(which=st.integers(0, 1))
        def forget(self, which: int) -> None:
            del self.worlds[which]

        @invariant()
        def agree(self) -> None:
            for world in self.worlds:
                world.verify()

    return Lockstep


ALWAYS = ("concat", "max_by-str-float64", "sum-float64", "count")  # run in every implementation


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.id, marks=() if case.id in ALWAYS else pytest.mark.sampled(8))
        for case in CASES
    ],
)
def test_lockstep(case: Case) -> None:
    run_state_machine_as_test(machine_of(case))


def interleaving(seed: int, steps: int) -> Iterator[bool]:
    """Yield True for insert and False for evict, in phases that grow, stay and shrink."""
    rng = random.Random(seed)
    while steps > 0:
        phase = min(rng.randint(1, 40), steps)
        share = rng.choice([0.0, 0.1, 0.3, 0.5, 0.5, 0.7, 0.9, 1.0])
        yield from (rng.random() < share for _ in range(phase))
        steps -= phase


@pytest.mark.parametrize("batch", [False, True], ids=["", "batch"])
@pytest.mark.parametrize(("code", "name", "case"), every([BY_ID["concat"]]))
def test_long_interleavings(code: str, name: str, case: Case, batch: bool) -> None:
    """An operator that does not commute, in windows that grow and shrink for hundreds of steps."""
    if batch and name != "flat_fat":
        return
    for seed in range(3):
        window = build(code, name, case, checked=True, **({"batch": True} if batch else {}))
        held = ""
        for at, insert in enumerate(interleaving(seed, 300)):
            if insert or not held:
                held += chr(97 + at % 26)
                window.insert(held[-1])
            else:
                held = held[1:]
                window.evict()
            window.check()
            assert len(window) == len(held)
            assert window.query() == (held or None)
            window.check()


@pytest.mark.parametrize(("code", "name", "case"), every([BY_ID["sum-float64"]]))
def test_a_large_value_leaves_no_trace(code: str, name: str, case: Case) -> None:
    column = case.kind.column([1.0, 1e16, 1.0, 2.0, 3.0])
    assert list(build(code, name, case).slide(column, 2)[-2:]) == [3.0, 5.0]


def test_every_algorithm_has_a_reference() -> None:
    for name, cls in REGISTERED.items():
        assert hasattr(reference, cls.__name__), f"slidefold.reference lacks {name}"
