"""Operators that pick a row, and what a run puts in order for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold import _native

ROWS, WINDOW = 60, 5
# Words of 8 and of 4 bytes are picked as they are, other columns by the numbers of their rows.
KINDS = [
    pa.float64(),
    pa.int64(),
    pa.timestamp("us"),
    pa.float32(),
    pa.date32(),
    pa.int16(),
    pa.bool_(),
    pa.decimal128(25, 2),
    pa.string(),
]


def values_of(kind: Any, nulls: float, random: np.random.Generator) -> Any:
    whole = random.integers(0, 9, ROWS).astype(np.int32 if kind == pa.date32() else np.int64)
    column = pa.array(whole).cast(kind)
    # Long runs of nulls too, so that whole windows have nothing to pick.
    gone = random.random(ROWS) < nulls
    gone[20:29] = nulls > 0
    return pa.array([None if g else v for g, v in zip(gone, column.to_pylist(), strict=True)], kind)


def picked(operator: str, rows: list[tuple[Any, Any]], least: int) -> Any:
    """The plainest way: `rows` are the (value, key) of a window, the oldest first."""
    if operator.endswith("_by"):
        rows = [row for row in rows if None not in row]
        if len(rows) < max(1, least):
            return None
        keys = [key for _, key in rows]
        return rows[keys.index((max if operator == "max_by" else min)(keys))][0]
    values = [value for value, _ in rows if value is not None]
    n = 2 if operator == "nth" else 1
    if len(values) < max(n, least):
        return None
    return values[0] if operator == "first" else values[-n]


@pytest.mark.parametrize("nulls", [0.0, 0.3])
@pytest.mark.parametrize("shuffled", [False, True])
def test_picks_of_every_type_are_those_of_the_plainest_way(nulls: float, shuffled: bool) -> None:
    random = np.random.default_rng(7)
    place = random.permutation(ROWS) if shuffled else np.arange(ROWS)
    for kind in KINDS:
        table = pa.table(
            {
                "t": np.arange(ROWS),
                "k": np.repeat([0, 1], ROWS // 2),
                "x": values_of(kind, nulls, random),
                "y": random.integers(0, 4, ROWS),
            }
        )
        operators = {
            "first": sf.first("x"),
            "last": sf.last("x"),
            "nth": sf.nth("x", 2),
            "max_by": sf.max_by("x", "y"),
            "min_by": sf.min_by("x", "y"),
        }
        columns: dict[str, Any] = {}
        expected: dict[str, list[Any]] = {}
        pairs = list(zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True))
        for name, operator in operators.items():
            for window in (sf.rows(WINDOW), sf.time(WINDOW), sf.rows(WINDOW, closed="left")):
                for least in (None, 1, 3):
                    column = f"c{len(columns)}"
                    columns[column] = operator.over(window, min_count=least)
                    behind = 1 if str(window).endswith("left')") else 0
                    ends = [row + 1 - behind for row in range(ROWS)]
                    expected[column] = [
                        picked(
                            name,
                            pairs[max(ROWS // 2 * (row // (ROWS // 2)), end - WINDOW) : end],
                            least or 0,
                        )
                        for row, end in enumerate(ends)
                    ]
        results = sf.rolling(on="t", by="k", **columns).run(table.take(place))
        for column, values in expected.items():
            found = results[column]
            assert found.type == kind
            assert found.to_pylist() == [values[row] for row in place], (kind, columns[column])


def test_a_count_puts_no_column_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("a column was moved")

    random = np.random.default_rng(3)
    table = pa.table({"t": random.permutation(500), "x": random.random(500)})
    for name in ("take_rows", "place_rows", "move_rows"):
        monkeypatch.setattr(_native, name, refuse)
    counted = sf.rolling(on="t", n=sf.count("x").over(10), m=sf.count("x").over(sf.time(10)))
    found = counted.run(table)
    expected = np.minimum(table["t"].to_numpy() + 1, 10).tolist()
    assert found["n"].to_pylist() == found["m"].to_pylist() == expected
    with pytest.raises(AssertionError, match="a column was moved"):
        sf.rolling(on="t", s=sf.sum("x").over(10)).run(table)
