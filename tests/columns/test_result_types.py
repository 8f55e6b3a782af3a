"""Type checkers know the results: `make lint` checks what `assert_type` says here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_type

import slidefold as sf
from slidefold.definition.frames import SparkOptions
from slidefold.options import BATCH, OPTIONS, STREAM

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame

    class Stream:
        """A table that only Arrow can read."""

        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

    def kinds(made: sf.Rolling, frame: pl.DataFrame, data: DataFrame, stream: Stream) -> None:
        assert_type(made.run(frame, threads=2), pl.DataFrame)
        assert_type(made.run(data, partitions=4), DataFrame)
        assert_type(made.run(stream), Any)  # an Arrow table; pyarrow has no types
        assert_type(made.live(lateness="1h").feed(frame), pl.DataFrame)
        assert_type(made.explain(data, skew="off"), str)
        made.run(frame, partitions=4)  # type: ignore[call-overload]
        made.run(3)  # type: ignore[call-overload]


def test_the_options_of_spark_are_those_that_are_accepted() -> None:
    # `at` is an argument of its own, and Spark refuses `lateness`.
    # Only `explain` takes `scale`.
    others = {"at", "lateness"}
    options = {*SparkOptions.__annotations__} - {"scale"}
    assert options == {*OPTIONS[BATCH], *OPTIONS[STREAM]} - others
