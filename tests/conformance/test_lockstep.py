"""Every algorithm with every operator, step by step beside Recalc and a plain list."""

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

from tests.support.algorithms import fitting, make
from tests.support.cases import CASES, Case

LARGEST = 48  # check() folds every stretch of the window again: O(n^2) combines


class World:
    """One window's values, and every algorithm that holds them."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.values: list[Any] = []
        self.made = {
            (name, counted): make(name, case.operator, checked=True, counted=counted)
            for name in fitting(case.operator)
            for counted in (False, True)  # counted operators are known at run time only
        }

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
        del self.values[0]
        for each in self.made.values():
            each.evict()

    def verify(self) -> None:
        oracle = self.made["recalc", False].query()
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
            if self.world(which).values:
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


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_lockstep(case: Case) -> None:
    run_state_machine_as_test(machine_of(case))
