"""Choose the number of partitions from the size of the data and the cores.

Spark estimates files by their bytes on disk. A well compressed file has many more rows than its
bytes suggest, so the rows of some files are counted, from their footers where that needs no job.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructType,
)

from slidefold.errors import DefinitionError
from slidefold.spark.compat import is_connect

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

# Rows are counted in at most this many files, spread over all of them.
SAMPLED_FILES = 16
_COUNTED = {".parquet": "parquet", ".orc": "orc"}
_PACKED = (".gz", ".bz2", ".zst", ".xz", ".lz4", ".snappy", ".deflate")
# Text that is compressed to less than this share is rare.
_PACKED_FACTOR = 8
# Bytes of one value of a type whose values differ in size; lists and maps hold a few of them.
_LONG_VALUE, _ITEMS = 24, 4


def too_large(size: int | None, partitions: int) -> bool:
    """Tell whether a partition's rows, order and results would exceed a worker's memory."""
    return size is not None and 3 * size / partitions > MEMORY_BYTES


@dataclass(frozen=True)
class Size:
    """The known size of data: asked once per run."""

    nbytes: int | None  # None if there is no estimate
    cores: int
    most: int  # partitions of a shuffle, by default
    inputs: int  # partitions of the RDDs that the data comes from; 0 without RDDs

    @property
    def adaptive(self) -> bool:
        """Whether nothing is known, so that Spark's adaptive execution chooses the partitions."""
        return self.nbytes is None and not self.inputs

    def plus(self, other: Size) -> Size:
        """Return the size of two inputs in one job; it is unknown if one of them is."""
        known = self.nbytes is not None and other.nbytes is not None
        nbytes = (self.nbytes or 0) + (other.nbytes or 0) if known else None
        return Size(nbytes, self.cores, self.most, self.inputs + other.inputs)

    def partitions(self, asked: int | None) -> int:
        """Return the number of partitions for data with a key; `asked` overrides it.

        The default is one per 64 MB of the estimate, at least one per core, and one in total
        below 1 MB. Without an estimate it is the number of input partitions, but at most
        `spark.sql.shuffle.partitions`.
        """
        if asked is not None:
            if isinstance(asked, bool) or not isinstance(asked, int) or not 1 <= asked < 1 << 31:
                raise DefinitionError(
                    f"partitions must be an integer from 1 to 2**31 - 1, got {asked!r}"
                )
            return asked
        if self.nbytes is None:
            return max(self.cores, min(self.most, self.inputs or self.most))
        if self.nbytes < SMALL_BYTES:
            return 1
        return max(self.cores, math.ceil(self.nbytes / PARTITION_BYTES))

    def too_small(self, asked: int | None) -> bool:
        """Tell whether chunks of time cost more than they save; `asked` overrides it.

        Two more scans and a shuffle take seconds, whatever the data; one worker needs less for what
        fits in one partition.
        """
        return asked is None and self.nbytes is not None and self.nbytes < PARTITION_BYTES

    def least(self, asked: int | None) -> int:
        """Return the bytes below which a first scan finds that chunks of time do not pay off."""
        return PARTITION_BYTES if asked is None and self.nbytes is None else 0

    def chunks(self, asked: int | None) -> int:
        """Return the number of chunks for data without a key; 1 if chunks would not be faster."""
        if self.too_small(asked):
            return 1
        few = asked is None and self.cores < CHUNK_CORES
        small = self.nbytes is not None and not too_large(self.nbytes, 1)
        return 1 if few and small else self.partitions(asked)


def size_of(data: Any) -> Size:
    """Estimate the size of data in memory.

    A join counts as at most four times its input, since Spark multiplies the sizes of both sides.
    Spark Connect has no sizes: only the rows of files are known there.
    """
    session = data.sparkSession
    most = int(session.conf.get("spark.sql.shuffle.partitions"))
    if is_connect(data):
        paths = data.inputFiles()
        picked = [paths[i] for i in _picked(len(paths))]
        rows = _rows_of_files(session, picked)
        scale = len(paths) / max(len(picked), 1)
        nbytes = None if rows is None else int(rows * scale * width(data.schema))
        return Size(nbytes, _cores(session), most, 0)
    plan = data._jdf.queryExecution().optimizedPlan()
    leaves = _leaves(plan)
    nbytes = min(_bytes(plan), 4 * sum(map(_bytes, leaves)))
    rdds = [leaf for leaf in leaves if leaf.getClass().getSimpleName() == "LogicalRDD"]
    # A limit or a catalog knows the rows.
    if nbytes < UNKNOWN_BYTES and plan.stats().rowCount().isEmpty():
        nbytes = int(nbytes * _growth(data, leaves))
    return Size(
        None if nbytes >= UNKNOWN_BYTES else nbytes,
        int(session.sparkContext.defaultParallelism),
        most,
        sum(int(leaf.rdd().getNumPartitions()) for leaf in rdds),
    )


