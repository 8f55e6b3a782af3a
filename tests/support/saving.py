"""Things in the middle of their history, and steps that they all can take."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import slidefold as sf
from slidefold import _native
from tests.support.algorithms import PUSHING, STEPPING, WINDOWS, fitting, make, takes
from tests.support.cases import SHORT, Case
from tests.support.kinds import ALL_INTS, WILD

SKETCHES = (_native.CountMinSketch, _native.Moments, _native.NaiveBayesModel)


def shown(answer: Any) -> Any:
    """Return an answer so that two of them are equal only if they are the same to the bit."""
    if isinstance(answer, SKETCHES):
        return answer
    if isinstance(answer, (tuple, list)):
        return f"{type(answer)}{[shown(item) for item in answer]}"
    return answer.to_bytes().hex() if isinstance(answer, sf.BloomFilter) else repr(answer)


class Walk:
    """Where a random history goes: chance, and a clock."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now: float = -20

    def later(self, *steps: float) -> Any:
        """Move the clock by one of these steps."""
        self.now += self.rng.choice(steps)
        return self.now

    def twin(self) -> Walk:
        """Return another walk that goes the same way from here."""
        return copy.deepcopy(self)


Step = Callable[[Any, Walk], Any]


@dataclass(frozen=True)
class Kept:
    """A kind of thing that is saved: how to make it empty, and one random step."""

    id: str
    empty: Callable[[], Any]
    step: Step

    def after(self, steps: int, seed: int = 0) -> tuple[Any, Walk]:
        """Return it in the middle of its history, and how that goes on."""
        made, walk = self.empty(), Walk(seed)
        for _ in range(steps):
            self.step(made, walk)
        return made, walk

    def __str__(self) -> str:
        return self.id


def stepping(name: str, case: Case, **options: Any) -> Kept:
    """An algorithm with insert, evict and query."""

    def step(made: Any, walk: Walk) -> Any:
        if len(made) and walk.rng.random() < 0.45:
            made.evict()
        else:
            made.insert(case.kind.draw(walk.rng))
        return made.query() if walk.rng.random() < 0.5 else None  # some rearrange in a query

    extra = "-".join(options)
    return Kept(f"{name}-{case}-{extra}", lambda: make(name, case.operator, **options), step)


def pushing(name: str, case: Case, window: tuple[int, int], **options: Any) -> Kept:
    """Sba or Pba over rows."""

    def step(made: Any, walk: Walk) -> Any:
        return made.push(case.kind.draw(walk.rng)), made.query()

    return Kept(
        f"{name}-{case}-{window}-{'-'.join(options)}",
        lambda: make(name, case.operator, range=window[0], slide=window[1], **options),
        step,
    )


def pushing_time(name: str, case: Case, window: tuple[int, int]) -> Kept:
    """Sba or Pba over time."""
    cls: Any = getattr(sf.algorithms, name.capitalize())

    def step(made: Any, walk: Walk) -> Any:
        now = walk.later(0, 1, 1, 3, 9, 60)
        if walk.rng.random() < 0.2:
            return made.advance(now), made.query()
        return made.push(now, case.kind.draw(walk.rng)), made.query()

    counted = case.operator.name == "concat"
    return Kept(
        f"{name}-{case}-over_time-{window}{'-counted' if counted else ''}",
        lambda: cls.over_time(case.operator, *window, counted=counted),
        step,
    )


def window_of(name: str, case: Case, window: Any, **options: Any) -> Kept:
    """A live window; times are integers, then floats, or datetimes."""

    def step(made: Any, walk: Walk) -> Any:
        value = case.kind.draw(walk.rng)
        if isinstance(window, sf.Rows):
            return made.push(value), made.query()
        time = walk.later(0, 0, 1, 2, 4)
        if window.datetimes:
            time = datetime(1969, 12, 31, 23, 59) + timedelta(seconds=time)
        elif time > 20:
            time = walk.later(0, 0.5)
        if walk.rng.random() < 0.1:
            return made.advance(time), made.query()
        return made.push(time, value), made.query()

    return Kept(
        f"Window-{name}-{case}-{window}-{'-'.join(options)}",
        lambda: sf.Window(case.operator, window, algorithm=name, **options),
        step,
    )


