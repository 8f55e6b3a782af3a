"""Choose the number of partitions from Spark's size estimate and the cores, without a job."""

from __future__ import annotations

import math
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Size:
    """What Spark tells about the size of data: asked once per run, without a job."""

    nbytes: int | None  # None if Spark has no estimate
    cores: int
    most: int  # partitions of a shuffle, by default
    inputs: int  # partitions of the RDDs that the data comes from; 0 without RDDs

    def partitions(self, asked: int | None) -> int:
        """Return the number of partitions for data with a key; `asked` overrides it.

        The default is one per 64 MB of Spark's estimate, at least one per core, and one in total
        below 1 MB. Without an estimate it is the number of input partitions, but at most
        `spark.sql.shuffle.partitions`.
        """
        if asked is not None:
            if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
                raise DefinitionError(f"partitions must be an integer of at least 1, got {asked!r}")
            return asked
        if self.nbytes is None:
            return max(self.cores, min(self.most, self.inputs or self.most))
        if self.nbytes < SMALL_BYTES:
            return 1
        return max(self.cores, math.ceil(self.nbytes / PARTITION_BYTES))

    def chunks(self, asked: int | None) -> int:
        """Return the number of chunks for data without a key; 1 if chunks would not be faster."""
        few = asked is None and self.cores < CHUNK_CORES
        small = self.nbytes is not None and not too_large(self.nbytes, 1)
        return 1 if few and small else self.partitions(asked)


def size_of(data: Any) -> Size:
    """Ask Spark's optimizer for the size of data.

    A join counts as at most four times its input, since Spark multiplies the sizes of both sides.
    """
    plan = data._jdf.queryExecution().optimizedPlan()
    leaves = _leaves(plan)
    nbytes = min(_bytes(plan), 4 * sum(map(_bytes, leaves)))
    rdds = [leaf for leaf in leaves if leaf.getClass().getSimpleName() == "LogicalRDD"]
    session = data.sparkSession
    return Size(
        None if nbytes >= UNKNOWN_BYTES else nbytes,
        int(session.sparkContext.defaultParallelism),
        int(session.conf.get("spark.sql.shuffle.partitions")),
        sum(int(leaf.rdd().getNumPartitions()) for leaf in rdds),
    )


def _bytes(plan: Any) -> int:
    return int(str(plan.stats().sizeInBytes()))


def _leaves(plan: Any) -> list[Any]:
    leaves = plan.collectLeaves()
    return [leaves.apply(i) for i in range(leaves.size())]
