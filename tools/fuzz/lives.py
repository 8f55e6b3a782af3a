"""Live runs of random definitions over random rows, with every `emit`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pyarrow as pa

import slidefold as sf
from slidefold.definition.operators import NAMED, Over
from slidefold.errors import SlidefoldError
from slidefold.live.engine import EMITS
from tools.fuzz.values import DRAWS, EPOCH

COLUMNS = {"f": "float64", "i": "int8", "s": "str", "b": "bool", "d": "decimal(9, 2)", "w": "date"}
_TYPES = {"f": pa.float64(), "i": pa.int64(), "s": pa.string(), "b": pa.bool_()}
_TYPES |= {"d": pa.decimal128(12, 2), "w": pa.date32()}
_PARAMS: dict[str, dict[str, Any]] = {
    "histogram": {"edges": [0, 1, 9]},
    **{key: {"half_life": 10} for key in ("decayed_mean", "decayed_sum", "decayed_count")},
    "bloom": {"bits": 256},
    "count_min": {"epsilon": 0.3},
}
_TWO = {
    *("max_by", "min_by", "covariance", "correlation", "trend", "naive_bayes"),
    *("weighted_mean", "decayed_mean", "decayed_sum"),
}
_CONDITIONS = ("b", sf.col("i") > 3, sf.col("s").is_in(["a", "b"]) | sf.col("f").is_null())


@sf.operator
class Longest:
    """A user operator without declarations."""

    @staticmethod
    def lift(word: str) -> str:
        return word

    @staticmethod
    def combine(older: str, newer: str) -> str:
        return max(older, newer, key=len)

    @staticmethod
    def lower(word: str) -> str:
        return word


def _operator(rng: Random) -> Any:
    name = rng.choice([*NAMED, "struct", "user"])
    first, second = rng.choice(list(COLUMNS)), rng.choice(["f", "i"])
    if name == "user":
        user: Any = Longest  # a factory, since it is decorated
        return sf.struct(u=user("s"), n=sf.count()) if rng.random() < 0.3 else user("s")
    if name == "struct":
        return sf.struct(a=sf.max(first), b=sf.count(second), n=sf.sum("i"))
    columns = (first, second) if name in _TWO else (first,)
    operator = NAMED[name](*columns, **_PARAMS.get(name, {}))
    if isinstance(operator, sf.Operator) and rng.random() < 0.2:
        return operator.where(rng.choice(_CONDITIONS))
    return operator


def _column(rng: Random, length: Callable[[int], Any]) -> Any:
    operator = _operator(rng)
    if isinstance(operator, Over):  # it has a window already
        return operator
    over = operator.over(_window(rng, length))
    return over / 2 + sf.col("i") if rng.random() < 0.1 else over


def _window(rng: Random, length: Callable[[int], Any]) -> Any:
    kind = rng.choice(["time", "time", "rows", "session", "left", "delay", "lifetime"])
    if kind == "lifetime":
        return sf.lifetime()
    if kind == "delay":
        return sf.time(length(rng.randint(1, 20)), delay=length(rng.randint(1, 5)))
    if kind == "rows":
        return sf.rows(rng.randint(1, 5))
    if kind == "session":
        return sf.session(length(3))
    return sf.time(length(rng.randint(1, 20)), closed="left" if kind == "left" else "right")


def live_of(rng: Random) -> tuple[str, Any, Callable[[Any, Random], None]] | None:
    """Draw a live run with a history, and its step; None if its definition is refused."""
    dates = rng.random() < 0.5

    def length(steps: int) -> Any:
        return timedelta(seconds=steps) if dates else steps

    emit = rng.choice(EMITS)
    every = rng.choice([None, None, sf.time(length(4))])
    try:
        names = ("one", "two", "three")[: rng.randint(1, 3)]
        columns = {name: _column(rng, length) for name in names}
        definition = sf.rolling(
            on="t", by=rng.choice([(), "k", ("k", "s")]), every=every, columns=columns
        )
        made = definition.live(
            lateness=length(5),
            emit=emit,
            late=rng.choice(["drop", "raise", "side"]) if every is None else "drop",
            id=("id",) if emit == "revise" else (),
        )
    except SlidefoldError:
        return None
    clock = [0]

    def step(live: Any, rng: Random) -> None:
        live.feed(_rows(rng, clock, dates))

    try:
        for _ in range(rng.choice([0, 1, 2, 5])):
            step(made, rng)
    except SlidefoldError:
        return None
    return emit, made, step


def _rows(rng: Random, clock: list[int], dates: bool) -> Any:
    count = rng.randint(0, 6)
    clock[0] += rng.getrandbits(2)
    times: list[Any] = [clock[0] + rng.getrandbits(2) for _ in range(count)]
    kind = pa.timestamp("us") if dates else pa.int64()
    if dates:
        times = [EPOCH + timedelta(seconds=time) for time in times]
    data = {
        name: pa.array(
            [None if rng.random() < 0.1 else DRAWS[dtype](rng) for _ in range(count)], _TYPES[name]
        )
        for name, dtype in COLUMNS.items()
    }
    keys = pa.array([rng.choice(["x", "y", None]) for _ in range(count)], pa.string())
    ids = pa.array([rng.getrandbits(40) for _ in range(count)], pa.int64())
    return pa.table({"t": pa.array(times, kind), "k": keys, "id": ids, **data})
