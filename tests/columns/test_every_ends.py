"""Which ends an `every` in time has: those whose largest window is not empty."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf

CLOSED = ("left", "right", "both", "neither")


def holds(end: int, length: int, closed: str, t: int) -> bool:
    low = end - length <= t if closed in ("left", "both") else end - length < t
    high = t <= end if closed in ("right", "both") else t < end
    return low and high


def expected(times: list[int], windows: list[tuple[int, str]], step: int) -> dict[int, list[int]]:
    """Return the counts of each window at each end, by the definition of ends alone."""
    longest = max(length for length, _ in windows)
    largest = [window for window in windows if window[0] == longest]
    found = {}
    for end in range(step * (min(times) // step - 3), max(times) + longest + 3 * step, step):
        counts = {w: sum(holds(end, *w, t) for t in times) for w in windows}
        if any(counts[window] for window in largest):
            found[end] = [counts[window] for window in windows]
    return found


def definition_of(windows: list[tuple[int, str]], step: int) -> Any:
    columns = {
        f"n{i}": sf.count("x").over(sf.time(length, closed=closed))
        for i, (length, closed) in enumerate(windows)
    }
    return sf.rolling(on="t", every=sf.time(step), columns=columns)


def by_end(found: Any) -> dict[int, list[int]]:
    rows = found.to_pylist()
    names = [name for name in found.column_names if name.startswith("n")]
    return {row["window_end"]: [row[name] for name in names] for row in rows}


def test_an_end_whose_largest_window_is_empty_does_not_come_out() -> None:
    table = pa.table({"t": [20], "x": [1]})
    definition = definition_of([(10, "left"), (5, "right")], 10)
    assert by_end(definition.run(table)) == {30: [1, 0]}  # at 20 only the shorter one holds it


@pytest.mark.sampled(2)
@pytest.mark.parametrize("closed", list(product(CLOSED, CLOSED)), ids="-".join)
@pytest.mark.parametrize("lengths", [(12, 5), (10, 10), (40, 3), (1, 1)])
def test_ends_of_windows_that_are_closed_otherwise(
    closed: tuple[str, str], lengths: tuple[int, int]
) -> None:
    windows = list(zip(lengths, closed, strict=True))
    rng = random.Random(repr(windows))
    for step in (1, 4, 5):
        definition = definition_of(windows, step)
        for _ in range(4):
            times = [rng.randint(-30, 60) for _ in range(rng.randint(1, 8))]
            table = pa.table({"t": times, "x": [1] * len(times)})
            due = expected(times, windows, step)
            assert by_end(definition.run(table)) == due
            for emit in ("final", "revise"):
                live = definition.live(lateness=200, emit=emit)
                parts = [live.feed(table.slice(i, 2)) for i in range(0, len(times), 2)]
                parts.append(live.finish())
                assert by_end(pa.concat_tables(parts)) == due, (emit, times)
