"""How long a stream takes to answer again after its driver was killed with -9.

`python -m benchmarks.stream_recovery SOURCE CHECKPOINT` runs the query in a process that may be
killed. `recovery` lets it write half of its batches, kills it with all that it started, and starts
it again: the time from the start of the query to its first batch, in which the state is read and
the engines are made from it, beside the time of a batch once all is there. Java and the session
have started by then, which is a matter of Spark alone.
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
    """Kill a query over these files half way; return what its second start took."""
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
        said, _ = second.communicate(timeout=_PATIENCE)
    finally:
        kill_session(second.pid)
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found


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
    """Run the query until its source is used up, and say what its batches took."""
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
    told = done[0]["observedMetrics"]["slidefold"]
    later = [each for each in query.recentProgress if each["numInputRows"]][2:]
    seconds = [each["durationMs"]["triggerExecution"] / 1000 for each in later]
    found = {
        "recovery_seconds": first,
        "seconds_per_batch": statistics.median(seconds),
        "rebuilt_rows": told["rebuilt_rows"],
        "rebuild_seconds": told["seconds_rebuild"],
    }
    print(json.dumps(found), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
