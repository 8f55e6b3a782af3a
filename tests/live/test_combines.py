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


@sf.operator
class Commuting(sf.Fold):
    """Adds, and counts what it does."""

    @staticmethod
    def lift(x: int) -> int:
        return x

    @staticmethod
    def combine(older: int, newer: int) -> int:
        Count.calls += 1
        return older + newer

    @staticmethod
    def lower(state: int) -> int:
        return state


WINDOWS: dict[str, Any] = {
    "time": sf.time,
    "delay": lambda held: sf.time(held, delay=20),
    "rows": sf.rows,
    "delta": lambda held: sf.delta(held, on="x"),
    "session": lambda held: sf.session(5),
    "punctuated": lambda held: sf.punctuated("mark"),
    "lifetime": lambda held: sf.lifetime(),
}


def per_row(
    window: str, held: int, emit: str, batch: int, late: int = 0, operator: Any = Counted
) -> float:
    """Return the combines per row, once a window holds so many rows of one key.

    Every other batch is a row that has `late` newer ones.
    """
    options: dict[str, Any] = {"id": "x"} if emit == "revise" else {}
    definition = sf.rolling(on="t", s=operator("x").over(WINDOWS[window](held)))
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


@pytest.mark.parametrize("operator", [Counted, Commuting])
@pytest.mark.parametrize("window", ["time", "rows", "delta", "session", "punctuated", "lifetime"])
def test_late_rows_cost_the_logarithm(window: str, operator: Any) -> None:
    few, many = (
        per_row(window, held, "arrival", 1, late=100, operator=operator) for held in (250, 4_000)
    )
    assert many < 4 * LEAF + 16 * log2(4_000)
    assert many < few + 16 * log2(4_000 / 250)


@pytest.mark.parametrize("operator", [Counted, Commuting])
def test_late_rows_of_a_batch_cost_the_logarithm(operator: Any) -> None:
    """A late row between batches of 50 rows in order does not make the others cost more."""
    for window in ("time", "rows"):
        few, many = (
            per_row(window, held, "arrival", 50, late=100, operator=operator)
            for held in (250, 4_000)
        )
        assert many < 12 + (4 * LEAF + 16 * log2(4_000)) / 25
        assert many < few + 3
