"""The input of the crash test, with late rows, and the check of its results."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import slidefold as sf

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
DELAY = 20 * SECOND
BUCKETS = 5
ROWS = 300

# One of each kind of window.
FEATURES = sf.rolling(
    on="ts",
    by="card",
    order="id",
    total=sf.sum("amount").over("1m"),
    peak=sf.max("amount").over("5m", closed="left"),
    last=sf.collect("id").over(4),
    earlier=sf.sum("amount").over(sf.time("1m", delay="30s")),
    middle=sf.median("amount").over("2m"),
    best=sf.max_by("id", "amount").over(sf.session("20s")),
    marked=sf.sum("amount").over(sf.punctuated("mark")),
    walked=sf.concat("card").over(sf.delta("40s", on="ts")),
    ever=sf.sum("amount").over("lifetime"),
)


def rows(seed: int, number: int) -> Any:
    """Return the rows of one file: 30 seconds of a stream, some out of order and some late."""
    rng = np.random.default_rng((seed, number))
    late = rng.choice([0, 10 * SECOND, 90 * SECOND], ROWS, p=[0.7, 0.25, 0.05])
    times = START + number * 30 * SECOND + rng.integers(0, 30 * SECOND, ROWS) - late
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC"), mask=rng.random(ROWS) < 0.01),
            "card": pa.array([f"card {key}" for key in rng.integers(0, 40, ROWS)]),
            "amount": pa.array(rng.integers(0, 1000, ROWS)),
            "mark": pa.array(rng.random(ROWS) < 0.2),
            "id": pa.array(np.arange(number * ROWS, (number + 1) * ROWS)),
        }
    )


def add_file(folder: Path, table: Any, number: int) -> None:
    """Write a file atomically, so that Spark reads it whole and after all earlier files."""
    hidden = folder / f".{number:06}.parquet"
    pq.write_table(table, hidden)
    os.utime(hidden, (1_500_000_000 + number,) * 2)
    hidden.rename(folder / f"{number:06}.parquet")


def judged(batches: list[Any], on: str, delay: int) -> tuple[Any, int]:
    """Return the accepted rows and the last watermark, computed independently by Spark's rules.

    The watermark of a batch follows from the newest time of earlier batches, in milliseconds.
    """
    accepted, newest, watermark = [], None, None
    for batch in batches:
        times = batch[on].cast(pa.int64())
        known = times.is_valid()
        if watermark is not None:
            known = pc.greater(times, watermark).fill_null(False)
        accepted.append(batch.filter(known))
        top = pc.max(times).as_py()
        if top is not None:
            newest = top if newest is None else max(newest, top)
            moved = newest // 1000 * 1000 - delay
            if moved > 0 and (watermark is None or moved > watermark):
                watermark = moved
    assert watermark is not None
    return pa.concat_tables(accepted), watermark


def faults(batches: list[Any], results: Any) -> list[str]:
    """Compare the results of a stream with its input; return the faults."""
    given = pa.concat_tables(batches)
    accepted, watermark = judged(batches, "ts", DELAY)
    expected = FEATURES.run(accepted)
    expected = expected.filter(pc.less_equal(expected["ts"].cast(pa.int64()), watermark))
    in_time = results.filter(pc.invert(results["late"])).select(expected.column_names)
    late = results.filter(results["late"])
    wrong = []
    for what, left, right in (
        ("results", in_time, expected.cast(in_time.schema)),
        ("late rows", late.select(given.column_names), _others(given, accepted, late.schema)),
    ):
        actual, wanted = (Counter(map(str, table.to_pylist())) for table in (left, right))
        lost, more = wanted - actual, actual - wanted
        if lost or more:
            wrong.append(f"{what}: {lost.total()} lost, {more.total()} too many")
    return wrong


def _others(given: Any, accepted: Any, schema: Any) -> Any:
    """Return the rows that were not accepted."""
    known = pc.is_in(given["id"], accepted["id"].combine_chunks())
    kinds = pa.schema([schema.field(name) for name in given.column_names])
    return given.filter(pc.invert(known)).cast(kinds)
