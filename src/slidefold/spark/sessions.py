"""Sessions without a key: cut where a session ends, so that chunks have nothing to do with another.

A scan of the times alone looks, behind each cut, for the first gap that is long enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame

from slidefold.columns.compute import Definition
from slidefold.spark.clock import choose
from slidefold.definition.windows import Session
from slidefold.definition.windows.clock import Clock
from slidefold.definition.windows.every import EveryWindow


def only_sessions(definition: Definition) -> bool:
    """Tell whether all windows are sessions, with a result a row or a session."""
    windows = [over.window for over in definition.columns.values()]
    slides = definition.slide is None or isinstance(definition.slide, EveryWindow)
    return slides and all(isinstance(window, Session) for window in windows)


def longest_gap(definition: Definition, clock: Clock) -> int:
    """Return the gap behind which all sessions are over, in steps of the clock."""
    gaps = [
        clock.steps(over.window.gap, f"the gap {over.window.gap!r}")[0]
        for over in definition.columns.values()
        if isinstance(over.window, Session)
    ]
    return int(max(gaps))


def session_cuts(data: DataFrame, time: Column, cuts: Sequence[int], gap: int) -> list[int]:
    """Return the starts of the first sessions behind cuts; one without a start is left out."""
    chunk = choose(time, cuts, list(range(len(cuts) + 1)))
    placed = data.select(time.alias("t"), chunk.alias("chunk"))

    def starts(batches: Iterator[Any]) -> Iterator[Any]:
        held = [batch for batch in batches if len(batch)]
        if held and held[0].column(1)[0].as_py() > 0:  # the first chunk starts where it does
            times = np.sort(np.concatenate([batch.column(0).to_numpy() for batch in held]))
            passed = times[1:].view(np.uint64) - times[:-1].view(np.uint64)
            later = np.flatnonzero(passed > np.uint64(gap))[:1] + 1
            yield pa.record_batch({"start": pa.array(times[later])})

    spread = placed.repartitionById(len(cuts) + 1, "chunk")
    return sorted(row[0] for row in spread.mapInArrow(starts, "start long").collect())
