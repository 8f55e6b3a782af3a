"""Objects that can be saved: every algorithm and window, with every operator, after a history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import slidefold as sf
from slidefold import algorithms
from slidefold.errors import SlidefoldError
from tools.fuzz.lives import live_of
from tools.fuzz.values import Valued, valued_of


@dataclass
class Subject:
    """An object with to_bytes, and functions that use it further."""

    kind: str
    operator: str
    made: Any
    user: bool  # a user operator, which may fail on states that it did not create
    step: Callable[[Any, Random], None]
    ask: Callable[[Any], Any] = lambda made: made.query()


Step = Callable[[Any, Random], None]


def _stepping(valued: Valued) -> Step:
    def step(made: Any, rng: Random) -> None:
        if len(made) and rng.random() < 0.4:
            made.evict()
        else:
            made.insert(valued.draw(rng))

    return step


def _pushing(valued: Valued) -> Step:
    return lambda made, rng: made.push(valued.draw(rng))


def _timely(valued: Valued, late: int = 0, real: bool = False) -> Step:
    clock = [0]  # advances over all steps; events may be up to `late` behind it

    def step(made: Any, rng: Random) -> None:
        clock[0] += rng.getrandbits(2)
        time = clock[0] - int(late * rng.random())
        made.push(float(time) if real else time, valued.draw(rng))

    return step


def _growing(valued: Valued) -> Step:
    def step(made: Any, rng: Random) -> None:
        if rng.random() < 0.3:
            made.evict(rng.getrandbits(6))
        else:
            made.insert(rng.getrandbits(6), valued.draw(rng))

    return step


def _keyed(valued: Valued, *, texts: bool = True) -> Step:
    clock = [0]

    def step(made: Any, rng: Random) -> None:
        clock[0] += rng.getrandbits(2)
        rows = range(rng.randint(1, 4))
        keys = [int(3 * rng.random()) for _ in rows]
        values: Any = [valued.draw(rng) for _ in rows]
        if valued.two:
            values = tuple(list(column) for column in zip(*values, strict=True))
        times = [clock[0] - rng.getrandbits(2) for _ in rows]
        made.push(["abc"[key] for key in keys] if texts else keys, times, values)

    return step


def _kinds() -> dict[str, tuple[Callable[[Any], Any], Callable[[Valued], Step]]]:
    """Return the factory of each kind, and its step."""
    kinds: dict[str, Any] = {cls.__name__: (cls, _stepping) for cls in algorithms.REGISTRY.values()}
    late = sf.time(20, closed="left")
    kinds |= {
        "checked and counted": (
            lambda op: algorithms.DabaLite(op, checked=True, counted=True),
            _stepping,
        ),
        "FlatFat of a capacity": (lambda op: algorithms.FlatFat(op, capacity=8), _stepping),
        "Sba": (lambda op: algorithms.Sba(op, 7, 2), _pushing),
        "Pba": (lambda op: algorithms.Pba(op, 8, 1), _pushing),
        "Sba.over_time": (lambda op: algorithms.Sba.over_time(op, 12, 5), _timely),
        "Fiba": (lambda op: algorithms.Fiba(op, min_arity=2), _growing),
        "BTree": (lambda op: algorithms.BTree(op, min_arity=2), _growing),
        "Window of rows": (lambda op: sf.Window(op, sf.rows(9)), _pushing),
        "Window of time": (lambda op: sf.Window(op, sf.time(20)), _timely),
        "Window of real time": (
            lambda op: sf.Window(op, sf.time(20.5)),
            lambda valued: _timely(valued, real=True),
        ),
        "Window with lateness": (
            lambda op: sf.Window(op, late, lateness=10),
            lambda valued: _timely(valued, late=10),
        ),
        "KeyedWindows": (lambda op: algorithms.KeyedWindows(op, sf.time(9), lateness=4), _keyed),
        "KeyedWindows of integers": (
            lambda op: algorithms.KeyedWindows(op, sf.time(9)),
            lambda valued: _keyed(valued, texts=False),
        ),
    }
    return kinds


KINDS_OF_STATE = _kinds()
LIVE = "Live"


def subject_of(rng: Random) -> Subject | None:
    """Draw a subject with a history; None if its algorithm does not support its operator."""
    if rng.random() < 0.15:
        return _live(rng)
    kind = rng.choice(list(KINDS_OF_STATE))
    make, stepper = KINDS_OF_STATE[kind]
    name, valued = valued_of(rng)
    keyed = kind.startswith("KeyedWindows")
    step = stepper(valued if keyed or rng.random() < 0.7 else _with_nulls(valued))
    try:
        made = make(valued.operator)
        steps = rng.choice([0, 1, 5, 30])
        for _ in range(steps):
            step(made, rng)
        ask = _each_key if keyed else Subject.ask
        ask(made)
        made.to_bytes()
    except SlidefoldError:  # an operator that this algorithm does not support, or an overflow
        return None
    return Subject(kind, name, made, valued.user, step, ask)


def _with_nulls(valued: Valued) -> Valued:
    return replace(valued, draw=lambda rng: None if rng.random() < 0.2 else valued.draw(rng))


def _each_key(made: Any) -> list[Any]:
    return [(key, made.query(key)) for key in made.keys()]  # noqa: SIM118 - it is not a dict


def _live(rng: Random) -> Subject | None:
    drawn = live_of(rng)
    if drawn is None:
        return None
    name, made, step = drawn
    return Subject(LIVE, name, made, False, step, lambda live: (live.late, live.pending))
