"""Results of earlier rows that do not fit: reported once, null from then on, nothing lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import ResultOverflowError

LARGE = 2**62
T = sf.time
COLUMNS: dict[str, Any] = {
    "operator": sf.sum("x").over(T(2)),
    "formula": sf.col("x") + sf.max("x").over(T(2)),
}
# Each but the third row is alone; those at 11 and 12 do not fit together.
ROWS = [{"t": t, "k": "a", "x": x} for t, x in ((1, 1), (11, LARGE), (12, LARGE), (30, 3), (40, 4))]
NULLS = {"operator": {12}, "formula": {11, 12}}


def definition_of(column: str, **options: Any) -> sf.Rolling:
    return sf.rolling(
        on="t", by="k", columns={"v": COLUMNS[column], "n": sf.count().over(T(2))}, **options
    )


def fed(live: Any, row: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = live.feed(pa.table({n: [v] for n, v in row.items()})).to_pylist()
    return found


def pushed(live: Any, row: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = live.push(row)
    return found


@pytest.mark.parametrize("take", [fed, pushed])
@pytest.mark.parametrize("emit", ["final", "change"])
@pytest.mark.parametrize("column", COLUMNS)
def test_an_overflow_of_earlier_rows_is_raised_once_and_loses_nothing(
    column: str, emit: str, take: Callable[[Any, Any], list[dict[str, Any]]]
) -> None:
    live = definition_of(column).live(lateness=5, emit=emit)
    found = []
    for row in ROWS[:3]:
        found += take(live, row)
    before = live.to_bytes()
    with pytest.raises(ResultOverflowError, match=r"64.bit.*, at t=1[12], k='a'; this call has"):
        take(live, ROWS[3])
    assert live.to_bytes() == before
    for row in ROWS[3:]:
        found += take(live, row)
    found += live.finish().to_pylist()
    assert [row["t"] for row in found] == [1, 11, 12, 30, 40]
    assert {row["t"] for row in found if row["v"] is None} == NULLS[column]
    assert [row["n"] for row in found] == [1, 1, 2, 1, 1]


def test_an_overflow_at_an_end() -> None:
    columns = {"v": sf.sum("x").over(T(4)), "n": sf.count().over(T(4))}
    live = sf.rolling(on="t", by="k", every=T(2), columns=columns).live(lateness=5)
    found = [each for row in ROWS[:3] for each in fed(live, row)]
    with pytest.raises(ResultOverflowError, match=r"'v'.*64 bits, at window_end=14, k='a'"):
        live.finish()
    found += live.finish().to_pylist()
    ends = [(row["window_end"], row["v"], row["n"]) for row in found]
    assert ends == [(2, 1, 1), (4, 1, 1), (12, LARGE, 1), (14, None, 2), (16, LARGE, 1)]


@pytest.mark.parametrize("column", COLUMNS)
def test_an_overflow_of_new_rows_refuses_them_each_time(column: str) -> None:
    live = definition_of(column).live(lateness=5, emit="arrival")
    fed(live, {"t": 1, "k": "a", "x": 1})
    for _ in range(2):
        with pytest.raises(ResultOverflowError):
            live.feed(pa.table({"t": [11, 11], "k": ["a", "a"], "x": [LARGE, LARGE]}))
    assert live.newest == 1


def test_a_question_that_overflows_raises_each_time() -> None:
    live = definition_of("operator").live(lateness=5)
    for row in ROWS[:3]:
        fed(live, row)
    for _ in range(2):
        with pytest.raises(ResultOverflowError):
            live.ask({"k": "a"})
