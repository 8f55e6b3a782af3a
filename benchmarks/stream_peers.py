"""Peers of a stream: its own stages without state, and Spark's own interfaces.

These are pickled by value, since a worker cannot import the benchmarks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

import slidefold as sf

_LENGTHS = {"s_5m": 300, "s_1h": 3600, "s_24h": 86400}


def floor(definition: sf.Rolling, stream: Any, **options: Any) -> Any:
    """Pack, group and unpack the same rows, with results of the right size but without state."""
    plan: Any = import_module("slidefold.spark.stream")
    _by_value()
    original = plan.BucketProcessor
    plan.BucketProcessor = _echo()
    try:
        return definition.run(stream, **options)
    finally:
        plan.BucketProcessor = original


def _by_value() -> None:
    cloudpickle: Any = import_module("pyspark.cloudpickle")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])


def _echo() -> Any:
    import pyarrow as pa

    from slidefold.spark.packing import PACKET, decode, encode
    from slidefold.spark.processor import OUTPUT, BucketProcessor

    class Echo(BucketProcessor):
        """Adds a column of nulls for each result column."""

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            from pyspark.sql import Row

            made = Row(*OUTPUT.names)
            for row in rows:
                if row[PACKET] is not None:
                    batch = decode(bytes(row[PACKET]), self.job.schema)
                    table = pa.Table.from_batches([batch])
                    for field in list(self.job.result)[table.num_columns :]:
                        table = table.append_column(field, pa.nulls(len(table), field.type))
                    yield made(encode(table), *[0] * (len(OUTPUT.names) - 1))

    return Echo


def sliding(stream: Any, length: str) -> Any:
    """Use Spark's own sliding window with one slide per second, which copies rows to windows."""
    from pyspark.sql import functions as fn

    words = {"1m": "1 minute", "10m": "10 minutes"}[length]
    return stream.groupBy("k", fn.window("ts", words, "1 second")).agg(fn.sum("x").alias("s"))


def by_key() -> dict[str, Callable[[Any], Any]]:
    """Return the same three windows with state per key, in Spark's two Python interfaces."""
    _by_value()
    result = "ts timestamp, k long, x long, " + ", ".join(f"{name} long" for name in _LENGTHS)

    def with_state(stream: Any) -> Any:
        grouped = stream.groupBy("k")
        return grouped.transformWithStateInPandas(_keyed(), result, "Append", "EventTime")

    def in_pandas(stream: Any) -> Any:
        grouped = stream.groupBy("k")
        return grouped.applyInPandasWithState(
            _grouped, result, "rows binary", "append", "EventTimeTimeout"
        )

    return {"transformWithState": with_state, "applyInPandasWithState": in_pandas}


def _step(kept: bytes, frames: Any, watermark_ms: int) -> tuple[Any, bytes]:
    """Add rows to the state; return the final results, and the new state."""
    import pandas as pd

    rows = np.frombuffer(kept, np.int64).reshape(3, -1)  # time, value, whether it was emitted
    for frame in frames:
        times = frame["ts"].to_numpy().astype("datetime64[us]").astype(np.int64)
        new = np.stack([times, frame["x"].to_numpy(), np.zeros(len(frame), np.int64)])
        rows = np.concatenate([rows, new], axis=1)
    rows = rows[:, np.argsort(rows[0], kind="stable")]
    watermark = watermark_ms * 1000
    final = np.flatnonzero((rows[0] <= watermark) & (rows[2] == 0))
    sums = np.concatenate(([0], np.cumsum(rows[1])))
    hi = np.searchsorted(rows[0], rows[0][final], "right")
    results = {"ts": pd.to_datetime(rows[0][final], unit="us"), "x": rows[1][final]}
    for name, seconds in _LENGTHS.items():
        lo = np.searchsorted(rows[0], rows[0][final] - seconds * 1_000_000, "right")
        results[name] = sums[hi] - sums[lo]
    rows[2][final] = 1
    keep = rows[0] > watermark - max(_LENGTHS.values()) * 1_000_000
    return pd.DataFrame(results), np.ascontiguousarray(rows[:, keep]).tobytes()


def _keyed() -> Any:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor
    from pyspark.sql.types import BinaryType, StructField, StructType

    class Keyed(StatefulProcessor):
        """Keeps the rows of a key in one value."""

        def init(self, handle: Any) -> None:
            schema = StructType([StructField("rows", BinaryType())])
            self.kept = handle.getValueState("rows", schema)

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            kept = self.kept.get()
            before = b"" if kept is None else bytes(kept[0])
            results, after = _step(before, rows, timerValues.getCurrentWatermarkInMs())
            self.kept.update((after,))
            results.insert(1, "k", key[0])
            yield results

        def close(self) -> None:
            pass

    return Keyed()


def _grouped(key: Any, frames: Any, state: Any) -> Iterator[Any]:
    before = bytes(state.get[0]) if state.exists else b""
    results, after = _step(before, frames, state.getCurrentWatermarkMs())
    state.update((after,))
    results.insert(1, "k", key[0])
    yield results
