"""How often the engine combines: a row costs what it changes, and not what windows hold."""

from __future__ import annotations

from math import log2
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf

SCHEMA = pa.schema({"t": pa.int64(), "x": pa.int64(), "mark": pa.bool_()})
LEAF = 64  # rows of a leaf, which are folded where a window begins or ends inside of it


class Count:
    """The combines and lifts so far."""

    calls = 0


@sf.operator(commutative=False)
class Counted(sf.Fold):
    """Keeps the first and the last value, and counts what it does."""

    @staticmethod
    def lift(x: int) -> tuple[int, int]:
        return (x, x)

    @staticmethod
    def combine(older: tuple[int, int], newer: tuple[int, int]) -> tuple[int, int]:
        Count.calls += 1
        return (older[0], newer[1])

    @staticmethod
    def lower(state: tuple[int, int]) -> list[int]:
        return list(state)


WINDOWS: dict[str, Any] = {
    "time": sf.time,
    "delay": lambda held: sf.time(held, delay=20),
    "rows": sf.rows,
    "delta": lambda held: sf.delta(held, on="x"),
    "session": lambda held: sf.session(5),
    "punctuated": lambda held: sf.punctuated("mark"),
    "lifetime": lambda held: sf.lifetime(),
}


def per_row(window: str, held: int, emit: str, batch: int, late: int = 0) -> float:
    """Return the combines per row, once a window holds so many rows of one key.

    Every other batch is a row that has `late` newer ones.
    """
    options: dict[str, Any] = {"id": "x"} if emit == "revise" else {}
    definition = sf.rolling(on="t", s=Counted("x").over(WINDOWS[window](held)))
    live = definition.live(lateness=4 * late + 2, emit=emit, schema=SCHEMA, **options)

    def rows(times: Any) -> Any:
        # A punctuated window begins with every `held` rows, and a session holds them all.
        marks = [t % (2 * held) == 0 for t in times]
        return pa.table([pa.array(times), pa.array(times), pa.array(marks)], schema=SCHEMA)

    live.feed(rows(range(0, 4 * held, 2)))
    Count.calls, count, now = 0, 0, 4 * held
    while count < 600:
        live.feed(rows(range(now, now + 2 * batch, 2)))
        now += 2 * batch
        count += batch
        if late:
            live.feed(rows([now - 2 * late - 1]))
            count += 1
    return Count.calls / count


@pytest.mark.parametrize("emit", ["final", "arrival", "change"])
@pytest.mark.parametrize("window", WINDOWS)
def test_rows_in_order_cost_the_same_in_every_window(window: str, emit: str) -> None:
    few, many = (per_row(window, held, emit, 50) for held in (250, 4_000))
    assert many < 12
    assert many < few + 3


@pytest.mark.parametrize("window", ["time", "rows", "session", "lifetime"])
def test_single_rows_cost_a_leaf(window: str) -> None:
    few, many = (per_row(window, held, "arrival", 1) for held in (250, 4_000))
    assert many < 2 * LEAF
    assert many < few + 16


@pytest.mark.parametrize("window", ["time", "rows", "delta", "session", "punctuated"])
def test_late_rows_cost_the_logarithm(window: str) -> None:
    few, many = (per_row(window, held, "arrival", 1, late=100) for held in (250, 4_000))
    assert many < 4 * LEAF + 16 * log2(4_000)
    assert many < few + 16 * log2(4_000 / 250)
