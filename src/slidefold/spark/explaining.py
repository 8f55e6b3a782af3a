"""Explain a run on Spark: partitions or chunks, scans of the input, rows that are copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from slidefold.definition.rolling import Rolling
from slidefold.live.status import WHEN
from slidefold.spark.batch import require_batch_options
from slidefold.spark.capacity import SAMPLE, Scale, batch_lines, sample_of, stream_lines
from slidefold.spark.keyless import Prepared, can_chunk, prepare, task_of, why_whole
from slidefold.spark.sizes import (
    CHUNK_CORES,
    Size,
    size_of,
    too_large,
)
from slidefold.spark.skew import share_of
from slidefold.spark.sql_windows import require_over
from slidefold.spark.stream import bucket_count, job_of
from slidefold.spark.types import arrow_schema, conform, result_schema

_BATCH_BYTES, _UNLIMITED = "spark.sql.execution.arrow.maxBytesPerBatch", 2**31 - 1
_WHOLE = "no key: one partition, 1 scan of the input"
# Seconds of one core to summarize, combine and fold a column of a chunk that has few rows: without
# Spark, 35 columns of seven operators over 53,000 rows in 16 chunks took 0.23 s.
_COLUMN_SECONDS = 0.0004
_WORDS = {
    "rows": "the few rows that matter replace the middle of each window",
    "state": "one folded state replaces the middle of each window",
    "apart": "chunks are cut where sessions end, so no row is copied",
    "whole": "all rows of its windows are copied, since its state cannot be split",
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
    """Explain how a definition would run, in lines; without a key this scans the data twice."""
    require_batch_options(presorted, partitions, spill, engine)
    given = arrow_schema(data.schema)
    result_schema(definition, given, types)  # raises what a run would raise
    if engine == "spark":
        require_over(definition, given)
        return ["Spark's own OVER, because of engine='spark'"]
    if presorted:
        return ["existing partitions (presorted=True), verified while they are read"]
    known = size_of(data)
    size, count = known.nbytes, known.partitions(partitions)
    if definition.by:
        return _keyed(definition, known, partitions, skew, spill)
    if not can_chunk(definition):
        return [f"{_WHOLE}, because {why_whole(definition)}"]
    if known.too_small(partitions):
        return [
            f"{_WHOLE}, because chunks of time would cost more than they save for so little data; "
            "set partitions= to use chunks"
        ]
    if count == 1:
        return [f"{_WHOLE}, because of partitions=1"]
    if (count := known.chunks(partitions)) == 1:
        return [
            f"{_WHOLE}, because chunks of time need three scans and a shuffle, which does not pay "
            f"off below {CHUNK_CORES} cores; set partitions= to use chunks"
        ]
    prepared = prepare(task_of(definition, data, types), count, size, known.least(partitions))
    if prepared is None:
        little = "there is so little data" if known.least(partitions) else "there is one time only"
        return [f"{_WHOLE}, because a first scan found that {little}: it is not cut"]
    return _chunks(definition, prepared[0])


def transport(data: DataFrame) -> list[str]:
    """Suggest a session setting that sends rows to Python faster."""
    if str(data.sparkSession.conf.get(_BATCH_BYTES)).rstrip("bB") == str(_UNLIMITED):
        return []
    return [
        f"hint: with {_BATCH_BYTES}={_UNLIMITED} Spark does not measure the size of each row that "
        "it sends to Python, which is faster if rows are small"
    ]


def explain_scale(definition: Rolling, data: DataFrame, scale: Any, emit: str) -> list[str]:
    """Estimate what a run over data of this kind needs at another scale.

    The rows of a batch are sampled; those of a stream are made up from their types.
    """
    size = Scale.of(scale)
    if data.isStreaming:
        lines = stream_lines(definition, sample_of(arrow_schema(data.schema)), size, emit)
    else:
        schema = arrow_schema(data.schema)
        sample = conform(data.limit(SAMPLE).toArrow(), schema)
        lines = batch_lines(definition, sample if len(sample) else sample_of(schema), size)
    return [f"at scale: {line}" for line in lines]


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
    """Explain how a definition would run over a stream, in lines, and warn of unbounded state.

    It accepts all options of `run`; the options in `_others` do not change the explanation.
    """
    count = bucket_count(definition, buckets)
    # Raise the errors that a run would raise.
    job_of(definition, arrow_schema(data.schema), count, emit, id, late, types=types)
    session: Any = data.sparkSession
    partitions = int(session.conf.get("spark.sql.shuffle.partitions"))
    lines = [
        "a stream; the state is a log of rows in RocksDB, one per bucket of keys",
        f"{count} bucket{'s' * (count > 1)} in {partitions} shuffle partitions",
        f"emit={emit!r}: {WHEN[emit]}",
        *_kept(definition, emit),
    ]
    if partitions > count:
        lines.append(
            f"warning: {partitions - count} partitions have no bucket, but each opens a state "
            "store in every batch: lower spark.sql.shuffle.partitions before the first start"
        )
    return lines


def _kept(definition: Rolling, emit: str) -> list[str]:
    windows, closed = definition.windows, definition.default_closed
    lines = [
        f"warning: the state is unbounded: {window.text(closed)} {window.unbounded}"
        for window in windows
        if window.unbounded
    ]
    if definition.slide is not None and definition.slide.counted:
        lines.append(
            "warning: the state is unbounded: every= counts the rows of each key, and keeps the "
            "count forever"
        )
    if emit == "change":
        lines.append(
            "warning: the state is unbounded: emit='change' keeps the last result of each key "
            "forever"
        )
    if not lines:
        kept = ", ".join(window.retention() for window in windows)
        lines.append(f"the watermark removes rows from the state: {kept} are kept")
    return lines


def _keyed(
    definition: Rolling, known: Size, partitions: int | None, skew: Any, spill: bool | None
) -> list[str]:
    size, count = known.nbytes, known.partitions(partitions)
    about = "an unknown size" if size is None else f"about {size / 1e6:.1f} MB"
    sorts = too_large(size, count) if spill is None else spill
    adaptive = known.adaptive and partitions is None
    into = "as many partitions as adaptive execution chooses" if adaptive else f"{count} partitions"
    lines = [
        f"by {', '.join(definition.by)} into {into}, {about} in total, 1 scan of the input",
        "sorted by Spark, which spills to disk, and folded batch by batch"
        if sorts
        else "sorted and folded in memory, one partition at a time",
    ]
    hot = share_of(skew, size)
    if hot is None:
        lines.append("no search for hot keys: skew='off', or too little data to be worth it")
    elif known.too_small(partitions) or not can_chunk(definition):
        why = "too little data" if can_chunk(definition) else why_whole(definition)
        lines.append(f"hot keys are not cut into chunks of time: {why}")
    else:
        lines.append(
            f"keys with more than {hot[0]:.1%} of the rows are cut into chunks of time; a scan of "
            f"the keys of {hot[1]:.0%} of the rows finds them, and two scans when run is called "
            "find where to cut all of them"
        )
        if count > 1:
            lines.append(f"if there are hot keys, {_fixed_cost(definition, 3, count)}")
    return lines


def _fixed_cost(definition: Rolling, jobs: int, chunks: int) -> str:
    """Tell what chunks cost, however few rows there are."""
    columns = len(definition.leaves)
    return (
        f"fixed cost: {jobs} jobs of Spark, {chunks} tasks, and about "
        f"{chunks * columns * _COLUMN_SECONDS:.2g} s of one core for {columns} "
        f"column{'s' * (columns > 1)} in {chunks} chunks"
    )


def _chunks(definition: Rolling, prepared: Prepared) -> list[str]:
    layout = prepared.layout
    counts = layout.counts
    assert counts is not None
    rows, own, sent = sum(counts), layout.own_counts(), layout.copied()
    scans = 4 if "apart" in layout.mode.values() else 3
    lines = [
        f"no key: {layout.chunks} chunks of time with {min(own)} to {max(own)} rows each, {scans} "
        "scans of the input",
        f"halo: {sent} rows are also sent to another chunk, {sent / rows:.1%} of {rows}",
        _fixed_cost(definition, scans, layout.chunks),
    ]
    lines += [
        f"{'.'.join(leaf.path)}: {_WORDS[layout.mode[leaf.path]]}" for leaf in definition.leaves
    ]
    return lines
