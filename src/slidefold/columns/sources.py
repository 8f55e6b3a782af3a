"""Read tables of Arrow, pandas, Polars, DuckDB and narwhals, and return the same kind.

All but Arrow are known by their type, and imported only when such data comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Protocol

import pyarrow as pa

from slidefold.errors import DataError, ValueTypeError, first_line


class Source(Protocol):
    """A table: what a run reads from it, and how results become a table of its kind."""

    names: Sequence[str]

    @property
    def filled(self) -> frozenset[str]:
        """The columns whose type has no null, where the kind of table has such types."""

    def select(self, names: Sequence[str]) -> Any:
        """Return these columns as an Arrow table."""

    def append(self, columns: dict[str, Any], filled: frozenset[str]) -> Any:
        """Return the table with new columns, of its own kind; those in `filled` have no nulls."""

    def filtered(self, mask: Any) -> Any:
        """Return the rows where an Arrow array of bools is true, as a table of its own kind."""

    def maker(self, filled: frozenset[str]) -> Callable[[Any], Any]:
        """Return a function that turns an Arrow table into this kind; it holds no data.

        The columns in `filled` never have nulls.
        """


class ArrowSource:
    """An Arrow table; other Arrow data is read as one."""

    filled: frozenset[str] = frozenset()

    def __init__(self, table: Any) -> None:
        self.table = table
        self.names = table.column_names

    def select(self, names: Sequence[str]) -> Any:
        """Return these columns as an Arrow table."""
        return self.table.select(list(names))

    def append(self, columns: dict[str, Any], filled: frozenset[str] = frozenset()) -> Any:
        """Return the table with new columns."""
        table = self.table
        for name, values in columns.items():
            table = table.append_column(name, values)
        return self.fresh(table)

    def filtered(self, mask: Any) -> Any:
        """Return the rows where the mask is true."""
        return self.fresh(self.table.filter(mask))

    def maker(self, filled: frozenset[str] = frozenset()) -> Callable[[Any], Any]:
        """Return a function that turns an Arrow table into this kind."""
        return self.fresh

    @classmethod
    def fresh(cls, table: Any) -> Any:
        """Return the table as it is."""
        return table


class BatchSource(ArrowSource):
    """An Arrow record batch."""

    def __init__(self, batch: Any) -> None:
        super().__init__(pa.Table.from_batches([batch]))

    @classmethod
    def fresh(cls, table: Any) -> Any:
        """Return the table as one batch."""
        batches = table.combine_chunks().to_batches()
        if batches:
            return batches[0]
        empty = [pa.array([], field.type) for field in table.schema]
        return pa.RecordBatch.from_arrays(empty, schema=table.schema)


class ReaderSource(ArrowSource):
    """A reader of record batches; it is read when it must be."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.names = reader.schema.names

    def select(self, names: Sequence[str]) -> Any:
        """Return these columns of all that is left to read."""
        return self.reader.read_all().select(list(names))

    @classmethod
    def fresh(cls, table: Any) -> Any:
        """Return the table as a reader."""
        return table.to_reader()


class PandasSource:
    """A pandas DataFrame; a named index can be used like a column, and is kept.

    A frame of a subclass comes back as one, if the subclass can be made of a frame. Integers and
    bools have pandas' nullable types unless they can never be null: types follow from those of the
    frame and the definition alone, whatever the values.
    """

    def __init__(self, data: Any) -> None:
        self.data = data
        levels = [name for name in data.index.names if name is not None]
        self.names = [*data.columns, *(name for name in levels if name not in data.columns)]
        if len(set(data.columns)) < len(data.columns):
            raise DataError("the DataFrame has two columns of one name")

    def select(self, names: Sequence[str]) -> Any:
        """Return these columns as an Arrow table."""
        return pa.table({name: self._read(name) for name in names})

    def _read(self, name: str) -> Any:
        data = self.data
        series = data[name] if name in data.columns else data.index.get_level_values(name)
        if series.dtype == object:
            _require_one_zone(name, series)
        try:
            return pa.Array.from_pandas(series)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise ValueTypeError(
                f"the column {name!r} cannot become an Arrow column: {first_line(error)}"
            ) from None

    @property
    def filled(self) -> frozenset[str]:
        """The columns of numpy's integers and bools, which have no null."""
        return frozenset(name for name in self.names if self._dtype(name) in _FILLED)

    def _dtype(self, name: str) -> str:
        data = self.data
        if name in data.columns:
            return str(data[name].dtype)
        return str(data.index.get_level_values(name).dtype)

    def append(self, columns: dict[str, Any], filled: frozenset[str] = frozenset()) -> Any:
        """Return the frame with new columns; its own columns are not copied."""
        new = {name: _series(values, name in filled) for name, values in columns.items()}
        out = self.data.copy(deep=False)
        for name, values in new.items():
            out[name] = values.set_axis(out.index)
        made = _as_kind(type(self.data), out)
        return out if made is out else made.__finalize__(self.data)

    def filtered(self, mask: Any) -> Any:
        """Return the rows where the mask is true, with their index."""
        return self.data[mask.to_numpy(zero_copy_only=False)]

    def maker(self, filled: frozenset[str] = frozenset()) -> Callable[[Any], Any]:
        """Return a function that makes a frame of an Arrow table, with an index from 0."""
        return partial(_frame, type(self.data), filled)


