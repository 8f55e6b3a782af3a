"""Windows against their definitions, row by row in plain Python, on random tables."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from tests.support.tables import SHAPES, random_table

Row = dict[str, Any]
INSIDE: dict[str, Callable[[float, float, float], bool]] = {
    "right": lambda low, x, high: low < x <= high,
    "left": lambda low, x, high: low <= x < high,
    "both": lambda low, x, high: low <= x <= high,
    "neither": lambda low, x, high: low < x < high,
}


def given(shape: str) -> pa.Table:
    """Return a random table with marks and with two columns that never fall in time order."""
    table = random_table(shape)
    rng = np.random.default_rng(5)
    times = table["t"].to_numpy()
    walked = 2 * times + rng.integers(0, 2, len(times))
    marks = rng.random(len(times)) < 0.2
    table = table.append_column("km", pa.array(walked))
    table = table.append_column("miles", pa.array(walked / 4))
    return table.append_column("end", pa.array(marks))


def keyed(table: pa.Table) -> list[list[Row]]:
    """Return the rows of each key, by time and id."""
    rows = sorted(table.to_pylist(), key=lambda row: (row["k"], row["t"], row["id"]))
    return [list(group) for _, group in groupby(rows, key=lambda row: row["k"])]


def sessions(rows: list[Row], gap: int) -> list[list[Row]]:
    found: list[list[Row]] = []
    for row in rows:
        if not found or row["t"] - found[-1][-1]["t"] > gap:
            found.append([])
        found[-1].append(row)
    return found


def punctuated(rows: list[Row]) -> list[list[Row]]:
    found: list[list[Row]] = []
    for row in rows:
        if not found or found[-1][-1]["end"]:
            found.append([])
        found[-1].append(row)
    return found


def so_far(wholes: list[list[Row]]) -> dict[int, list[int]]:
    """Return for each id the ids of its window up to its time."""
    return {
        row["id"]: [other["id"] for other in whole if other["t"] <= row["t"]]
        for whole in wholes
        for row in whole
    }


def check(definition: sf.Rolling, table: pa.Table, expected: dict[int, list[int]]) -> None:
    """Compare the ids in each row's window, for the rows as they come and shuffled."""
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(len(table))))
    for data in (table, shuffled):
        found = definition.run(data)
        for row, got in zip(found["id"].to_pylist(), found["ids"].to_pylist(), strict=True):
            assert got == (expected[row] or None), row


IDS = sf.collect("id")


@pytest.mark.parametrize("shape", SHAPES)
def test_sessions(shape: str) -> None:
    table = given(shape)
    expected: dict[int, list[int]] = {}
    for rows in keyed(table):
        expected.update(so_far(sessions(rows, 3)))
    check(sf.rolling(on="t", by="k", ids=IDS.over(sf.session(3))), table, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_punctuated(shape: str) -> None:
    table = given(shape)
    expected: dict[int, list[int]] = {}
    for rows in keyed(table):
        expected.update(so_far(punctuated(rows)))
    definition = sf.rolling(on="t", by="k", order="id", ids=IDS.over(sf.punctuated("end")))
    check(definition, table, expected)


@pytest.mark.parametrize("closed", INSIDE)
@pytest.mark.parametrize("column", ["km", "miles"])
@pytest.mark.parametrize("shape", SHAPES)
def test_delta(shape: str, column: str, closed: str) -> None:
    table = given(shape)
    expected = {
        row["id"]: [
            other["id"]
            for other in sorted(rows, key=lambda r: (r["t"], r[column], r["id"]))
            if other["t"] <= row["t"]
            and INSIDE[closed](row[column] - 10, other[column], row[column])
        ]
        for rows in keyed(table)
        for row in rows
    }
    window = sf.delta(10, on=column, closed=closed)
    check(sf.rolling(on="t", by="k", ids=IDS.over(window)), table, expected)


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_n_rows(shape: str, n: int) -> None:
    table = given(shape)
    due = [
        (row["k"], row["t"], [other["id"] for other in rows[max(0, i - 2) : i + 1]])
        for rows in keyed(table)
        for i, row in enumerate(rows)
        if i % n == n - 1
    ]
    found = sf.rolling(on="t", by="k", every=n, ids=IDS.over(3)).run(table)
    got = [(row["k"], row["window_end"], row["ids"]) for row in found.to_pylist()]
    assert sorted(got) == sorted(due)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_window(shape: str) -> None:
    table = given(shape)
    closed, quiet = [], []
    for rows in keyed(table):
        for whole in punctuated(rows):
            if whole[-1]["end"]:
                ids = [row["id"] for row in whole]
                closed.append((whole[0]["k"], whole[0]["t"], whole[-1]["t"], ids))
        for whole in sessions(rows, 3):
            ids = [row["id"] for row in whole]
            quiet.append((whole[0]["k"], whole[0]["t"], whole[-1]["t"] + 3, ids))
    for window, due in ((sf.punctuated("end"), closed), (sf.session(3), quiet)):
        found = sf.rolling(on="t", by="k", every="window", order="id", ids=IDS.over(window))
        got = [
            (row["k"], row["window_start"], row["window_end"], row["ids"])
            for row in found.run(table).to_pylist()
        ]
        assert sorted(got) == sorted(due)


@pytest.mark.parametrize("name", ["two_stacks_lite", "daba_lite", "flat_fat", "recalc"])
def test_order_of_the_fold_under_any_algorithm(name: str) -> None:
    """A fold that does not commute, over frames that skip and shrink."""
    table = given("few keys with nulls")
    windows = (sf.session(3), sf.time(9, closed="left"), sf.rows(4))
    for window in windows:
        operator = Joined("id")
        found = sf.rolling(
            on="t",
            by="k",
            order="id",
            ids=IDS.over(window),
            text=operator.over(window, algorithm=name),
        ).run(table)
        for ids, text in zip(found["ids"].to_pylist(), found["text"].to_pylist(), strict=True):
            assert text == (None if ids is None else "-".join(map(str, ids)))


@sf.operator
class Joined(sf.Fold):
    lift = staticmethod(str)
    combine = staticmethod(lambda older, newer: f"{older}-{newer}")
    lower = staticmethod(lambda text: text)
