"""Sliding windows inside Polars: `import slidefold.polars` adds a namespace to its frames.

>>> import polars as pl, slidefold as sf, slidefold.polars
>>> features = sf.rolling(on="t", total=sf.sum("x").over(2))
>>> pl.DataFrame({"t": [1, 2, 3], "x": [1, 2, 4]}).slidefold.rolling(features)["total"].to_list()
[1, 3, 6]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from slidefold.definition.rolling import Rolling
from slidefold.errors import DefinitionError

__all__ = ["LazyWindows", "Windows"]


def _require_definition(features: Any) -> None:
    if not isinstance(features, Rolling):
        raise DefinitionError(
            f"expected a definition from sf.rolling, got {type(features).__name__}"
        )


@pl.api.register_dataframe_namespace("slidefold")
class Windows:
    """`df.slidefold`, of a DataFrame."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def rolling(self, features: Rolling, *, threads: int = 1) -> pl.DataFrame:
        """Return the frame with the columns of a definition, as `features.run(df)` does."""
        _require_definition(features)
        result: pl.DataFrame = features.run(self._frame, threads=threads)
        return result


@pl.api.register_lazyframe_namespace("slidefold")
class LazyWindows:
    """`lf.slidefold`, of a LazyFrame."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def rolling(self, features: Rolling, *, threads: int = 1) -> pl.LazyFrame:
        """Return a lazy frame with the columns of a definition; nothing is computed yet.

        When Polars collects the query, it asks only for the columns that the query uses. The others
        are neither read from the input nor computed. Filters apply after the windows: a row that is
        filtered out still counts in the windows of other rows.
        """
        _require_definition(features)
        before = self._frame.collect_schema()
        schema = features.run(pl.DataFrame(schema=before)).schema

        def windows(
            names: list[str] | None,
            predicate: pl.Expr | None,
            count: int | None,
            _batch: int | None,
        ) -> Iterator[pl.DataFrame]:
            wanted = list(schema) if names is None else names
            read = set(wanted) if predicate is None else {*wanted, *predicate.meta.root_names()}
            result = _computed(self._frame, features, read, threads)
            # Polars gives both only if the rows are counted before they are filtered.
            if count is not None:
                result = result.head(count)
            if predicate is not None:
                result = result.filter(predicate)
            yield result.select(wanted)

        return register_io_source(
            windows,
            schema=schema,
            explain_name="SLIDEFOLD",
            explain_detail=f"windows over {features.on}: {', '.join(features.columns)}",
        )


def _computed(
    frame: pl.LazyFrame, features: Rolling, names: set[str], threads: int
) -> pl.DataFrame:
    """Return at least these columns of the result, of as few columns of the input as possible."""
    new = [name for name in features.columns if name in names]
    if features.slide is None:
        if not new:
            return frame.select(name for name in frame.collect_schema() if name in names).collect()
        features = features.only(*new)
        kept = {*names, *features.required}
        frame = frame.select(name for name in frame.collect_schema() if name in kept)
    else:
        frame = frame.select(features.required)
    result: pl.DataFrame = features.run(frame.collect(), threads=threads)
    return result