def tree_of(cls: Any, case: Case, **options: Any) -> Kept:
    """A tree by time; times are integers, then floats."""

    def step(made: Any, walk: Walk) -> Any:
        now, rng = walk.later(0, 1, 1, 2), walk.rng
        if now > 30:
            now = walk.later(0, 0.5)
        match rng.randrange(10):
            case 0:
                made.evict(made.oldest or 0)
            case 1:
                made.evict(now - rng.randrange(20))
            case 2 if rng.random() < 0.3:
                made.bulk_evict(now - 15)
            case 3:
                times = [now - rng.randrange(20) for _ in range(rng.randrange(5))]
                made.bulk_insert(times, case.kind.column([case.kind.draw(rng) for _ in times]))
            case 4 | 5 | 6:  # one late source in order: it has a finger of its own
                made.insert(now - 9, case.kind.draw(rng))
            case _:
                made.insert(now, case.kind.draw(rng))
        return made.query(), made.query(now - 12, now - 3), list(made), made.oldest, made.youngest

    return Kept(
        f"{cls.name}-{case}-{'-'.join(options)}", lambda: cls(case.operator, **options), step
    )


def late_window(case: Case, window: Any, lateness: Any) -> Kept:
    """A live window that takes late events."""

    def step(made: Any, walk: Walk) -> Any:
        rng = walk.rng
        now = walk.later(0, 1, 2) - rng.choice([0, 0, 0, 1, 3, 7, 30])
        if now > 30 and not window.datetimes:
            now += rng.choice([0, 0.5])
        time: Any = datetime(1970, 1, 1) + timedelta(seconds=now) if window.datetimes else now
        match rng.randrange(12):
            case 0:
                made.advance(time)
            case 1:
                made.evict(time)
        return made.push(time, case.kind.draw(rng)), made.query(), made.late

    return Kept(
        f"Window-late-{case}-{window}",
        lambda: sf.Window(case.operator, window, lateness=lateness),
        step,
    )


def _trees() -> list[Kept]:
    kept = []
    for case in SHORT:
        kept += [
            tree_of(sf.algorithms.Fiba, case, min_arity=2),
            tree_of(sf.algorithms.Fiba, case, min_arity=2, max_arity=4, counted=True),
            tree_of(sf.algorithms.BTree, case, min_arity=2),
            late_window(case, sf.time(8), 5),
            late_window(case, sf.time("6s", closed="left"), timedelta(seconds=4)),
            late_window(case, sf.time(6.5, closed="both"), 0),
        ]
    return kept


def _windows() -> list[Kept]:
    rules = [
        sf.rows(5),
        sf.rows(3, closed="left"),
        sf.time(6),
        sf.time(2.5, closed="both"),
        sf.time(7, closed="left"),
        sf.time("5s", closed="neither"),
        sf.time(timedelta(seconds=9)),
    ]
    kept = []
    for at, case in enumerate(SHORT):
        names = fitting(case.operator, WINDOWS)
        for which, rule in enumerate(rules):
            name = names[(at + which) % len(names)]
            kept.append(window_of(name, case, rule, checked=which % 2 == 0))
    return kept


def _orders() -> list[Kept]:
    """Order statistics, which no algorithm folds."""
    cases = (
        Case("median", sf.median(), WILD, len),
        Case("quantile", sf.quantile(q=0.3, dtype="int64"), ALL_INTS, len),
    )
    kept = []
    for case in cases:
        kept += [
            window_of("order_statistics", case, rule)
            for rule in (sf.rows(5), sf.rows(3, closed="left"), sf.time(2.5), sf.time("5s"))
        ]
        kept += [
            late_window(case, sf.time(8), 5),
            late_window(case, sf.time(6.5, closed="left"), 2),
        ]
    return kept


KEPT = [
    *(
        stepping(name, case, **options)
        for case in SHORT
        for name in STEPPING
        if takes(name, case.operator)
        for options in ({}, {"checked": True, "counted": True})
    ),
    *(stepping("flat_fat", case, capacity=40) for case in SHORT),
    *(stepping("flat_fat", case, batch=True) for case in SHORT),
    *(
        pushing(name, case, window, **options)
        for case in SHORT
        for name in PUSHING
        for window, options in (
            ((6, 1), {"chunk": 3}),
            ((9, 4), {"checked": True}),
            ((4, 2), {"counted": True}),
        )
    ),
    *(
        pushing_time(name, case, window)
        for case in SHORT
        for name in PUSHING
        for window in ((10, 5), (11, 4))
    ),
    *_windows(),
    *_trees(),
    *_orders(),
]
