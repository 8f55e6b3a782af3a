"""Estimates for another scale: the bytes and rows that a run really has, without Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.columns.spans import edges_of, segment_starts, targets, time_spans
from slidefold.errors import DefinitionError
from slidefold.live.engine import Engine
from slidefold.spark.capacity import (
    Scale,
    batch_lines,
    halo_share,
    measured,
    sample_of,
    stream_lines,
)
from slidefold.spark.log import DictStore, Log

HOUR, DAY = 3_600_000_000, 86_400_000_000


def table(rows: int, keys: int, days: float = 30.0) -> Any:
    draw = np.random.default_rng(rows)
    times = np.sort(draw.integers(0, int(days * DAY), rows))
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": draw.integers(0, keys, rows),
            "x": draw.normal(size=rows),
        }
    )


def features(*ranges: str, by: Any = "k", whole: bool = False) -> Any:
    columns = {f"c{i}": sf.sum("x").over(given) for i, given in enumerate(ranges)}
    if whole:
        columns["all"] = sf.collect("x").over(ranges[0])
    return sf.rolling(on="ts", by=by, columns=columns)


@pytest.mark.parametrize(("rows", "keys"), [(50_000, 100), (100_000, 10_000), (100_000, 90_000)])
def test_state_of_a_larger_stream_follows_from_a_small_sample(rows: int, keys: int) -> None:
    """Ten times the sample: bytes of the log and of the engine within a tenth."""
    definition, large = features("30d"), table(rows, keys)
    row = measured(definition, large.slice(0, rows // 10))
    store = DictStore()
    assert Log(store, large.schema, "").append(large, "ts", None) == pytest.approx(
        rows * row.log, rel=0.1
    )
    engine = Engine(definition, large.schema, "arrival")
    engine.take(large, None)
    present = len(np.unique(large["k"].to_numpy()))
    assert engine.nbytes == pytest.approx(rows * row.engine + present * row.key, rel=0.1)


@pytest.mark.parametrize("chunks", [2, 7, 40])
@pytest.mark.parametrize(
    ("ranges", "whole"),
    [(("1h",), False), (("9d",), False), (("1h", "5d", "20d"), False), (("4d",), True)],
)
def test_copied_rows_are_those_of_the_layout(
    chunks: int, ranges: tuple[str, ...], whole: bool
) -> None:
    """The layout of a run over even times sends as many rows as the estimate."""
    definition, newest = features(*ranges, by=(), whole=whole), 30 * DAY
    cuts = [newest * i // chunks for i in range(1, chunks)]
    lengths = {"1h": HOUR, "4d": 4 * DAY, "5d": 5 * DAY, "9d": 9 * DAY, "20d": 20 * DAY}
    spans = [
        span for one in ranges for span in time_spans(cuts, newest, lengths[one] - 1, whole=whole)
    ]
    edges = edges_of(cuts, spans)
    starts = [max(0, start) for start in segment_starts(edges)]
    ends = [*starts[1:], newest]
    goes = targets(edges, cuts, spans)
    sent = sum((b - a) * (len(to) - 1) for a, b, to in zip(starts, ends, goes, strict=True))
    estimated = halo_share(definition, table(10, 1).schema, chunks, 30)
    assert estimated == pytest.approx(sent / newest, rel=0.01, abs=1e-6)


def test_the_bottleneck_is_named() -> None:
    rows, plain = table(2_000, 50), {"rows": 1e12, "keys": 1e9, "days": 30}

    def lines(definition: Any, **more: float) -> str:
        return "\n".join(batch_lines(definition, rows, Scale.of({**plain, **more})))

    assert "24 TB in memory" in lines(features("1h"))
    assert "bottleneck: rows between Spark and Python" in lines(features("1h"))
    assert "cut into chunks of time" in lines(features("1h"), hot=0.01)
    uncut = sf.rolling(on="ts", by="k", every=3, n=sf.count().over(5))
    assert "bottleneck: the largest key" in lines(uncut, hot=0.01)
    stream = stream_lines(features("7d"), rows, Scale.of(plain), "final")
    assert any("shuffle partitions" in line for line in stream)
    assert "cache_bytes" in stream[-1]
    forever = sf.rolling(on="ts", by="k", n=sf.count().over(5))
    assert "no time removes rows" in stream_lines(forever, rows, Scale.of(plain), "final")[-1]
    assert len(sample_of(rows.schema)) == 20_000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"row": 5}, "no 'row'; did you mean 'rows'"),
        ({"keys": 5}, "needs the number of rows"),
        ({"rows": 0}, "must be a positive number, got 0"),
        ({"rows": 5, "days": "x"}, "must be a positive number, got 'x'"),
        ({"rows": 5, "hot": 2}, "a share hot of at most 1"),
        (5, "scale must be a dict"),
    ],
)
def test_a_wrong_scale_is_refused(given: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        Scale.of(given)