def width(kind: DataType) -> int:
    """Return about how many bytes one value takes in memory.

    >>> from pyspark.sql.types import LongType, StructField
    >>> width(StructType([StructField("a", LongType()), StructField("b", StringType())]))
    32
    """
    if isinstance(kind, StructType):
        return sum(width(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _ITEMS * width(kind.elementType)
    if isinstance(kind, MapType):
        return _ITEMS * (width(kind.keyType) + width(kind.valueType))
    if isinstance(kind, StringType | BinaryType):
        return _LONG_VALUE
    return 16 if isinstance(kind, DecimalType) else 8


def _growth(data: Any, leaves: Sequence[Any]) -> float:
    """Return how many times larger files are in memory than on disk; at least 1."""
    read = [leaf for leaf in leaves if leaf.getClass().getSimpleName() == "LogicalRelation"]
    # The paths stay in Java, where there may be very many.
    paths = data._jdf.inputFiles() if read else []
    picked = [paths[i] for i in _picked(len(paths))]
    rows = _rows_of_files(data.sparkSession, picked)
    if rows is None:
        packed = any(path.lower().endswith(_PACKED) for path in picked)
        return float(_PACKED_FACTOR if packed else 1)
    wide = max(width(StructType.fromJson(json.loads(leaf.schema().json()))) for leaf in read)
    on_disk = sum(_bytes_on_disk(data.sparkSession, path) for path in picked)
    return max(1.0, rows * wide / max(on_disk, 1))


def _bytes_on_disk(session: Any, path: str) -> int:
    file = session._jvm.org.apache.hadoop.fs.Path(session._jvm.java.net.URI(path))
    system = file.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    return int(system.getFileStatus(file).getLen())


def _picked(count: int) -> list[int]:
    """Return the places of the files to look at, spread evenly."""
    number = min(count, SAMPLED_FILES)
    return [i * count // number for i in range(number)]


def _rows_of_files(session: Any, paths: Sequence[str]) -> int | None:
    """Return how many rows files have; None if only a scan could tell."""
    kinds = {_COUNTED.get(match[0]) for path in paths if (match := re.search(r"\.\w+$", path))}
    if len(kinds) != 1 or None in kinds or not paths:
        return None
    local = [_local(path) for path in paths]
    if kinds == {"parquet"} and None not in local:
        try:
            return sum(int(pq.read_metadata(path).num_rows) for path in local)
        except (OSError, pa.ArrowException):
            return None  # the files are on another machine, or the run will tell what is wrong
    # Spark takes a path as a pattern, and not as the address that it tells.
    names = [re.sub(r"([\\{}\[\]*?,])", r"\\\1", unquote(path)) for path in paths]
    return int(session.read.format(kinds.pop()).load(names).count())


def _local(path: str) -> str | None:
    parsed = urlparse(path)
    return unquote(parsed.path) if parsed.scheme in ("", "file") else None


def _cores(session: Any) -> int:
    """Return the cores of a cluster whose driver cannot be asked, from its settings."""
    asked = session.conf.get("spark.default.parallelism", None)
    if asked is not None:
        return int(asked)
    local = re.fullmatch(r"local\[(\d+).*\]", str(session.conf.get("spark.master", "")))
    if local is not None:
        return int(local[1])
    names = ("spark.executor.instances", "spark.executor.cores")
    return max(2, math.prod(int(session.conf.get(name, "1")) for name in names))


def _bytes(plan: Any) -> int:
    return int(str(plan.stats().sizeInBytes()))


def _leaves(plan: Any) -> list[Any]:
    leaves = plan.collectLeaves()
    return [leaves.apply(i) for i in range(leaves.size())]


def kept_on_disk(data: Any) -> Any:
    """Return data that is made only once; in memory it would leave too little for a large run."""
    data = data.persist(StorageLevel.DISK_ONLY)
    data.count()
    return data
