"""The types of tables and options, for type checkers. Nothing here is used at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from os import PathLike
from typing import Any, Protocol, TypedDict, TypeVar

import numpy as np

# A moment, where a time is passed or returned.
Instant = int | float | date | datetime | np.datetime64
# A bound of a period, also as text such as "2026-01-31".
Moment = Instant | str | None


class HasColumns(Protocol):
    """A frame of pandas, Polars or narwhals, or a relation of DuckDB."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""


class HasSchema(Protocol):
    """A table, batch or reader of Arrow."""

    @property
    def schema(self) -> Any:
        """The names and types of the columns."""


class ArrowStream(Protocol):
    """Any other table that Arrow can read."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class SparkFrame(Protocol):
    """A batch or streaming DataFrame of Spark."""

    @property
    def isStreaming(self) -> bool:  # noqa: N802
        """Whether it is a stream."""

    def withWatermark(self, eventTime: str, delayThreshold: str) -> Any:  # noqa: N802, N803
        """Declare how late rows may be."""


# The result has the type of the input.
Frame = TypeVar("Frame", bound=HasColumns | HasSchema)
Spark = TypeVar("Spark", bound=SparkFrame)


class SparkOptions(TypedDict, total=False):
    """The options of `run` for Spark DataFrames: for batches, for streams, for both."""

    partitions: int | None
    skew: str | float
    presorted: bool
    spill: bool | None
    engine: str
    emit: str
    id: str | Sequence[str]
    late: str
    buckets: int | None
    cache_bytes: int
    metrics: str
    initial: SparkFrame | None
    after: Moment
    scale: Mapping[str, float]  # of explain
    known: str | None
    asked: str | None
    checkpoint: str | PathLike[str] | None
    types: Mapping[str, Any] | None
    since: Moment
    until: Moment
