"""The garbage collector sees through windows: cycles of objects, operators and windows end."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import BusyError
from tests.support.algorithms import WINDOWS, fitting, make


@pytest.fixture(autouse=True)
def _frozen() -> Iterator[None]:
    """Leave what is there already out of collections: they are quick then."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class Thing:
    """Something that can be part of a cycle, and is watched."""

    held: Any = None


def operators() -> Iterator[tuple[str, Any]]:
    for name in ("first", "last", "collect"):
        yield name, getattr(sf, name)(dtype="object")
    yield "nth", sf.nth(n=2, dtype="object")

    @sf.operator
    class Bag:
        """All things."""

        lift = staticmethod(lambda thing: (thing,))
        combine = staticmethod(lambda older, newer: older + newer)
        lower = staticmethod(len)
        remove = staticmethod(lambda whole, older: whole[len(older) :])

    yield "bag", Bag()


OPERATORS = dict(operators())


def fill(window: Any, thing: Any) -> None:
    """Push the thing, and others after it, so that it is in values and in folds."""
    for value in (thing, Thing(), thing, Thing()):
        if hasattr(window, "min_arity"):
            window.insert(id(value) % 7, value)
        elif isinstance(window, sf.Window) and isinstance(
            window.plan.window, sf.definition.windows.Time
        ):
            window.push(1, value)
        elif hasattr(window, "push"):
            window.push(value)
        else:
            window.insert(value)
    window.query()


def subjects(operator: Any) -> Iterator[Any]:
    for name in fitting(operator):
        yield make(name, operator)
        yield make(name, operator, checked=True)
    for name in WINDOWS:
        if name in fitting(operator):
            yield sf.Window(operator, sf.rows(3), algorithm=name)
            yield sf.Window(operator, sf.rows(3, closed="left"), algorithm=name)
            yield sf.Window(operator, sf.time(9), algorithm=name)
    yield sf.Window(operator, sf.time(9), lateness=5)
    yield sf.algorithms.Fiba(operator)
    yield sf.algorithms.BTree(operator)
    yield sf.algorithms.Sba(operator, 3, 2)
    yield sf.algorithms.Pba(operator, 3)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_cycle_through_values_is_collected(name: str) -> None:
    count = 0
    for window in subjects(OPERATORS[name]):
        thing = Thing()
        thing.held = window
        watched = weakref.ref(thing)
        what = repr(window)
        fill(window, thing)
        gc.collect()
        assert watched() is thing
        del window, thing
        gc.collect()
        assert watched() is None, what
        count += 1
    assert count > 10


def test_a_cycle_through_a_struct_is_collected() -> None:
    window: Any = sf.Window(
        sf.struct(a=sf.last("x", dtype="object"), b=sf.collect("y", dtype="object")), sf.rows(3)
    )
    thing = Thing()
    thing.held = window
    watched = weakref.ref(thing)
    for _ in range(5):
        window.push({"x": thing, "y": thing})
    del window, thing
    gc.collect()
    assert watched() is None


def test_a_cycle_through_an_operator_is_collected() -> None:
    class Owner:
        """Whose methods are the operator of its own window."""

        def __init__(self, kind: Any) -> None:
            owner = self

            @sf.operator
            class Pick:
                """Knows its owner."""

                lift = staticmethod(lambda value: (value, owner is None))
                combine = staticmethod(lambda older, newer: newer)
                lower = staticmethod(lambda state: state[0])

            self.window = kind(Pick())

    for kind in (
        lambda op: sf.Window(op, sf.rows(3)),
        lambda op: sf.Window(op, sf.time(3), lateness=1),
        lambda op: make("daba", op),
        sf.algorithms.Fiba,
        lambda op: sf.algorithms.Sba(op, 3),
    ):
        owner = Owner(kind)
        fill(owner.window, 3)
        twin = owner.window.copy()
        watched = weakref.ref(owner)
        del owner
        gc.collect()
        assert watched() is not None  # the copy has the operator still
        fill(twin, 4)
        del twin
        gc.collect()
        assert watched() is None


def test_what_is_alive_stays() -> None:
    window: Any = sf.Window(sf.collect(dtype="object"), sf.rows(3))
    things = [Thing() for _ in range(3)]
    for thing in things:
        thing.held = window
        window.push(thing)
    del thing
    for _ in range(3):
        gc.collect()
    assert window.query() == things
    twin = window.copy()
    window.push(None)
    gc.collect()
    assert twin.query() == things


def test_a_collection_during_a_step_looks_at_nothing() -> None:
    @sf.operator
    class Sweeping:
        """Collects garbage all the time."""

        lift = staticmethod(lambda thing: [thing])

        @staticmethod
        def combine(older: list[Any], newer: list[Any]) -> list[Any]:
            gc.collect()
            return older + newer

        lower = staticmethod(len)

    operator: Any = Sweeping()
    for window in (
        sf.Window(operator, sf.rows(4)),
        sf.Window(operator, sf.time(9), lateness=2),
        sf.algorithms.Fiba(operator),
    ):
        thing = Thing()
        thing.held = window
        for _ in range(3):
            fill(window, thing)
        window.check()


def test_what_is_taken_apart_says_so() -> None:
    class Last:
        """Uses the window in its end, when the collector is at work."""

        window: Any = None
        said: ClassVar[list[str]] = []

        def __del__(self) -> None:
            try:
                self.window.push(self)
            except BusyError as error:
                self.said.append(str(error))

    window: Any = sf.Window(sf.last(dtype="object"), sf.rows(1))
    last = Last()
    last.window = window
    window.push(last)
    del window, last
    gc.collect()  # finalizers come first: the push works, and brings the object back to life
    gc.collect()
    assert all("gone" in text for text in Last.said)


@pytest.mark.parametrize("emit", ["arrival", "final"])
def test_a_live_run_that_its_operator_sees(emit: str) -> None:
    def begin() -> Any:
        thing = Thing()

        @sf.operator
        class Seeing:
            lift = staticmethod(lambda x: (thing, x)[1])
            combine = staticmethod(lambda older, newer: older + newer)
            lower = staticmethod(lambda whole: whole)

        seeing: Any = Seeing  # a factory, since it is decorated
        definition = sf.rolling(on="t", s=seeing("x").over(sf.time(9)))
        thing.held = definition.live(lateness=0, emit=emit)
        thing.held.feed(pa.table({"t": [1, 2], "x": [3, 4]}))
        return weakref.ref(thing)

    watched = begin()
    gc.collect()
    assert watched() is None
