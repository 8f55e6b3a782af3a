"""A file that is small on disk and large in memory: workers stay small in a default session.

50 million rows by default: `make test-all`, or `pytest -s tests/spark/test_memory.py` for this test
alone; the variable MEMORY_ROWS sets another number.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.modes import run_script

pytestmark = [pytest.mark.spark, pytest.mark.exhaustive]
ROWS = int(os.environ.get("MEMORY_ROWS", "50000000"))
KEYS, PER_TIME, WINDOW = 8, 5, 10
LIMIT = 1 << 30

# The peaks of the workers are read while the job runs, since Spark may end them with it. A session
# has its default settings, but for its log.
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
ours = [peak for peak, parent in peaks.values() if parent in {str(java), *peaks}]
print(json.dumps({"rows": row["rows"], "wrong": row["wrong"], "peaks": ours}))
spark.stop()
"""


def write(file: Path, rows: int) -> None:
    """Write rows in runs of equal values, which Parquet stores in a few bytes."""
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


def test_workers_stay_below_a_gigabyte(tmp_path: Path) -> None:
    rows = ROWS // (KEYS * PER_TIME) * KEYS * PER_TIME
    file = tmp_path / "rows.parquet"
    write(file, rows)
    assert file.stat().st_size < rows  # of 24 bytes each in memory
    printed = run_script(SCRIPT, str(file), *map(str, (rows, PER_TIME, WINDOW)))
    found = json.loads(printed.splitlines()[-1])
    assert (found["rows"], found["wrong"]) == (rows, 0)
    print(f"{rows:,} rows: workers took at most {max(found['peaks']) >> 20} MB")
    assert max(found["peaks"]) < LIMIT
