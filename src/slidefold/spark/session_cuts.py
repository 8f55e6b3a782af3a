"""Sessions without a key: cut the data where a session ends, so that chunks are independent.

A scan of the times finds the first gap after each cut that is long enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from slidefold.definition.rolling import Rolling
from slidefold.definition.windows.clock import Clock
from slidefold.spark.clock import located
from slidefold.spark.labels import place
from slidefold.spark.worker import map_in_arrow


def only_sessions(definition: Rolling) -> bool:
    """Tell whether all windows are sessions, with one result per row or per session."""
    slides = definition.slide is None or definition.slide.whole
    return slides and all(window.ends for window in definition.windows)


def longest_gap(definition: Rolling, clock: Clock) -> int:
    """Return the gap that ends the sessions of all windows, in steps of the clock."""
    return max(window.silence(clock) or 0 for window in definition.windows)


def session_cuts(data: DataFrame, time: str, cuts: Sequence[int], gap: int) -> list[int]:
    """Move each cut to the start of the next session; a cut without one is dropped."""
    times = data.select(fn.expr(time).alias("t"), fn.lit(0).alias("part"))
    found, choice = located(times, "t", [cuts])
    placed = found.select("t", choice([list(range(len(cuts) + 1))]).alias("chunk"))

    def starts(batches: Iterator[Any]) -> Iterator[Any]:
        held = [batch for batch in batches if len(batch)]
        if held and held[0].column(1)[0].as_py() > 0:  # the first chunk has no cut before it
            times = np.sort(np.concatenate([batch.column(0).to_numpy() for batch in held]))
            passed = times[1:].view(np.uint64) - times[:-1].view(np.uint64)
            later = np.flatnonzero(passed > np.uint64(gap))[:1] + 1
            yield pa.record_batch({"start": pa.array(times[later])})

    spread = place(placed, len(cuts) + 1, fn.col("chunk"), len(cuts) + 1)
    return sorted(row[0] for row in map_in_arrow(spread, starts, "start long").collect())
