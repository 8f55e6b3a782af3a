"""Estimate what a run needs at another scale: bytes, copied rows, memory, state, the bottleneck.

The bytes of a row are measured in this process, on a sample, with the code that a run uses: Arrow
for memory, the log for state, and Spark's row format with its compression for shuffles. This module
does not depend on Spark. `slidefold bench capacity` compares the estimates with a real run.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.chunked import modes
from slidefold.columns.layout import can_cut
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted, reach_back
from slidefold.errors import DefinitionError, nearest
from slidefold.live.engine import Engine
from slidefold.spark.log import DictStore, Log

# As in sizes.py, which needs pyspark: the size of a partition, and what a worker needs for it.
PARTITION_BYTES, MEMORY_FACTOR = 64 << 20, 3
SAMPLE = 20_000  # rows that are measured
_SHUFFLED = 4_000  # rows of the sample that are written in Spark's format
_BLOCK, _HEADER = 32 << 10, 21  # of Spark's LZ4 streams
_CHUNKS = 1_000_000  # chunks that are laid out at most
_DAY = 86_400.0


@dataclass(frozen=True)
class Scale:
    """The size to estimate for. Times are in microseconds of one core per row."""

    rows: float
    keys: float = 1.0
    days: float = 1.0
    cores: float = 8.0
    hot: float = 0.0  # the share of the rows that the largest key has
    batch: float = 60.0  # seconds between two micro-batches
    delay: float = 0.0  # seconds that the watermark is behind
    # 5M rows of three columns on two cores: an identity took 3.0 to 3.8 s, and ours 0.2 to 0.7 s
    # more. `slidefold bench capacity` measures both on your machine.
    transport: float = 1.4
    fold: float = 0.2

    @classmethod
    def of(cls, given: object) -> Scale:
        """Read the option `scale=`."""
        names = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping):
            raise DefinitionError(f'scale must be a dict such as {{"rows": 1e9}}, got {given!r}')
        for name, value in given.items():
            if name not in names:
                hint = nearest(name, names) or f"; it has {', '.join(names)}"
                raise DefinitionError(f"scale has no {name!r}{hint}")
            number = isinstance(value, Real) and not isinstance(value, bool)
            if not number or not 0 <= float(value) < math.inf or (name == "rows" and value <= 0):
                raise DefinitionError(f"scale[{name!r}] must be a positive number, got {value!r}")
        if "rows" not in given:
            raise DefinitionError('scale needs the number of rows: scale={"rows": 1e9}')
        scale = cls(**{name: float(value) for name, value in given.items()})
        if not scale.days or scale.keys < 1 or scale.cores < 1 or scale.hot > 1:
            raise DefinitionError(
                "scale needs days above 0, at least one key and core, and a share hot of at most 1"
            )
        return scale


@dataclass(frozen=True)
class RowBytes:
    """The bytes of one row."""

    memory: float  # as Arrow
    shuffle: float  # in a shuffle file
    log: float  # in the log of a stream
    engine: float  # in the engine of a stream
    key: float  # of one key in the engine


def measured(definition: Rolling, sample: Any) -> RowBytes:
    """Measure a sample of the input rows."""
    rows = max(len(sample), 1)
    store = DictStore()
    log = Log(store, sample.schema, "")
    written = log.append(sample, definition.on, None) if len(sample) else 0
    engine = _engine_bytes(definition, _with_keys(definition, sample, many=False))
    many = _engine_bytes(definition, _with_keys(definition, sample, many=True))
    return RowBytes(
        sample.nbytes / rows,
        shuffle_bytes(sample) / rows,
        written / rows,
        engine / rows,
        max(many - engine, 0) / rows,
    )


def _engine_bytes(definition: Rolling, rows: Any) -> int:
    engine = Engine(definition, rows.schema, "arrival" if definition.slide is None else "final")
    if len(rows):
        engine.take(rows, None)
    return engine.nbytes


def _with_keys(definition: Rolling, sample: Any, *, many: bool) -> Any:
    """Return the sample with one key, or with a key per row; keys are integers or strings."""
    for name in definition.by:
        place = sample.schema.get_field_index(name)
        field = sample.schema.field(place)
        numbers = pa.array(range(len(sample)) if many else [0] * len(sample), pa.int64())
        if pa.types.is_string(field.type) or pa.types.is_integer(field.type):
            sample = sample.set_column(place, field, numbers.cast(field.type, safe=False))
    return sample


def shuffle_bytes(sample: Any) -> float:
    """Return the bytes of rows in a shuffle file: Spark's rows, compressed in blocks.

    >>> 2 < shuffle_bytes(pa.table({"a": range(4000)})) / 4000 < 20  # 20 before compression
    True
    """
    few = sample.slice(0, _SHUFFLED)
    data = b"".join(_rows(few))
    codec = pa.Codec("lz4_raw")
    blocks = [data[at : at + _BLOCK] for at in range(0, len(data), _BLOCK)]
    packed = sum(min(len(codec.compress(block)), len(block)) + _HEADER for block in blocks)
    return packed * len(sample) / max(len(few), 1)


def _rows(table: Any) -> Iterator[bytes]:
    """Yield rows as Spark writes them: size, null bits, 8 bytes per column, long values."""
    columns = [_words(column.combine_chunks()) for column in table.columns]
    bits = 8 * -(-len(columns) // 64)
    fixed = bits + 8 * len(columns)
    for values in zip(*columns, strict=True):
        tail, words = b"", []
        for value in values:
            if isinstance(value, bytes):
                words.append((fixed + len(tail)) << 32 | len(value))
                tail += value + bytes(-len(value) % 8)
            else:
                words.append(value)
        head = struct.pack(f"<{len(words)}Q", *words)
        yield struct.pack(">i", fixed + len(tail)) + bytes(bits) + head + tail


def _words(column: Any) -> list[Any]:
    """Return the values of a column as numbers of 64 bits, or as bytes if they are long."""
    kind, types = column.type, pa.types
    if types.is_floating(kind):
        floats = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        return [int(word) for word in floats.view(np.uint64)]
    if types.is_boolean(kind) or types.is_integer(kind):
        return [int(value or 0) & (2**64 - 1) for value in column.to_pylist()]
    if types.is_temporal(kind):
        whole = column.cast(pa.int32() if types.is_date32(kind) else pa.int64())
        return [int(value or 0) & (2**64 - 1) for value in whole.to_pylist()]
    if types.is_string(kind) or types.is_large_string(kind):
        return [(value or "").encode() for value in column.to_pylist()]
    if types.is_binary(kind):
        return [value or b"" for value in column.to_pylist()]
    if types.is_decimal(kind):
        return [bytes(16) if value is None else str(value).encode() for value in column.to_pylist()]
    return [repr(value).encode() for value in column.to_pylist()]  # nested: about that long


def sample_of(schema: Any, rows: int = SAMPLE) -> Any:
    """Return random rows of a schema, for a source that cannot be read twice."""
    draw = np.random.default_rng(1)
    columns = []
    for field in schema:
        types = pa.types
        numbers = draw.integers(0, 100, rows)
        if types.is_timestamp(field.type):
            times = 1_767_225_600_000_000 + np.sort(draw.integers(0, 3_600_000_000, rows))
            column = pa.array(times).cast(pa.timestamp("us", field.type.tz)).cast(field.type)
        elif types.is_floating(field.type):
            column = pa.array(draw.normal(size=rows)).cast(field.type)
        elif types.is_string(field.type):
            column = pa.array([f"value {number}" for number in draw.integers(0, 10**6, rows)])
        elif types.is_integer(field.type):
            column = pa.array(numbers).cast(field.type)
        elif types.is_boolean(field.type):
            column = pa.array(numbers > 50)
        else:
            column = pa.nulls(rows, field.type)
        columns.append(column)
    return pa.table(columns, schema=pa.schema([field.with_nullable(True) for field in schema]))


def batch_lines(definition: Rolling, sample: Any, scale: Scale) -> list[str]:
    """Estimate a batch run."""
    row = measured(definition, sample)
    total = scale.rows * row.memory
    partitions = max(math.ceil(scale.cores), math.ceil(total / PARTITION_BYTES))
    lines = [f"{_number(scale.rows)} rows of {row.memory:.0f} bytes: {_bytes(total)} in memory"]
    copied, sent, scans = 0.0, scale.rows, 1
    largest, cuts = 1 / partitions, can_cut(definition)
    if definition.by:
        lines.append(
            f"{partitions:,} partitions by key, {_number(scale.rows / scale.keys)} rows per key"
        )
        if scale.hot > 4 / partitions and cuts:
            lines.append("the largest key is cut into chunks of time (skew='auto')")
        else:
            largest = max(largest, scale.hot)
    elif cuts:
        copied = scale.rows * halo_share(definition, sample.schema, partitions, scale.days)
        lines.append(
            f"{partitions:,} chunks of time; {_number(copied)} rows are copied as halo, "
            f"{copied / scale.rows:.2f} per row"
        )
        sent, scans = scale.rows + copied, 3
    else:
        partitions, largest, sent = 1, 1.0, 0.0
        lines.append("one partition, because the definition cannot be cut into chunks of time")
    memory = MEMORY_FACTOR * largest * total * (1 + copied / scale.rows)
    lines += [
        f"shuffle: {_bytes(sent * row.shuffle)} written, {row.shuffle:.1f} bytes per row",
        f"memory of the largest task: {_bytes(memory)}",
    ]
    transport = scans * scale.rows * scale.transport / 1e6
    fold = (scale.rows + copied) * scale.fold / 1e6
    cores = min(scale.cores, partitions)
    slowest = largest * (scale.rows + copied) * (scale.transport + scale.fold) / 1e6
    seconds = max((transport + fold) / cores, slowest)
    lines.append(
        f"about {_time(seconds)} on {cores:,.0f} cores: {_time(transport)} of one core to move "
        f"rows between Spark and Python, {_time(fold)} to sort and fold"
    )
    if memory > 1 << 30 and largest > 1 / partitions:
        name = "the largest key: one task has all its rows; it spills, and others wait for it"
    elif slowest > (transport + fold) / cores:
        name = "the largest partition: other cores wait for it"
    else:
        name = "rows between Spark and Python" if transport > fold else "sorting and folding"
    return [*lines, f"bottleneck: {name}"]


def stream_lines(definition: Rolling, sample: Any, scale: Scale, emit: str) -> list[str]:
    """Estimate a stream."""
    row = measured(definition, sample)
    rate = scale.rows / (scale.days * _DAY)
    clock, _ = counted(definition.on, pa.array([], sample.schema.field(definition.on).type))
    reach = reach_back(definition.windows, clock)
    log = rate * scale.batch * row.log
    lines = [
        f"{_number(rate)} rows per second, {_number(rate * scale.batch)} per micro-batch",
        f"log: {_bytes(log)} written per micro-batch, {row.log:.1f} bytes per row",
    ]
    busy = rate * (scale.transport + scale.fold) / 1e6
    if reach is None or emit == "change":
        return [
            *lines,
            f"state: at least {_bytes(scale.keys * row.log)}, and unbounded",
            "bottleneck: the state, since no time removes rows from it",
        ]
    assert clock.unit is not None
    held = rate * (reach * clock.unit / 1e9 + scale.delay + scale.batch)
    memory = held * row.engine + min(held, scale.keys) * row.key
    partitions = max(1, math.ceil(2 * busy))
    buckets = max(partitions, math.ceil(memory / PARTITION_BYTES)) if definition.by else 1
    lines += [
        f"state: {_number(held)} rows, {_bytes(held * row.log)} in RocksDB, "
        f"{_bytes(held * row.log / scale.keys)} per key",
        f"engines: {_bytes(memory)} in all workers, {row.engine:.0f} bytes per row and "
        f"{row.key:.0f} per key; "
        f"{_bytes(memory / buckets)} per bucket",
        f"choose buckets={buckets} and {min(partitions, buckets)} shuffle partitions; the rows "
        f"keep {busy:.2f} cores busy",
    ]
    if busy > min(scale.cores, buckets):
        name = "rows between Spark and Python: there are too few cores for the rate"
    elif memory > scale.cores * (512 << 20):
        name = "memory of the engines: those above cache_bytes are rebuilt from the log"
    else:
        name = "none: Spark's fixed cost per micro-batch dominates"
    return [*lines, f"bottleneck: {name}"]


def halo_share(definition: Rolling, schema: Any, chunks: int, days: float) -> float:
    """Return how many copies of a row are sent as halo, if rows are spread evenly over time.

    A chunk needs the rows in which its windows start, and all rows of a window whose operator has
    no summary. Windows of rows are not counted.
    """
    clock, _ = counted(definition.on, pa.array([], schema.field(definition.on).type))
    laid = min(chunks, _CHUNKS)
    unit = 1 if clock.unit is None else clock.unit
    length = days * _DAY * 1e9 / unit
    cuts = np.linspace(0.0, length, laid + 1)
    own, end = cuts[1:-1], cuts[2:]
    mode = modes(definition, schema)
    whole = {leaf.window for leaf in definition.leaves if mode[leaf.path] == "whole"}
    reaches = [
        (reach[0], window in whole)
        for window in definition.windows
        if (reach := window.reach(clock)) is not None
    ]
    copied, done = 0.0, np.zeros(len(own))
    for oldest, all_rows in sorted(reaches, reverse=True):  # the halo that starts first comes first
        low = np.maximum(np.maximum(own - oldest, 0.0), done)
        high = own if all_rows else np.clip(end - oldest, 0.0, own)
        copied += float(np.maximum(high - low, 0.0).sum())
        done = np.maximum(done, high)
    return copied / length


def _number(value: float) -> str:
    for size, word in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {word}"
    return f"{value:.3g}"


def _bytes(value: float) -> str:
    return f"{_number(value)}B" if value >= 1000 else f"{value:.0f} B"


def _time(seconds: float) -> str:
    for size, word in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {word}"
    return f"{seconds:.1f} seconds"
