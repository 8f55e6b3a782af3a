"""Native rounds do what they say: a loop in Python counts the same combines."""

import random
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from benchmarks.papers.rounds import make
from slidefold.errors import ValueTypeError, WindowError

VALUES = np.random.default_rng(7).random(50)
IN_ORDER = (
    "two_stacks",
    "two_stacks_lite",
    "daba",
    "daba_lite",
    "flat_fat",
    "flat_fit",
    "b_int",
    "amta",
)
TREES = ("fiba2", "fiba4", "fiba", "btree2")
HIGH = 2**61


def counted(window: Any, step: Any) -> int:
    before = window.combines
    step()
    return int(window.combines - before)


class Loop:
    """Rounds in plain Python, beside those in native code."""

    def __init__(self, side: str, plan: dict[str, Any]) -> None:
        self.window = make(side, sf.sum(), counted=True)
        self.native = make(side, sf.sum(), counted=True)
        self.tree = side.startswith(("fiba", "btree"))
        self.plan = plan
        self.next = 0
        self.time = 0

    def value(self) -> float:
        self.next += 1
        return float(VALUES[(self.next - 1) % len(VALUES)])

    def insert(self, value: float, time: int | None = None) -> None:
        if not self.tree:
            self.window.insert(value)
            return
        if time is None:
            time = self.time
            self.time += 1
        self.window.insert(time, value)

    def evict(self) -> None:
        self.window.evict(self.window.oldest) if self.tree else self.window.evict()

    def fill(self) -> None:
        n, d = self.plan["window"], self.plan.get("distance", 0)
        for item in range(n):
            low = item < n - d
            self.insert(self.value(), None if low or not self.tree else HIGH + item)

    def round(self) -> tuple[int, int, int]:
        bulk = self.plan.get("bulk", 1)
        incoming = [self.value() for _ in range(bulk)]

        def evict() -> None:
            if self.plan.get("bulk_evict") and self.tree:
                self.window.bulk_evict(self.window.oldest + bulk - 1)
            else:
                for _ in range(bulk):
                    self.evict()

        def insert() -> None:
            if self.plan.get("bulk_insert") and self.tree:
                times = np.arange(self.time, self.time + bulk)
                self.time += bulk
                self.window.bulk_insert(times, np.array(incoming))
            else:
                for value in incoming:
                    self.insert(value)

        def query() -> None:
            self.window.query()
            if small := self.plan.get("small", 0):
                self.window.query(self.time - (small - self.plan["distance"]), 2**62)

        return (
            counted(self.window, evict),
            counted(self.window, insert),
            counted(self.window, query),
        )


@pytest.mark.parametrize("side", [*IN_ORDER, *TREES])
@pytest.mark.parametrize(
    "plan",
    [
        {"window": 1},
        {"window": 33},
        {"window": 40, "bulk": 7},
        {"window": 40, "bulk": 7, "bulk_evict": True, "bulk_insert": True},
    ],
    ids=str,
)
def test_rounds_count_what_a_loop_counts(side: str, plan: dict[str, Any]) -> None:
    if plan.get("bulk_evict") and side == "amta":
        pytest.skip("the loop evicts one by one")
    loop = Loop(side, plan)
    loop.fill()
    expected = [loop.round() for _ in range(60)]
    for part, name in enumerate(("evict", "insert")):
        options = {**plan, "count": 60, "timed": name, "count_combines": True}
        assert loop.native._rounds(VALUES, options).tolist() == [r[part] for r in expected], name
    options = {**plan, "count": 60, "count_combines": True}
    each = loop.native._rounds(VALUES, {**options, "timed": "round"})
    assert each.tolist() == [sum(r) for r in expected]
    assert loop.native._rounds(VALUES, options).tolist() == [sum(map(sum, expected))]
    assert len(loop.native) == 0, "rounds run on a copy"


@pytest.mark.parametrize("side", TREES)
@pytest.mark.parametrize(
    "plan",
    [
        {"window": 40, "distance": 13},
        {"window": 40, "distance": 40},
        {"window": 64, "distance": 16, "bulk": 8, "bulk_insert": True, "bulk_evict": True},
        {"window": 64, "distance": 10, "small": 20},
    ],
    ids=str,
)
def test_late_rounds_count_what_a_loop_counts(side: str, plan: dict[str, Any]) -> None:
    loop = Loop(side, plan)
    loop.fill()
    expected = [sum(loop.round()) for _ in range(70)]
    options = {**plan, "count": 70, "timed": "round", "count_combines": True}
    assert loop.native._rounds(VALUES, options).tolist() == expected


