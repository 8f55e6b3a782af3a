"""`slidefold bench capacity`: the estimates of `explain(df, scale=...)` beside a real run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from slidefold.cli.output import Output
from slidefold.definition.arguments import rolling
from slidefold.definition.operators import max as sf_max
from slidefold.definition.operators import sum as sf_sum
from slidefold.pipeline.on_spark import spark_session

_FEW_KEYS, _KEYS = 100, (10_000, 1_000_000, 10_000_000)
_CALIBRATION = 1_000_000  # rows at most
_DAYS, _CHUNKS = 30, 8
_FEATURES = rolling(on="ts", by="k", s=sf_sum("x").over("1h"))
_HEADINGS = ("keys", "what", "estimated", "measured", "ratio")


def calibrate(out: Output, rows: int) -> None:
    """Measure this machine, and compare the estimates with what was measured.

    The times of a row are measured over at most a million rows with few keys. The estimates for
    more rows and more keys follow from them.
    """
    from slidefold.spark.capacity import SAMPLE, Scale, shuffle_bytes

    cores = os.cpu_count() or 1
    results: list[list[Any]] = []
    with spark_session(out, f"local[{cores}]") as spark:
        few = min(rows, _CALIBRATION)
        moved, taken = _calibration(spark, few, cores)
        transport = round(moved * cores / few * 1e6, 3)
        fold = round(max(taken - moved, 0.0) * cores / few * 1e6, 3)
        scale = Scale(rows, transport=transport, fold=fold)
        for keys in (count for count in _KEYS if count <= rows):
            sample = _rows(spark, rows, keys).limit(SAMPLE).toArrow()
            expected = shuffle_bytes(sample) / len(sample) * rows
            seconds = rows * (scale.transport + scale.fold) / 1e6 / cores
            taken, written = _keyed(spark, rows, keys)
            results.append([keys, "shuffle bytes", round(expected), written])
            results.append([keys, "seconds", round(seconds, 2), round(taken, 2)])
        results.append(["no key", "rows copied as halo", *_copied(spark, rows)])
    shown = [[*row, round(row[2] / row[3], 2) if row[3] else None] for row in results]
    out.rows(_HEADINGS, shown, f"{rows:,} rows on {cores} cores")
    out.step(
        "constants",
        f'this machine: scale={{"transport": {transport}, "fold": {fold}, ...}}',
        transport=transport,
        fold=fold,
    )


def _calibration(spark: Any, rows: int, cores: int) -> tuple[float, float]:
    """Return the seconds of an identity and of a run by key, with few keys."""
    from slidefold.spark.sizes import kept_on_disk
    from slidefold.spark.worker import map_in_arrow

    data = kept_on_disk(_rows(spark, rows, _FEW_KEYS))
    partitions = max(cores, 2)
    ours = _FEATURES.run(data, partitions=partitions)
    floor = map_in_arrow(data.repartition(partitions, "k"), _same, data.schema)
    _timed(ours)  # the first run starts workers and compiles
    moved = min(_timed(floor) for _ in range(2))
    taken = min(_timed(ours) for _ in range(2))
    data.unpersist()
    return moved, taken


def _keyed(spark: Any, rows: int, keys: int) -> tuple[float, int]:
    """Return the seconds of a run by key, and the bytes that it shuffles."""
    from slidefold.spark.sizes import kept_on_disk

    data = kept_on_disk(_rows(spark, rows, keys))
    before = _written(spark)
    taken = _timed(_FEATURES.run(data))
    written = _written(spark) - before
    data.unpersist()
    return taken, written


def _copied(spark: Any, rows: int) -> tuple[int, int]:
    """Return how many rows a run without a key copies: estimated, and by the layout of a run."""
    from slidefold.spark.capacity import halo_share
    from slidefold.spark.keyless import prepare, task_of

    features = {"s": sf_sum("x").over("1d"), "m": sf_max("x").over("10d")}
    definition = rolling(on="ts", columns=features)
    task = task_of(definition, _rows(spark, rows, _FEW_KEYS))
    estimated = rows * halo_share(definition, task.given, _CHUNKS, _DAYS)
    prepared = prepare(task, _CHUNKS, None)
    return round(estimated), sum(part.layout.copied() for part in prepared or ())


def _rows(spark: Any, rows: int, keys: int) -> Any:
    """Return rows spread evenly over time and keys, in any order; the same ones each time."""

    def random(seed: int, below: int) -> str:
        return f"pmod(xxhash64(id, {seed}), {below}L)"

    return spark.range(rows).selectExpr(
        f"timestamp_micros({random(1, _DAYS * 86_400_000_000)} + 1767225600000000L) AS ts",
        f"{random(2, keys)} AS k",
        f"ln(1 + {random(3, 1 << 40)}) - {random(4, 1 << 40)} / 1e12 AS x",
    )


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def _timed(data: Any) -> float:
    start = perf_counter()
    data.write.format("noop").mode("overwrite").save()
    return perf_counter() - start


def _written(spark: Any) -> int:
    """Return the bytes that the local executor has written to shuffle files so far."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()  # the numbers arrive some time after a job
    return int(context.statusStore().executorSummary("driver").totalShuffleWrite())
