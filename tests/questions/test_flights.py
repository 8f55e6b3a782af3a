"""Questions about all flights from New York against range joins of DuckDB, row by row."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.cli.demo.flights import read_flights
from tests.questions.support import assert_same

DAY = 86_400 * 10**6
TIME = pa.timestamp("us", "UTC")
FEATURES = sf.rolling(
    on="departed",
    by="carrier",
    flights=sf.count().over("1d"),
    before=sf.count().over("1d", closed="left"),
    delay=sf.sum("delay_min").over("1d"),
    worst=sf.max("delay_min").over("7d"),
    late=sf.count().where(sf.col("delay_min") > 30).over("7d"),
    places=sf.distinct("dest").over("1d"),
    middle=sf.median("delay_min").over("1d"),
    settled=sf.sum("delay_min").over(sf.time("1d", delay="6h")),
    ever=sf.mean("delay_min").over("lifetime"),
    ratio=sf.count().over("1d") / sf.count().over("7d"),
)
SQL = {
    "flights": "count(e.u) FILTER (e.u > q.u - {day})",
    "before": "count(e.u) FILTER (e.u >= q.u - {day} AND e.u < q.u)",
    "delay": "sum(e.delay_min) FILTER (e.u > q.u - {day})",
    "worst": "max(e.delay_min) FILTER (e.u > q.u - 7 * {day})",
    "late": "count(e.u) FILTER (e.u > q.u - 7 * {day} AND e.delay_min > 30)",
    "places": "nullif(count(DISTINCT e.dest) FILTER (e.u > q.u - {day}), 0)",
    "middle": "median(e.delay_min) FILTER (e.u > q.u - {day})",
    "settled": "sum(e.delay_min) FILTER (e.u > q.u - {day} * 5 / 4 AND e.u <= q.u - {day} / 4)",
    "ever": "avg(e.delay_min)",
    "ratio": "count(e.u) FILTER (e.u > q.u - {day}) / count(e.u) FILTER (e.u > q.u - 7 * {day})",
}


def questions_of(events: Any, count: int) -> Any:
    """Return questions at any time, at times of flights, twice, and about unknown carriers."""
    rng = np.random.default_rng(4)
    times = events["departed"].cast(pa.int64()).to_numpy()
    asked = rng.integers(times.min() - DAY, times.max() + 9 * DAY, count)
    asked = np.where(rng.random(count) < 0.3, rng.choice(times, count), asked)
    asked[: count // 10] = asked[count // 2 : count // 2 + count // 10]
    carriers = rng.choice([*events["carrier"].unique().to_pylist(), "none"], count)
    return pa.table({"departed": pa.array(asked, TIME), "carrier": carriers, "i": np.arange(count)})


def numbered(table: Any) -> Any:
    """Return a table with its times in microseconds."""
    return table.append_column("u", table["departed"].cast(pa.int64()))


def joined(events: Any, questions: Any, condition: str) -> list[dict[str, Any]]:
    """Return the features by a join of all earlier flights of a carrier."""
    with duckdb.connect() as connection:
        recorded = events["recorded"].cast(pa.int64())
        connection.register("events", numbered(events).append_column("recorded_u", recorded))
        connection.register("questions", numbered(questions))
        picked = ", ".join(f"{sql.format(day=DAY)} AS {name}" for name, sql in SQL.items())
        connection.sql("SET ieee_floating_point_ops = true")
        found = connection.sql(
            f"SELECT q.i, {picked} FROM questions q LEFT JOIN events e ON e.carrier = q.carrier "
            f"AND e.u <= q.u {condition} GROUP BY q.i, q.u ORDER BY q.i"
        )
        return list(found.to_arrow_table().to_pylist())


def check(rows: int, count: int) -> None:
    """Compare all features at all questions, over all flights and over those recorded by then."""
    events = read_flights().slice(0, rows)
    questions = questions_of(events, count)
    found = FEATURES.run(events, at=questions)
    assert_same(found, joined(events, questions, ""))
    known = FEATURES.run(events, at=questions, known="recorded")
    assert_same(known, joined(events, questions, "AND e.recorded_u <= q.u"))
    assert known["flights"].to_pylist() != found["flights"].to_pylist()


def test_some_weeks() -> None:
    check(12_000, 400)


@pytest.mark.exhaustive
def test_all_flights() -> None:
    check(400_000, 3_000)
