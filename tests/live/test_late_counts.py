"""How often values occur in the windows of late rows, against counting the rows that have come."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf

RANGE, ROWS = 400, 90


def expected(values: list[Any]) -> dict[str, Any]:
    counts = Counter(value for value in values if value is not None)
    order = sorted(counts, key=lambda value: (-counts[value], value))
    size = sum(counts.values())
    entropy = sum(-c / size * math.log(c / size) for c in counts.values())
    return {
        "distinct": len(counts) if counts else None,
        "mode": order[0] if counts else None,
        "frequent": [{"value": v, "count": counts[v]} for v in order[:3]] if counts else None,
        "entropy": pytest.approx(entropy, abs=1e-9) if counts else None,
    }


NEW: dict[str, Any] = {
    f"{name}_{over}": operator.over(window)
    for over, window in (("time", sf.time(RANGE)), ("rows", sf.rows(ROWS)))
    for name, operator in {
        "distinct": sf.distinct("x"),
        "mode": sf.mode("x"),
        "frequent": sf.most_frequent("x", 3),
        "entropy": sf.entropy("x"),
    }.items()
}
DEFINITION = sf.rolling(on="t", order="number", **NEW)


@pytest.mark.parametrize("values", [3, 40, 10**9])
@pytest.mark.parametrize("texts", [False, True])
def test_late_rows_and_questions_count_their_windows(values: int, texts: bool) -> None:
    rng = random.Random(values)
    kinds = {"t": pa.int64(), "x": pa.string() if texts else pa.int64(), "number": pa.int64()}
    live = DEFINITION.live(lateness=RANGE, emit="arrival", schema=pa.schema(kinds))
    come: list[tuple[int, int, Any]] = []

    def truth(t: int, number: int) -> dict[str, Any]:
        """Peers of a row are in its time window, and later ones of them not in that of rows."""
        rows = sorted(come, key=lambda row: row[:2])
        held = {
            "time": [value for at, _, value in rows if t - RANGE < at <= t],
            "rows": [value for *row, value in rows if row <= [t, number]][-ROWS:],
        }
        return {
            f"{name}_{over}": value
            for over, values in held.items()
            for name, value in expected(values).items()
        }

    newest = 0
    for number in range(700):
        late = rng.random() < 0.4
        t = newest - rng.randrange(RANGE - 1) if late else newest + rng.randrange(3)
        value: Any = None if rng.random() < 0.05 else rng.randrange(values)
        if texts and value is not None:
            value = f"v{value:09}"
        newest = max(newest, t)
        come.append((t, number, value))
        result = live.push({"t": t, "x": value, "number": number})
        if number % 6 == 0 or number < 20:
            assert result == truth(t, number)
        if number % 50 == 0:
            at = newest + rng.randrange(50)
            assert live.ask({"t": at}) == truth(at, number)