# As pandas spells the types of numpy that have no null.
_FILLED = {"bool"} | {f"{sign}int{n}" for sign in ("", "u") for n in (8, 16, 32, 64)}


def _frame(kind: type, filled: frozenset[str], table: Any) -> Any:
    import pandas as pd

    columns = {name: _series(table[name], name in filled) for name in table.column_names}
    return _as_kind(kind, pd.DataFrame(columns, columns=table.column_names))


def _series(values: Any, filled: bool) -> Any:
    """Return a series: integers and bools that may be null as pandas' nullable types, exactly."""
    import pandas as pd

    kinds = {
        pa.bool_(): pd.BooleanDtype(),
        **{getattr(pa, f"int{n}")(): getattr(pd, f"Int{n}Dtype")() for n in (8, 16, 32, 64)},
        **{getattr(pa, f"uint{n}")(): getattr(pd, f"UInt{n}Dtype")() for n in (8, 16, 32, 64)},
    }
    return values.to_pandas(types_mapper=None if filled and not values.null_count else kinds.get)


def _as_kind(kind: Any, frame: Any) -> Any:
    """Return a frame as one of a subclass, if its constructor takes a frame; else as it is."""
    if type(frame) is kind:
        return frame
    try:
        made = kind(frame)
    except Exception:  # whatever a constructor of somebody else raises
        return frame
    return made if type(made) is kind and made.shape == frame.shape else frame


def _require_one_zone(name: str, series: Any) -> None:
    # Arrow would take the zone of the first and move the others there, naive ones too.
    zones = {str(value.tzinfo) for value in series if hasattr(value, "tzinfo")}
    if len(zones) > 1:
        shown = " and ".join(sorted(zones)[:3])
        raise DataError(f"the column {name!r} mixes zones ({shown}): convert it to one")


class PolarsSource:
    """A Polars DataFrame."""

    filled: frozenset[str] = frozenset()

    def __init__(self, data: Any) -> None:
        self.data = data
        self.names = data.columns

    def select(self, names: Sequence[str]) -> Any:
        """Return these columns as an Arrow table."""
        return self.data.select(list(names)).to_arrow()

    def append(self, columns: dict[str, Any], filled: frozenset[str] = frozenset()) -> Any:
        """Return the frame with new columns."""
        return self._finished(self.data.hstack(self._frame(pa.table(columns)).get_columns()))

    def filtered(self, mask: Any) -> Any:
        """Return the rows where the mask is true."""
        import polars as pl

        return self._finished(self.data.filter(pl.Series(mask)))

    def maker(self, filled: frozenset[str] = frozenset()) -> Callable[[Any], Any]:
        """Return a function that makes a frame of an Arrow table."""
        return self.fresh

    @classmethod
    def fresh(cls, table: Any) -> Any:
        """Return a frame."""
        return cls._finished(cls._frame(table))

    @classmethod
    def _finished(cls, frame: Any) -> Any:
        return frame

    @staticmethod
    def _frame(table: Any) -> Any:
        import polars as pl

        return pl.from_arrow(table)


class LazySource(PolarsSource):
    """A Polars LazyFrame: a window needs all rows in order, so it is collected first."""

    def __init__(self, data: Any) -> None:
        super().__init__(data.collect())

    @classmethod
    def _finished(cls, frame: Any) -> Any:
        return frame.lazy()


