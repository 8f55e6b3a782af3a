"""How many partitions: from Spark's own estimate of the data and the cores, without a job."""

from __future__ import annotations

import math
from typing import Any

from slidefold.errors import DefinitionError

# A worker holds a partition, its order and its results: about 3 times its size in memory.
PARTITION_BYTES = 64 << 20
# Below this much data a core each costs more to start than it saves.
SMALL_BYTES = 1 << 20
# Spark says 8 EB where it does not know; joins multiply their sides. Both are no estimate.
UNKNOWN_BYTES = 1 << 42

# A worker may take this much; Spark itself sorts what is larger, and spills.
MEMORY_BYTES = 1 << 30


# Chunks of time scan the input three times and shuffle it, about three times the work of one worker
# without a shuffle (`no key` in benchmarks/figures/spark_batch.py): fewer cores gain nothing.
CHUNK_CORES = 4


def too_large(size: int | None, partitions: int) -> bool:
    """Tell whether partitions would not fit in a worker's memory: rows, order and results."""
    return size is not None and 3 * size / partitions > MEMORY_BYTES


def partitions_for(data: Any, asked: int | None) -> int:
    """Return the number of partitions for data by key; `asked` is taken as it is.

    One for each 64 MB that Spark estimates, at least one a core; one for less than 1 MB. Where
    Spark has no estimate, as many as the input has, but at most `spark.sql.shuffle.partitions`.
    """
    if asked is not None:
        if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
            raise DefinitionError(f"partitions is a whole number from 1 on, got {asked!r}")
        return asked
    size = estimated_bytes(data)
    cores = cores_of(data)
    if size is None:
        most = int(data.sparkSession.conf.get("spark.sql.shuffle.partitions"))
        return max(cores, min(most, _input_partitions(data) or most))
    if size < SMALL_BYTES:
        return 1
    return max(cores, math.ceil(size / PARTITION_BYTES))


def chunks_for(data: Any, asked: int | None) -> int:
    """Return the number of chunks of time for data without a key; one if one worker is as good."""
    count = partitions_for(data, asked)
    size = estimated_bytes(data)
    few = asked is None and cores_of(data) < CHUNK_CORES
    return 1 if few and size is not None and not too_large(size, 1) else count


def estimated_bytes(data: Any) -> int | None:
    """Return what Spark's optimizer estimates; None where that is no estimate.

    A join is taken for at most four times what it reads: Spark multiplies its sides.
    """
    plan = data._jdf.queryExecution().optimizedPlan()
    read = sum(_bytes(leaf) for leaf in _leaves(plan))
    size = min(_bytes(plan), 4 * read)
    return None if size >= UNKNOWN_BYTES else size


def _bytes(plan: Any) -> int:
    return int(str(plan.stats().sizeInBytes()))


def _leaves(plan: Any) -> list[Any]:
    found = plan.collectLeaves()
    return [found.apply(i) for i in range(found.size())]


def _input_partitions(data: Any) -> int:
    """Return how many partitions the RDDs have that the data comes from; 0 if there are none."""
    leaves = _leaves(data._jdf.queryExecution().optimizedPlan())
    known = [leaf for leaf in leaves if leaf.getClass().getSimpleName() == "LogicalRDD"]
    return sum(int(leaf.rdd().getNumPartitions()) for leaf in known)


def cores_of(data: Any) -> int:
    """Return how many tasks Spark runs at once."""
    return int(data.sparkSession.sparkContext.defaultParallelism)
