"""Hot keys: keys that hold so many rows that one worker should not have them all."""

from __future__ import annotations

from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import DataType, DateType, TimestampNTZType, TimestampType

from slidefold.errors import DefinitionError
from slidefold.spark.clock import steps
from slidefold.spark.sizes import PARTITION_BYTES

# So many keys at most are cut: each takes scans of its own.
MOST_KEYS = 8
SAMPLE = 0.01
# A key is hot by itself if it fills so many partitions.
HOT_PARTITIONS = 4


def share_of(skew: Any, size: int | None) -> tuple[float, float] | None:
    """Return the share of the rows that makes a key hot, and the share of rows to look at.

    None if nobody should look: that costs a scan of the keys, which small data is not worth.
    """
    if skew == "off":
        return None
    if skew == "auto":
        limit = HOT_PARTITIONS * PARTITION_BYTES
        return None if size is None or size < 2 * limit else (limit / size, SAMPLE)
    if isinstance(skew, bool) or not isinstance(skew, int | float) or not 0 < skew < 1:
        raise DefinitionError(
            f"skew is 'auto', 'off' or a share of the rows between 0 and 1, got {skew!r}"
        )
    return float(skew), 1.0


def hot_keys(data: DataFrame, keys: list[str], share: float, sample: float) -> list[Column]:
    """Return a condition for each hot key, true for its rows and false for all others."""
    kinds = [data.schema[name].dataType for name in keys]
    said = [_exact(name, kind).alias(name) for name, kind in zip(keys, kinds, strict=True)]
    seen = data.select(said)
    if sample < 1:
        seen = seen.sample(fraction=sample, seed=1)
    counts = seen.groupBy(keys).count()
    most = counts.orderBy(fn.desc("count")).limit(MOST_KEYS)
    found = most.crossJoin(counts.agg(fn.sum("count").alias("rows"))).collect()
    return [
        reduce(
            lambda a, b: a & b,
            (
                _exact(name, kind).eqNullSafe(fn.lit(row[i]))
                for i, (name, kind) in enumerate(zip(keys, kinds, strict=True))
            ),
        )
        for row in found
        if row["count"] > share * row["rows"]
    ]


def _exact(name: str, kind: DataType) -> Column:
    """Return a key as a value that survives the way to the driver: times do as numbers."""
    if isinstance(kind, DateType | TimestampType | TimestampNTZType):
        return steps(name, kind)
    return fn.col(name)
