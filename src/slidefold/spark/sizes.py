"""Choose the number of partitions from Spark's size estimate and the cores, without a job."""

from __future__ import annotations

import math
from typing import Any

from slidefold.errors import DefinitionError

# A worker holds a partition, its order and its results: about 3 times the partition's size.
PARTITION_BYTES = 64 << 20
# For less data, starting a task on every core costs more than it saves.
SMALL_BYTES = 1 << 20
# Spark reports 8 EB for an unknown size, and the product of both sides for a join: not estimates.
UNKNOWN_BYTES = 1 << 42

# The memory that a worker may use; Spark sorts larger partitions, and spills to disk.
MEMORY_BYTES = 1 << 30


# Chunks of time need three scans and a shuffle, about three times the work of one worker without a
# shuffle (`no key` in benchmarks/figures/spark_batch.py): with fewer cores they are not faster.
CHUNK_CORES = 4


def too_large(size: int | None, partitions: int) -> bool:
    """Tell whether a partition's rows, order and results would exceed a worker's memory."""
    return size is not None and 3 * size / partitions > MEMORY_BYTES


def partitions_for(data: Any, asked: int | None) -> int:
    """Return the number of partitions for data with a key; `asked` overrides it.

    The default is one per 64 MB of Spark's estimate, at least one per core, and one in total below
    1 MB. Without an estimate it is the number of input partitions, but at most
    `spark.sql.shuffle.partitions`.
    """
    if asked is not None:
        if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
            raise DefinitionError(f"partitions must be an integer of at least 1, got {asked!r}")
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
    """Return the number of chunks for data without a key; 1 if chunks would not be faster."""
    count = partitions_for(data, asked)
    size = estimated_bytes(data)
    few = asked is None and cores_of(data) < CHUNK_CORES
    return 1 if few and size is not None and not too_large(size, 1) else count


def estimated_bytes(data: Any) -> int | None:
    """Return the estimate of Spark's optimizer in bytes; None if it has none.

    A join counts as at most four times its input, since Spark multiplies the sizes of both sides.
    """
    plan = data._jdf.queryExecution().optimizedPlan()
    read = sum(_bytes(leaf) for leaf in _leaves(plan))
    size = min(_bytes(plan), 4 * read)
    return None if size >= UNKNOWN_BYTES else size


def _bytes(plan: Any) -> int:
    return int(str(plan.stats().sizeInBytes()))


def _leaves(plan: Any) -> list[Any]:
    leaves = plan.collectLeaves()
    return [leaves.apply(i) for i in range(leaves.size())]


def _input_partitions(data: Any) -> int:
    """Return the number of partitions of the RDDs that the data comes from; 0 without RDDs."""
    leaves = _leaves(data._jdf.queryExecution().optimizedPlan())
    known = [leaf for leaf in leaves if leaf.getClass().getSimpleName() == "LogicalRDD"]
    return sum(int(leaf.rdd().getNumPartitions()) for leaf in known)


def cores_of(data: Any) -> int:
    """Return the number of tasks that Spark runs at once."""
    return int(data.sparkSession.sparkContext.defaultParallelism)
