"""Random events and questions, and the answers that a service would give one by one."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

import slidefold as sf

# One of each kind of window, and operators of each kind.
EVERYTHING: dict[str, Any] = {
    "total": sf.sum("x").over(sf.time(10)),
    "before": sf.count().over(sf.time(10, closed="left")),
    "rows": sf.sum("x").over(4),
    "rows_before": sf.count().over(sf.rows(3, closed="left")),
    "session": sf.count().over(sf.session(4)),
    "marked": sf.count().over(sf.punctuated("mark")),
    "life": sf.count("x").over("lifetime"),
    "middle": sf.median("x").over(sf.time(20)),
    "first": sf.first("s").over(5),
    "lag": sf.lag("x"),
    "change": sf.change("x"),
    "rank": sf.rank("x").over(sf.time(20)),
    "since": sf.since_last().over(sf.time(30)),
    "words": sf.distinct("s").over(sf.time(15)),
    "some": sf.count().where(sf.col("s") == "m").over(sf.time(15)),
    "ratio": sf.col("x") / sf.mean("x").over(sf.time(30)),
    "delayed": sf.sum("x").over(sf.time(10, delay=5)),
    "all": sf.collect("s").over(sf.time(8)),
}


def random_events(rng: random.Random, rows: int) -> Any:
    """Return events in any order, with ties, nulls, and arrival times of which some are missing."""
    draws = range(rows)
    return pa.table(
        {
            "t": pa.array([rng.randrange(50) for _ in draws], pa.int64()),
            "k": pa.array([rng.choice(["a", "b", None]) for _ in draws], pa.string()),
            "s2": pa.array([rng.choice([1, 2, None]) for _ in draws], pa.int64()),
            "x": pa.array([_maybe(rng, float(rng.randrange(6))) for _ in draws], pa.float64()),
            "s": pa.array([rng.choice(["m", "n"]) for _ in draws], pa.string()),
            "mark": pa.array([rng.random() < 0.1 for _ in draws], pa.bool_()),
            "arrived": pa.array([_maybe(rng, rng.randrange(70)) for _ in draws], pa.int64()),
        }
    )


def random_questions(rng: random.Random, rows: int) -> Any:
    """Return questions in any order, some about keys that no event has."""
    draws = range(rows)
    return pa.table(
        {
            "id": pa.array(draws, pa.int64()),
            "t": pa.array([rng.randrange(-5, 70) for _ in draws], pa.int64()),
            "k": pa.array([rng.choice(["a", "b", "z", None]) for _ in draws], pa.string()),
            "s2": pa.array([rng.choice([1, 2, None]) for _ in draws], pa.int64()),
            "x": pa.array([float(rng.randrange(6)) for _ in draws], pa.float64()),
            "asked": pa.array([rng.randrange(80) for _ in draws], pa.int64()),
        }
    )


def _maybe(rng: random.Random, value: Any) -> Any:
    return None if rng.random() < 0.1 else value


def asked_one_by_one(
    definition: sf.Rolling,
    events: Any,
    questions: Any,
    known: str | None = None,
    asked: str = "t",
) -> list[dict[str, Any]]:
    """Return the answers of a live run that has just the events that count, one per question."""
    answers = []
    rows = events.to_pylist()
    for question in questions.to_pylist():
        live = definition.live(lateness=10**6, schema=events.schema)
        counting = [
            row
            for row in rows
            if known is None or (row[known] is not None and row[known] <= question[asked])
        ]
        if counting:
            live.feed(pa.Table.from_pylist(counting, schema=events.schema))
        answers.append(live.ask(question))
    return answers


def assert_same(found: Any, expected: list[dict[str, Any]]) -> None:
    """Compare answers, floats within rounding."""
    for row, (got, due) in enumerate(zip(found.to_pylist(), expected, strict=True)):
        for name, value in due.items():
            assert _near(got[name], value), f"{name} of question {row}: {got[name]}, not {value}"


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-9 * max(1.0, abs(a))
    return bool(a == b)
