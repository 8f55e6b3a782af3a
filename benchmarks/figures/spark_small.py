"""Small Spark jobs: the first job of a session and later ones, beside Spark's own windows.

The first job with Python workers pays for their start and their imports. The identity is the least
that any such job costs: rows go to Python and back, without a shuffle or an import of ours. Each
first job runs in a process and a session of its own, after Java has read and cached the rows. Later
jobs are the best of several in the same session, all sides one after another.
"""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import slidefold as sf
from benchmarks.harness import Row, pivot

NEEDS_SPARK = True
SIDES = ("slidefold", "spark", "identity")
KEYS, FRAME = 100, 100
# What a session has when it is made without settings, and what the documentation recommends.
SETTINGS: dict[str, dict[str, str]] = {
    "default": {},
    "recommended": {
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    },
}


@dataclass(frozen=True)
class Sizes:
    """How much to measure; `apart` starts a process for each first job."""

    rows: tuple[int, ...]
    settings: tuple[str, ...]
    rounds: int
    apart: bool = True


SIZES = {
    "full": Sizes((10_000, 100_000, 300_000, 1_000_000), tuple(SETTINGS), 3),
    "quick": Sizes((10_000, 300_000), ("default",), 2),
    "smoke": Sizes((200,), ("default",), 1, apart=False),
}


def measure(sizes: Sizes) -> list[Row]:
    """Measure the first job and later jobs of each side."""
    # As pip does it: without bytecode, compiling is half of an import of slidefold.
    if sizes.apart:
        compileall.compile_dir(Path(sf.__file__).parent, quiet=2)
    found: list[Row] = []
    for settings in sizes.settings:
        for rows in sizes.rows:
            for side in SIDES:
                run = _child if sizes.apart else _here
                found += [
                    {"settings": settings, "rows": rows, **row}
                    for row in run(settings, rows, side, sizes.rounds)
                ]
    return found


def _child(settings: str, rows: int, side: str, rounds: int) -> list[Row]:
    command = [sys.executable, "-m", "benchmarks.figures.spark_small", settings, str(rows), side]
    done = subprocess.run([*command, str(rounds)], capture_output=True, text=True, check=True)
    found: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return found


def _here(settings: str, rows: int, side: str, rounds: int) -> list[Row]:
    """Measure a side first, and then all of them, in the session that there is."""
    from pyspark.sql import SparkSession

    given = SparkSession.getActiveSession()
    spark = given or _session(settings)
    try:
        data = _rows(spark, rows)
        jobs = _jobs(data)
        found: list[Row] = [{"job": "first", "side": side, "seconds": _seconds(jobs[side])}]
        if side == "slidefold":  # one session compares all sides
            for other in SIDES:
                best = min(_seconds(jobs[other]) for _ in range(rounds + 1))
                found.append({"job": "later", "side": other, "seconds": best})
        data.unpersist()
        return found
    finally:
        if given is None:
            spark.stop()


def _session(settings: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]").appName("spark_small")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    for name, value in {**quiet, **SETTINGS[settings]}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _rows(spark: Any, rows: int) -> Any:
    """Return cached rows in time order, one per step, whose windows hold about 100 rows."""
    from pyspark.sql import functions as fn

    data = spark.range(rows).select(
        fn.col("id").alias("t"),
        (fn.hash("id") % KEYS).cast("long").alias("k"),
        fn.randn(5).alias("x"),
    )
    data = data.cache()
    data.count()
    return data


def _jobs(data: Any) -> dict[str, Callable[[], Any]]:
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    length = KEYS * FRAME
    features = sf.rolling(
        on="t",
        by="k",
        total=sf.sum("x").over(sf.time(length)),
        peak=sf.max("x").over(sf.time(length)),
    )
    frame = Window.partitionBy("k").orderBy("t").rangeBetween(1 - length, Window.currentRow)

    def identity(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    return {
        "slidefold": lambda: features.run(data),
        "spark": lambda: data.select(
            "*", fn.sum("x").over(frame).alias("total"), fn.max("x").over(frame).alias("peak")
        ),
        "identity": lambda: data.mapInArrow(identity, data.schema),
    }


def _seconds(job: Callable[[], Any]) -> float:
    start = time.perf_counter()
    job().write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def show(rows: list[Row]) -> str:
    """Return the seconds of each side, the first job and later ones."""
    texts = []
    for job, title in (("first", "first job of a session"), ("later", "later jobs")):
        chosen = [
            {**row, "where": f"{row['settings']}, {row['rows']:,} rows"}
            for row in rows
            if row["job"] == job
        ]
        texts.append(
            pivot(f"{title}: seconds", chosen, down="where", across="side", value="seconds")
        )
    return "\n\n".join(texts)


if __name__ == "__main__":
    _settings, _count, _side, _rounds = sys.argv[1:]
    print(json.dumps(_here(_settings, int(_count), _side, int(_rounds))))
