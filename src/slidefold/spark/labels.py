"""Integers that Spark hashes to chosen partitions.

Spark sends a row of group g to the partition `pmod(murmur3(g), partitions)`. For one 32-bit integer
that hash is a bijection, so it can be inverted: the label of bucket i is the integer whose hash is
i, and bucket i lies on partition `i % partitions`. Labels do not depend on the number of
partitions, which a checkpoint pins and a session may have changed. `place` sends rows to partitions
in the same way, since `repartitionById` needs Spark 4.1.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from slidefold.spark.clock import literal

_MASK = 0xFFFFFFFF
_SEED = 42  # Spark's
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_M1, _M2 = 0x85EBCA6B, 0xC2B2AE35


def spark_hash(value: int) -> int:
    """Hash a 32-bit integer as Spark's `hash` does.

    >>> spark_hash(1)
    -559580957
    """
    k = value & _MASK
    k = _rotate(k * _C1 & _MASK, 15) * _C2 & _MASK
    h = (_rotate(_SEED ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4  # the length in bytes
    h ^= h >> 16
    h = h * _M1 & _MASK
    h ^= h >> 13
    h = h * _M2 & _MASK
    return _signed(h ^ h >> 16)


def label(bucket: int) -> int:
    """Return the integer whose hash is `bucket`.

    >>> [spark_hash(label(bucket)) for bucket in (0, 1, 2, 1000)]
    [0, 1, 2, 1000]
    """
    h = bucket & _MASK
    h ^= h >> 16
    h = h * pow(_M2, -1, 1 << 32) & _MASK
    h ^= h >> 13 ^ h >> 26
    h = h * pow(_M1, -1, 1 << 32) & _MASK
    h ^= h >> 16
    h ^= 4
    h = (h - 0xE6546B64) * pow(5, -1, 1 << 32) & _MASK
    k = _rotate(h, 32 - 13) ^ _SEED
    k = _rotate(k * pow(_C2, -1, 1 << 32) & _MASK, 32 - 15)
    return _signed(k * pow(_C1, -1, 1 << 32) & _MASK)


def place(data: DataFrame, partitions: int, number: Column, numbers: int) -> DataFrame:
    """Send each row to the partition `number % partitions`; numbers are less than `numbers`."""
    labels = fn.expr(literal([label(i) for i in range(numbers)]))
    return data.repartition(partitions, fn.element_at(labels, number + 1))


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _MASK


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value