class DuckSource(ArrowSource):
    """A relation of DuckDB: the result is a relation of the same connection."""

    def __init__(self, relation: Any) -> None:
        super().__init__(relation.to_arrow_table())
        self.relation = relation

    def append(self, columns: dict[str, Any], filled: frozenset[str] = frozenset()) -> Any:
        """Return a relation with new columns."""
        return _relation(self.relation, super().append(columns))

    def filtered(self, mask: Any) -> Any:
        """Return a relation of the rows where the mask is true."""
        return _relation(self.relation, self.table.filter(mask))

    def maker(self, filled: frozenset[str] = frozenset()) -> Callable[[Any], Any]:
        """Return a function that makes a relation of an Arrow table."""
        return partial(_relation, self.relation)


def _relation(given: Any, slidefold_result: Any) -> Any:
    # DuckDB finds the table by the name of the variable, and the relation keeps it.
    try:
        return given.query("slidefold_input", "SELECT * FROM slidefold_result")
    except Exception as error:  # DuckDB's own, which is not imported here
        raise DataError(
            f"DuckDB does not take the results: {first_line(error)}; give the relation as "
            "an Arrow table, relation.to_arrow_table()"
        ) from None


class NarwhalsSource:
    """A frame of narwhals: run as the frame inside it, and the result is wrapped again."""

    def __init__(self, data: Any) -> None:
        module = type(data).__module__
        stable = module.startswith("narwhals.stable.")
        self.wrap = import_module(module if stable else "narwhals").from_native
        self.inner = source_of(data.to_native())
        self.names, self.filled = self.inner.names, self.inner.filled

    def select(self, names: Sequence[str]) -> Any:
        """Return these columns as an Arrow table."""
        return self.inner.select(names)

    def append(self, columns: dict[str, Any], filled: frozenset[str] = frozenset()) -> Any:
        """Return the frame with new columns."""
        return self.wrap(self.inner.append(columns, filled))

    def filtered(self, mask: Any) -> Any:
        """Return the rows where the mask is true."""
        return self.wrap(self.inner.filtered(mask))

    def maker(self, filled: frozenset[str] = frozenset()) -> Callable[[Any], Any]:
        """Return a function that makes a frame of an Arrow table."""
        wrap, make = self.wrap, self.inner.maker(filled)
        return lambda table: wrap(make(table))


def source_of(data: Any) -> Source:
    """Return the source for this kind of table."""
    made: Any
    if isinstance(data, pa.Table):
        made = ArrowSource
    elif isinstance(data, pa.RecordBatch):
        made = BatchSource
    elif isinstance(data, pa.RecordBatchReader):
        made = ReaderSource
    else:
        made = _frame_kind(data)
    if made is not None:
        return made(data)  # type: ignore[no-any-return]
    try:
        if hasattr(data, "__arrow_c_stream__"):
            return ArrowSource(pa.RecordBatchReader.from_stream(data).read_all())
        if hasattr(data, "__arrow_c_array__"):
            return BatchSource(pa.record_batch(data))
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise ValueTypeError(f"the data is not a table: {first_line(error)}") from None
    kind = f"{type(data).__module__}.{type(data).__name__}".removeprefix("builtins.")
    raise ValueTypeError(
        "the data is an Arrow table, batch or reader, a pandas or Polars frame, or has "
        f"__arrow_c_stream__, got {kind}"
    )


def _frame_kind(data: Any) -> Any:
    bases = ((base.__module__.partition(".")[0], base.__name__) for base in type(data).__mro__)
    return next((_FRAMES[base] for base in bases if base in _FRAMES), None)


def schema_of(data: Any, names: Sequence[str]) -> Any:
    """Return the Arrow schema of data; of frames, only these columns."""
    found = data
    if not isinstance(data, pa.Schema) and _frame_kind(data) is None:
        found = getattr(data, "schema", None)
    if isinstance(found, pa.Schema):
        return found  # and a reader is not read
    source = source_of(data)
    return source.select([name for name in names if name in source.names]).schema


_FRAMES: dict[tuple[str, str], Any] = {
    ("pandas", "DataFrame"): PandasSource,
    ("polars", "DataFrame"): PolarsSource,
    ("polars", "LazyFrame"): LazySource,
    ("duckdb", "DuckDBPyRelation"): DuckSource,
    ("_duckdb", "DuckDBPyRelation"): DuckSource,
    ("narwhals", "DataFrame"): NarwhalsSource,
    ("narwhals", "LazyFrame"): NarwhalsSource,
}
