"""`slidefold bench capacity`: the estimates of `explain(df, scale=...)` beside a real run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.cli.output import Output
from slidefold.definition.arguments import rolling
from slidefold.definition.operators import sum as sf_sum
from slidefold.pipeline.on_spark import spark_session

_KEYS = (100, 100_000)
_DAYS = 30
_HEADINGS = ("keys", "what", "estimated", "measured", "ratio")


def calibrate(out: Output, rows: int) -> None:
    """Measure this machine, and compare the estimates with what was measured."""
    from slidefold.spark.capacity import Scale, shuffle_bytes
    from slidefold.spark.worker import map_in_arrow

    cores = os.cpu_count() or 1
    results: list[list[Any]] = []
    constants: list[tuple[float, float]] = []
    with spark_session(out, f"local[{cores}]") as spark:
        definition = rolling(on="ts", by="k", s=sf_sum("x").over("1h"))
        for keys in _KEYS:
            table = _table(rows, keys)
            data = spark.createDataFrame(table).repartition(cores)
            data = data.cache()
            data.count()
            partitions = max(cores, 2)
            ours = definition.run(data, partitions=partitions)
            floor = map_in_arrow(data.repartition(partitions, "k"), _same, data.schema)
            _noop(ours)  # the first run starts workers and compiles
            before = _written(spark)
            moved = min(_timed(floor) for _ in range(2))
            taken = min(_timed(ours) for _ in range(2))
            written = (_written(spark) - before) / 4
            transport = moved * cores / rows * 1e6
            fold = max(taken - moved, 0.0) * cores / rows * 1e6
            constants.append((transport, fold))
            expected = shuffle_bytes(table.slice(0, 20_000)) / 20_000 * rows
            results.append([keys, "shuffle bytes", round(expected), round(written)])
            scale = Scale(rows, keys, _DAYS, cores)
            seconds = rows * (scale.transport + scale.fold) / 1e6 / cores
            results.append([keys, "seconds, by default", round(seconds, 2), round(taken, 2)])
            data.unpersist()
    shown = [[*row, round(row[2] / row[3], 2) if row[3] else None] for row in results]
    out.rows(_HEADINGS, shown, f"{rows:,} rows on {cores} cores")
    transport, fold = (round(sum(part) / len(part), 2) for part in zip(*constants, strict=True))
    out.step(
        "constants",
        f'this machine: scale={{"transport": {transport}, "fold": {fold}, ...}}',
        transport=transport,
        fold=fold,
    )


def _table(rows: int, keys: int) -> Any:
    draw = np.random.default_rng(1)
    times = 1_767_225_600_000_000 + draw.integers(0, _DAYS * 86_400_000_000, rows)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": draw.integers(0, keys, rows),
            "x": draw.normal(size=rows),
        }
    )


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _noop(data: Any) -> None:
    data.write.format("noop").mode("overwrite").save()


def _timed(data: Any) -> float:
    start = perf_counter()
    _noop(data)
    return perf_counter() - start


def _written(spark: Any) -> int:
    """Return the bytes that the local executor has written to shuffle files so far."""
    store = spark.sparkContext._jsc.sc().statusStore()
    return int(store.executorSummary("driver").totalShuffleWrite())
