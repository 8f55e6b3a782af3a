"""Memory of Spark's workers for a file that is small on disk and large in memory.

The session has its default settings, and the run its default options. The file has runs of equal
values, which Parquet stores in a few bytes, so its size says nothing about its rows. All results
are compared with their formula. The peak of each Python worker is read while the job runs, since
Spark may end a worker with its job.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Row, table

NEEDS_SPARK = True
KEYS, PER_TIME, WINDOW = 8, 5, 10


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    rows: int


SIZES = {"full": Sizes(50_000_000), "quick": Sizes(5_000_000), "smoke": Sizes(40_000)}

SCRIPT = """
import json, os, sys, threading
from pathlib import Path
from pyspark.sql import SparkSession
import slidefold as sf

peaks = {}

def look():
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                lines = (process / "status").read_text().splitlines()
                peak = next(line for line in lines if line.startswith("VmHWM"))
                owner = next(line for line in lines if line.startswith("PPid"))
                peaks[process.name] = int(peak.split()[1]) << 10, owner.split()[1]
        except (OSError, StopIteration):
            pass

def watch():
    while not ended.wait(0.1):
        look()

file, rows, per_time, window = sys.argv[1], *map(int, sys.argv[2:])
spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
ended = threading.Event()
watcher = threading.Thread(target=watch, daemon=True)
watcher.start()
length = sf.time(window)
features = sf.rolling(on="t", by="k", n=sf.count().over(length), s=sf.sum("x").over(length))
before = f"least(t + 1, {window}L)"  # times in the window
# The sum of u % 7 for u from 0 to v: whole weeks of 21, and the days of the last one.
week = "(21 * (({v} + 1) DIV 7) + (({v} + 1) % 7) * (({v} + 1) % 7 - 1) DIV 2)"
total = f"{per_time} * ({week.format(v='t')} - {week.format(v=f'(t - {before})')})"
wrong = f"n != {per_time} * {before} OR s != {total} OR n IS NULL OR s IS NULL"
results = features.run(spark.read.parquet(file))
row = results.selectExpr("count(*) AS rows", f"count_if({wrong}) AS wrong").first()
look()
ended.set()
watcher.join()
java = spark.sparkContext._gateway.proc.pid
# Other sessions on this machine have such processes too.
daemons = {process for process, (_, parent) in peaks.items() if parent == str(java)}
ours = [peak for peak, parent in peaks.values() if parent in daemons]
print(json.dumps({"rows": row["rows"], "wrong": row["wrong"], "peaks": ours}))
spark.stop()
"""


def measure(sizes: Sizes) -> list[Row]:
    """Run a definition by key over the file; fail if a result is wrong."""
    rows = sizes.rows // (KEYS * PER_TIME) * KEYS * PER_TIME
    with TemporaryDirectory(prefix="slidefold-") as folder:
        file = Path(folder) / "rows.parquet"
        write(file, rows)
        numbers = [str(number) for number in (rows, PER_TIME, WINDOW)]
        command = [sys.executable, "-c", SCRIPT, str(file), *numbers]
        # Without it Spark starts workers with the first python3 of the path.
        own = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        done = subprocess.run(
            command, env={**os.environ, **own}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"the job failed: {done.stderr[-3000:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        if (found["rows"], found["wrong"]) != (rows, 0):
            raise RuntimeError(f"{found['wrong']} of {found['rows']} results are wrong")
        return [
            {"rows": rows, "file_bytes": file.stat().st_size, "peak_bytes": max(found["peaks"])}
        ]


def write(file: Path, rows: int) -> None:
    """Write rows in runs of equal values."""
    own = rows // KEYS
    schema = pa.schema({"k": pa.int64(), "t": pa.int64(), "x": pa.int64()})
    # A dictionary of times would outgrow its page, and their values take more bytes than steps.
    packed: dict[str, Any] = {"column_encoding": {"t": "DELTA_BINARY_PACKED"}}
    packed["use_dictionary"] = ["k", "x"]
    with pq.ParquetWriter(file, schema, compression="zstd", **packed) as writer:
        for key in range(KEYS):
            time = np.arange(own) // PER_TIME
            columns = [np.full(own, key), time, time % 7]
            writer.write_table(pa.table(columns, schema=schema))


def show(rows: list[Row]) -> str:
    """Format one table."""
    cells = [[row["rows"], row["file_bytes"], row["peak_bytes"] / 1e6] for row in rows]
    names = ["rows", "bytes of the file", "largest worker, MB"]
    return table("A compressed Parquet file by key, default session", names, cells)