@pytest.mark.parametrize("side", [*IN_ORDER, *TREES])
@pytest.mark.parametrize(("window", "low"), [(1, 0), (9, 0), (17, 8)])
def test_a_swing_counts_what_a_loop_counts(side: str, window: int, low: int) -> None:
    loop = Loop(side, {})
    size = 0

    def steps() -> None:
        nonlocal size
        for _ in range(100):
            loop.insert(loop.value())
            loop.window.query()
            size += 1
            if size == window:
                for _ in range(window - low):
                    loop.evict()
                size = low

    expected = counted(loop.window, steps)
    plan = {"window": window, "low": low, "swing": True, "count": 100, "count_combines": True}
    assert loop.native._rounds(VALUES, plan).tolist() == [expected]


def test_events_leave_as_told_and_slices_fold_first() -> None:
    leaving = np.array([0, 3, 1, 0, 2, 1], np.int64)
    loop = Loop("daba_lite", {"window": 8})
    loop.fill()
    expected = []
    for gone in leaving:
        value = loop.value()

        def step(gone: int = int(gone), value: float = value) -> None:
            for _ in range(gone):
                loop.evict()
            loop.insert(value)
            loop.window.query()

        expected.append(counted(loop.window, step))
    plan = {"window": 8, "count": 6, "timed": "round", "count_combines": True}
    assert loop.native._rounds(VALUES, plan, leaving).tolist() == expected
    sliced = {"window": 8, "count": 10, "slice": 5, "count_combines": True}
    whole = int(loop.native._rounds(VALUES, sliced)[0])
    single = int(loop.native._rounds(VALUES, {**sliced, "slice": 1})[0])
    assert whole == single + 10 * 4, "a slice of 5 rows takes 4 combines"


@pytest.mark.parametrize("bulk", [False, True])
def test_rounds_over_time_count_what_a_loop_counts(bulk: bool) -> None:
    rng = random.Random(3)
    times = [100 + 3 * i - rng.choice([0, 0, 0, 40]) for i in range(80)]
    window, native = (make("fiba4", sf.sum(), counted=True) for _ in range(2))
    expected = []
    for row, time in enumerate(times):

        def step(row: int = row, time: int = time) -> None:
            window.insert(time, float(VALUES[row % 50]))
            left = window.youngest - 60
            if bulk and window.oldest <= left:
                window.bulk_evict(left)
            while window.oldest <= left:
                window.evict(window.oldest)
            if row >= 30:
                window.query()

        expected.append(counted(window, step))
    plan = {"window": 30, "count": 50, "bulk_evict": bulk, "timed": "round", "count_combines": True}
    found = native._rounds(VALUES, plan, np.array(times, np.int64), 60)
    assert found.tolist() == expected[30:]


def test_boundary_rounds_count_slides() -> None:
    window = sf.algorithms.Sba(sf.sum(), range=20, slide=4, counted=True)
    plan = {"count": 30, "timed": "round", "count_combines": True}
    each = window._rounds(VALUES, plan)
    assert each.shape == (30,)
    assert each.max() <= 3 + 5 + 1


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"window": 0}, "must be at least 1"),
        ({"window": 4, "bulk": 9}, "not larger"),
        ({"window": 4, "low": 4}, "low must be less"),
        ({"window": 8, "bulk": 4, "distance": 5}, "distance"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(plan: dict[str, Any], message: str) -> None:
    with pytest.raises(WindowError, match=message):
        make("fiba4", sf.sum())._rounds(VALUES, {**plan, "count": 1})


def test_rounds_refuse_wrong_columns() -> None:
    window = make("daba", sf.sum())
    with pytest.raises(ValueTypeError, match="no option turns"):
        window._rounds(VALUES, {"turns": 1})
    with pytest.raises(ValueTypeError, match="at least one row"):
        window._rounds(VALUES[:0], {"window": 2, "count": 1})
    with pytest.raises(ValueTypeError, match="leaving must have 3 rows, got 2"):
        window._rounds(VALUES, {"window": 2, "count": 3}, np.zeros(2, np.int64))
    with pytest.raises(ValueTypeError, match="times must have 5 rows, got 2"):
        make("fiba4", sf.sum())._rounds(VALUES, {"window": 2, "count": 3}, np.zeros(2, np.int64), 1)
    window.insert(1.0)
    with pytest.raises(WindowError, match="empty window"):
        window._rounds(VALUES, {"window": 2, "count": 1})
