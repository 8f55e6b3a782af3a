"""What a run on Spark would do: partitions or chunks, scans of the input, rows that travel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from slidefold.definition.rolling import Rolling
from slidefold.live.live import WHEN
from slidefold.spark.keyless import Chunking, Prepared, can_chunk, prepare, why_whole
from slidefold.spark.sizes import (
    CHUNK_CORES,
    chunks_for,
    estimated_bytes,
    partitions_for,
    too_large,
)
from slidefold.spark.skew import share_of
from slidefold.spark.sql_windows import require_over
from slidefold.spark.stream import bucket_count, job_of
from slidefold.spark.types import arrow_schema, result_schema
from slidefold.spark.worker import Shipped

_BATCH_BYTES, _UNLIMITED = "spark.sql.execution.arrow.maxBytesPerBatch", 2**31 - 1
_WHOLE = "no key: one partition, 1 scan of the input"
_WORDS = {
    "rows": "the few rows that matter stand for its middle",
    "state": "one folded state stands for its middle",
    "apart": "cuts are where sessions end, so that no row travels twice",
    "whole": "all rows of its windows travel, since its state is not split",
}


def explain_batch(
    definition: Rolling,
    data: DataFrame,
    *,
    partitions: int | None = None,
    types: Any = None,
    skew: Any = "auto",
    presorted: bool = False,
    spill: bool | None = None,
    engine: str = "native",
) -> list[str]:
    """Say in lines how a definition would run; without a key this scans the data twice."""
    given = arrow_schema(data.schema)
    made = result_schema(definition, given, types)
    if engine == "spark":
        require_over(definition, given)
        return ["Spark's own OVER, because engine='spark' asked for it"]
    if presorted:
        return ["partitions as they are (presorted=True), verified while they are read"]
    size, count = estimated_bytes(data), partitions_for(data, partitions)
    if definition.by:
        return _keyed(definition, count, size, skew, spill)
    if not can_chunk(definition):
        return [f"{_WHOLE}, because {why_whole(definition)}"]
    if count == 1:
        return [f"{_WHOLE}, because it is small"]
    if (count := chunks_for(data, partitions)) == 1:
        return [
            f"{_WHOLE}, because chunks of time take three and a shuffle, which fewer than "
            f"{CHUNK_CORES} cores do not make up for; partitions= asks for them"
        ]
    numbered = data.toDF(*[f"c{i}" for i in range(len(given))])
    task = Chunking(definition, numbered, given, made, Shipped(definition))
    prepared = prepare(task, count, size)
    if prepared is None:
        return [f"{_WHOLE}, because there is no time to cut at"]
    return _chunks(definition, prepared)


def transport(data: DataFrame) -> list[str]:
    """Say what the session could do to bring rows to Python faster."""
    if str(data.sparkSession.conf.get(_BATCH_BYTES)).rstrip("bB") == str(_UNLIMITED):
        return []
    return [
        f"hint: with {_BATCH_BYTES}={_UNLIMITED} Spark does not measure each row on its way to "
        "Python, which is faster where rows are small"
    ]


def explain_stream(
    definition: Rolling,
    data: DataFrame,
    *,
    emit: str = "final",
    id: str | Sequence[str] = (),
    late: str = "drop",
    buckets: int | None = None,
    types: Any = None,
    **_others: Any,
) -> list[str]:
    """Say in lines how a definition would run over a stream, and warn of state without a bound.

    It takes all options of `run`; the others change nothing of what is said.
    """
    count = bucket_count(definition, buckets)
    # It refuses what a run would refuse.
    job_of(definition, arrow_schema(data.schema), count, emit, id, late, types=types)
    session: Any = data.sparkSession
    partitions = int(session.conf.get("spark.sql.shuffle.partitions"))
    lines = [
        "a stream; state is a log of rows in RocksDB, by bucket of keys",
        f"{count} bucket{'s' * (count > 1)} in {partitions} shuffle partitions",
        f"emit={emit!r}: {WHEN[emit]}",
        *_kept(definition, emit),
    ]
    if partitions > count:
        lines.append(
            f"warning: {partitions - count} partitions have no bucket, and each costs a store in "
            "every batch: set spark.sql.shuffle.partitions before the first start"
        )
    return lines


def _kept(definition: Rolling, emit: str) -> list[str]:
    windows, closed = definition.windows, definition.default_closed
    lines = [
        f"warning: state has no bound: {window.text(closed)} {window.unbounded}"
        for window in windows
        if window.unbounded
    ]
    if definition.slide is not None and definition.slide.counted:
        lines.append(
            "warning: state has no bound: every counts the rows of each key, and needs one for good"
        )
    if emit == "change":
        lines.append(
            "warning: state has no bound: emit='change' keeps the last result of each key for good"
        )
    if not lines:
        kept = ", ".join(window.retention() for window in windows)
        lines.append(f"rows leave the state as the watermark moves: {kept} are kept")
    return lines


def _keyed(
    definition: Rolling, count: int, size: int | None, skew: Any, spill: bool | None
) -> list[str]:
    known = "an unknown size" if size is None else f"about {size / 1e6:.1f} MB"
    sorts = too_large(size, count) if spill is None else spill
    lines = [
        f"by {', '.join(definition.by)} into {count} partitions of {known} in all, 1 scan of the "
        "input",
        "sorted by Spark, which spills, and folded batch by batch"
        if sorts
        else "sorted and folded in memory, a partition at a time",
    ]
    hot = share_of(skew, size)
    if hot is None:
        lines.append("hot keys are not looked for: skew='off', or too little data to be worth it")
    else:
        lines.append(
            f"keys with more than {hot[0]:.1%} of the rows are cut into chunks of time; a scan of "
            f"{hot[1]:.0%} of the keys finds them"
        )
    return lines


def _chunks(definition: Rolling, prepared: Prepared) -> list[str]:
    layout = prepared.layout
    counts = layout.counts
    assert counts is not None
    rows, own = sum(counts), layout.own_counts()
    sent = sum(n * (len(goes) - 1) for n, goes in zip(counts, layout.targets(), strict=True))
    scans = 4 if "apart" in layout.mode.values() else 3
    lines = [
        f"no key: {layout.chunks} chunks of time with {min(own)} to {max(own)} rows each, {scans} "
        "scans of the input",
        f"halo: {sent} rows travel to another chunk too, {sent / rows:.1%} of {rows}",
    ]
    lines += [
        f"{'.'.join(leaf.path)}: {_WORDS[layout.mode[leaf.path]]}" for leaf in definition.leaves
    ]
    return lines
