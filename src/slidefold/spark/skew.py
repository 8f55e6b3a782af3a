"""Find hot keys, which have too many rows for one worker."""

from __future__ import annotations

from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

from slidefold.errors import DefinitionError
from slidefold.spark.clock import steps
from slidefold.spark.sizes import PARTITION_BYTES

# At most this many keys are cut into chunks: each needs its own scans.
MOST_KEYS = 8
SAMPLE = 0.01
# With skew="auto" a key is hot if it fills this many partitions.
HOT_PARTITIONS = 4


def share_of(skew: Any, size: int | None) -> tuple[float, float] | None:
    """Return the share of rows that makes a key hot, and the share of rows to sample.

    Return None to skip the search, which costs a scan of the keys and is not worth it for small
    data.
    """
    if skew == "off":
        return None
    if skew == "auto":
        limit = HOT_PARTITIONS * PARTITION_BYTES
        return None if size is None or size < 2 * limit else (limit / size, SAMPLE)
    if isinstance(skew, bool) or not isinstance(skew, int | float) or not 0 < skew < 1:
        raise DefinitionError(
            f"skew must be 'auto', 'off' or a share of the rows between 0 and 1, got {skew!r}"
        )
    return float(skew), 1.0


def hot_keys(data: DataFrame, keys: list[str], share: float, sample: float) -> list[Column]:
    """Return one condition per hot key, which is true for the rows of that key only."""
    kinds = [data.schema[name].dataType for name in keys]
    values = [_exact(name, kind).alias(name) for name, kind in zip(keys, kinds, strict=True)]
    seen = data.select(values)
    if sample < 1:
        seen = seen.sample(fraction=sample, seed=1)
    counts = seen.groupBy(keys).count()
    most = counts.orderBy(fn.desc("count")).limit(MOST_KEYS)
    candidates = most.crossJoin(counts.agg(fn.sum("count").alias("rows"))).collect()
    return [
        reduce(
            lambda a, b: a & b,
            (
                _exact(name, kind).eqNullSafe(fn.lit(row[i]))
                for i, (name, kind) in enumerate(zip(keys, kinds, strict=True))
            ),
        )
        for row in candidates
        if row["count"] > share * row["rows"]
    ]


def _exact(name: str, kind: DataType) -> Column:
    """Return a key in a form that the driver receives exactly: times as integers."""
    if isinstance(kind, DateType | TimestampType | TimestampNTZType):
        return steps(name, kind)
    return fn.col(name)
