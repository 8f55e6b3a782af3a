"""Measure how long a stream takes to recover after its driver was killed with SIGKILL.

`python -m benchmarks.stream_recovery SOURCE CHECKPOINT` runs the query in a process that may be
killed. `recovery` lets it write half of its batches, kills it with all its processes, and starts it
again. It measures the time from the start of the query to the end of its first batch, which reads
the state and rebuilds the engines, and the time of a later batch. The start of Java and of the
session is not included, since it depends on Spark alone.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tools.crash.processes import kill_session

_PATIENCE = 600.0  # seconds


def recovery(source: Path, checkpoint: Path) -> dict[str, float]:
    """Kill a query over these files halfway; return the times of its second start."""
    half = len(list(source.glob("*.parquet"))) // 2
    first = _start(source, checkpoint)
    try:
        end = time.monotonic() + _PATIENCE
        while not (checkpoint / "commits" / str(half - 1)).exists():
            if first.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the query ended before it could be killed")
            time.sleep(0.01)
    finally:
        kill_session(first.pid)
        first.wait()
    second = _start(source, checkpoint)
    try:
        output, _ = second.communicate(timeout=_PATIENCE)
    finally:
        kill_session(second.pid)
    times: dict[str, float] = json.loads(output.splitlines()[-1])
    return times


def _start(source: Path, checkpoint: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.stream_recovery", str(source), str(checkpoint)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def main(source: str, checkpoint: str) -> None:
    """Run the query until it has read all files, and print the times of its batches."""
    from benchmarks.figures import stream

    spark = stream.session()
    frame: Any = stream.over_three()(stream.stream_of(spark, Path(source)))
    writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
    start = time.perf_counter()
    query = writer.trigger(availableNow=True).start()
    while not (done := list(query.recentProgress)) and query.isActive:
        time.sleep(0.005)
    first = time.perf_counter() - start
    query.awaitTermination()
    counts = done[0]["observedMetrics"]["slidefold"]
    later = [batch for batch in query.recentProgress if batch["numInputRows"]][2:]
    seconds = [batch["durationMs"]["triggerExecution"] / 1000 for batch in later]
    times = {
        "recovery_seconds": first,
        "seconds_per_batch": statistics.median(seconds),
        "rebuilt_rows": counts["rebuilt_rows"],
        "rebuild_seconds": counts["seconds_rebuild"],
    }
    print(json.dumps(times), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
