"""Features at the times of another table: against a run, a range join, and asking one by one.

All sides but the single questions have the same events and questions, and one thread. The range
join of DuckDB and the rolling windows of Polars compute the four features over time; the mean of
the last rows, which neither of them has, is left out in their favour.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa

import slidefold as sf
from benchmarks.harness import Row, table

os.environ.setdefault("POLARS_MAX_THREADS", "1")


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    events: int
    questions: int
    keys: int
    replayed: int  # events that are pushed one by one
    rounds: int


SIZES = {
    "full": Sizes(10_000_000, 1_000_000, 100_000, 300_000, 3),
    "quick": Sizes(2_000_000, 200_000, 20_000, 50_000, 2),
    "smoke": Sizes(500, 50, 10, 100, 1),
}
SPAN = 10**9  # the time that the events cover


def measure(sizes: Sizes) -> list[Row]:
    """Time `at=` and `known=` beside a run over as many rows, joins, and single questions."""
    results: list[Row] = []

    def note(what: str, seconds: float, ratio: float | None = None) -> None:
        results.append({"what": what, "seconds": seconds, "ratio": ratio})

    events, questions = data(sizes.events, sizes.questions, sizes.keys)
    features = definition(sizes.events // sizes.keys)
    rows = pa.concat_tables([events.select(["t", "k", "x"]), _as_rows(questions)])
    runs = best(lambda: features.run(rows), sizes.rounds)
    asks = best(lambda: features.run(events, at=questions), sizes.rounds)
    knows = best(lambda: features.run(events, at=questions, known="arrived"), 1)
    note("run over as many rows", runs)
    note("at=, per run", asks, asks / runs)
    note("known=, per at=", knows, knows / asks)

    if find_spec("duckdb") is not None:
        joins = best(lambda: joined(events, questions), 1)
        note("range join of DuckDB, per at=", joins, joins / asks)
    if find_spec("polars") is not None:
        rolls = best(lambda: rolled(events, questions), 1)
        note("rolling and join_asof of Polars, per at=", rolls, rolls / asks)

    events, questions = data(sizes.replayed, sizes.replayed // 10, max(1, sizes.keys // 10))
    features = definition(10)
    knows = best(lambda: features.run(events, at=questions, known="arrived"), sizes.rounds)
    replays = replay(features, events, questions)
    note("push and ask one by one, per known=", replays, replays / knows)
    return results


def data(events: int, questions: int, keys: int) -> tuple[Any, Any]:
    """Return events in time order, with arrival times, and questions in any order."""
    random = np.random.default_rng(6)
    times = np.sort(random.integers(0, SPAN, events))
    late = random.exponential(SPAN / events * 50, events).astype(np.int64)
    given = {"t": times, "k": random.integers(0, keys, events), "x": random.random(events)}
    asked = {"t": random.integers(0, SPAN, questions), "k": random.integers(0, keys, questions)}
    return pa.table({**given, "arrived": times + late}), pa.table(asked)


def definition(rows: int) -> sf.Rolling:
    """Return five features; windows hold a tenth of a key's rows, or all of them on average."""
    short, long = sf.time(SPAN // 10), sf.time(SPAN)
    return sf.rolling(
        on="t",
        by="k",
        total=sf.sum("x").over(short),
        count=sf.count().over(short),
        top=sf.max("x").over(long),
        mean=sf.mean("x").over(long),
        last=sf.mean("x").over(max(2, rows // 5)),
    )


def _as_rows(questions: Any) -> Any:
    return questions.append_column("x", pa.array(np.zeros(len(questions))))


def best(call: Callable[[], Any], rounds: int) -> float:
    """Return the best time of several calls in seconds."""
    found = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        found = min(found, time.perf_counter() - start)
    return found


def replay(features: sf.Rolling, events: Any, questions: Any) -> float:
    """Push events as they arrive, and ask each question when its time has come."""
    arrived = events.sort_by("arrived").to_pylist()
    asked = questions.sort_by("t").to_pylist()
    live = features.live(lateness=SPAN, emit="arrival")
    for event in arrived:
        del event["arrived"]
    due = np.searchsorted(
        np.sort(events["arrived"].to_numpy()), [row["t"] for row in asked], "right"
    )
    start, at = time.perf_counter(), 0
    for question, until in zip(asked, due.tolist(), strict=True):
        while at < until:
            live.push(arrived[at])
            at += 1
        if at:
            live.ask(question)
    return time.perf_counter() - start


def joined(events: Any, questions: Any) -> Any:
    """Return the features over time by a range join of DuckDB, in order of the questions."""
    duckdb = import_module("duckdb")
    connection = duckdb.connect(config={"threads": 1})
    connection.register("events", events)
    connection.register("questions", questions)
    short = f"FILTER (e.t > q.t - {SPAN // 10})"
    return connection.sql(
        f"SELECT q.i, sum(e.x) {short} AS total, count(e.t) {short} AS count, max(e.x) AS top, "
        "avg(e.x) AS mean FROM (SELECT *, row_number() OVER () AS i FROM questions) q "
        f"LEFT JOIN events e ON e.k = q.k AND e.t > q.t - {SPAN} AND e.t <= q.t "
        "GROUP BY q.i ORDER BY q.i"
    ).to_arrow_table()


def rolled(events: Any, questions: Any) -> Any:
    """Return the features over time by rolling over both tables, as users of Polars do it."""
    pl = import_module("polars")
    left = pl.from_arrow(events.select(["t", "k", "x"]))
    right = pl.from_arrow(questions)
    asked = right.with_columns(x=pl.lit(None, pl.Float64))
    both = pl.concat([left, asked]).sort("t")
    x = pl.col("x")
    for period, features in (
        (SPAN // 10, {"total": x.sum(), "count": x.count()}),
        (SPAN, {"top": x.max(), "mean": x.mean()}),
    ):
        windows = both.rolling(index_column="t", period=f"{period}i", group_by="k").agg(**features)
        right = right.sort("t").join_asof(windows.sort("t"), on="t", by="k", check_sortedness=False)
    return right


def show(rows: list[Row]) -> str:
    """Format one table."""
    cells = [[row["what"], row["seconds"], row["ratio"]] for row in rows]
    return table("Features at the times of questions", ["what", "seconds", "ratio"], cells)
