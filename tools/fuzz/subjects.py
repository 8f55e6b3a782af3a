"""What can be saved: every algorithm and window, with several operators, after a random history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import slidefold as sf
from slidefold import algorithms
from slidefold.errors import PairError
from tools.fuzz.operators import KINDS, Composed

Draw = Callable[[Random], Any]
OPERATORS: dict[str, tuple[Callable[[], Any], Draw]] = {
    "concat": (sf.concat, KINDS["concat"].draw),
    "sum": (lambda: sf.sum(dtype="int64"), KINDS["sum"].draw),
    "max": (sf.max, KINDS["max"].draw),
    "mean": (sf.mean, KINDS["max"].draw),
    "user": (Composed, KINDS["user"].draw),
    "collect": (lambda: sf.collect(dtype="object"), lambda rng: [rng.getrandbits(3), "é", None]),
    "bloom": (lambda: sf.bloom(bits=64, dtype="int64"), lambda rng: rng.getrandbits(6)),
    "max_by": (
        lambda: sf.max_by(dtype="str"),
        lambda rng: ("abcdefgh"[rng.getrandbits(3)], float(rng.getrandbits(3))),
    ),
}


@dataclass
class Subject:
    """An object with to_bytes, and a way to go on with it."""

    kind: str
    operator: str
    made: Any
    user: bool  # the operator is a user's: what it does with strange states is its own affair
    step: Callable[[Any, Random], None]
    ask: Callable[[Any], Any] = lambda made: made.query()


def _kinds() -> dict[str, tuple[Callable[[Any], Any], Callable[[Draw], Any]]]:
    """Return how to make each kind, and how to take a step with it."""

    def stepping(draw: Draw) -> Callable[[Any, Random], None]:
        def step(made: Any, rng: Random) -> None:
            if len(made) and rng.random() < 0.4:
                made.evict()
            else:
                made.insert(draw(rng))

        return step

    def pushing(draw: Draw) -> Callable[[Any, Random], None]:
        return lambda made, rng: made.push(draw(rng))

    def timely(draw: Draw, late: int = 0) -> Callable[[Any, Random], None]:
        clock = [0]  # moves on over all steps; events may be late by so much

        def step(made: Any, rng: Random) -> None:
            clock[0] += rng.getrandbits(2)
            made.push(clock[0] - int(late * rng.random()), draw(rng))

        return step

    def growing(draw: Draw) -> Callable[[Any, Random], None]:
        def step(made: Any, rng: Random) -> None:
            if rng.random() < 0.3:
                made.evict(rng.getrandbits(6))
            else:
                made.insert(rng.getrandbits(6), draw(rng))

        return step

    def keyed(draw: Draw) -> Callable[[Any, Random], None]:
        clock = [0]

        def step(made: Any, rng: Random) -> None:
            clock[0] += rng.getrandbits(2)
            rows = range(rng.randint(1, 4))
            keys = ["abc"[int(3 * rng.random())] for _ in rows]
            made.push(
                keys, [clock[0] - rng.getrandbits(2) for _ in rows], [draw(rng) for _ in rows]
            )

        return step

    kinds: dict[str, Any] = {cls.__name__: (cls, stepping) for cls in algorithms.REGISTRY.values()}
    kinds |= {
        "Sba": (lambda op: algorithms.Sba(op, 7, 2), pushing),
        "Pba": (lambda op: algorithms.Pba(op, 8, 1), pushing),
        "Sba.over_time": (lambda op: algorithms.Sba.over_time(op, 12, 5), timely),
        "Fiba": (lambda op: algorithms.Fiba(op, min_arity=2), growing),
        "BTree": (lambda op: algorithms.BTree(op, min_arity=2), growing),
        "Window of rows": (lambda op: sf.Window(op, sf.rows(9)), pushing),
        "Window of time": (lambda op: sf.Window(op, sf.time(20)), timely),
        "Window with lateness": (
            lambda op: sf.Window(op, sf.time(20), lateness=10),
            lambda draw: timely(draw, late=10),
        ),
        "KeyedWindows": (lambda op: algorithms.KeyedWindows(op, sf.time(9), lateness=4), keyed),
    }
    return kinds


KINDS_OF_STATE = _kinds()


def subject_of(rng: Random) -> Subject | None:
    """Draw a subject with a history; None if its algorithm does not take its operator."""
    kind = rng.choice(list(KINDS_OF_STATE))
    name = rng.choice(list(OPERATORS))
    if kind == "KeyedWindows" and name in ("max_by", "bloom", "collect"):
        return None  # takes two columns there, or gives what is no Arrow value
    make, stepper = KINDS_OF_STATE[kind]
    operator, draw = OPERATORS[name]
    try:
        made = make(operator())
    except PairError:
        return None
    step = stepper(draw)
    for _ in range(rng.choice([0, 1, 5, 30])):
        step(made, rng)
    if kind == "KeyedWindows":
        return Subject(kind, name, made, name == "user", step, _each_key)
    return Subject(kind, name, made, name == "user", step)


def _each_key(made: Any) -> list[Any]:
    return [(key, made.query(key)) for key in made.keys()]  # noqa: SIM118 - it is no dict
