"""Tables of many makes: Arrow, pandas, Polars in, and the same kind out.

pandas and Polars are known by their type, and imported only when such data comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from slidefold.errors import DataError, ValueTypeError


class Source(Protocol):
    """A table: what a run reads from it, and how results become a table of its kind."""

    names: Sequence[str]

    def select(self, names: Sequence[str]) -> Any:
        """Return these columns as an Arrow table."""

    def append(self, columns: dict[str, Any]) -> Any:
        """Return the table with new columns, of its own kind."""

    @classmethod
    def fresh(cls, table: Any) -> Any:
        """Return an Arrow table as a table of this kind."""


class ArrowSource:
    """An Arrow table; other Arrow data is read as one."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.names = table.column_names

    def select(self, names: Sequence[str]) -> Any:
        """Return these columns as an Arrow table."""
        return self.table.select(list(names))

    def append(self, columns: dict[str, Any]) -> Any:
        """Return the table with new columns."""
        table = self.table
        for name, values in columns.items():
            table = table.append_column(name, values)
        return self.fresh(table)

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
    """A pandas DataFrame; a named index can be used like a column, and is kept."""

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
            reason = str(error).splitlines()[0]
            raise ValueTypeError(f"the column {name!r} makes no Arrow column: {reason}") from None

    def append(self, columns: dict[str, Any]) -> Any:
        """Return the frame with new columns; its own columns are not copied."""
        new = {name: self._written(values) for name, values in columns.items()}
        out = self.data.copy(deep=False)
        for name, values in new.items():
            out[name] = values.set_axis(out.index)
        return out

    @classmethod
    def fresh(cls, table: Any) -> Any:
        """Return a frame with an index of row numbers."""
        import pandas as pd

        columns = {name: cls._written(table[name]) for name in table.column_names}
        return pd.DataFrame(columns, columns=table.column_names)

    @staticmethod
    def _written(values: Any) -> Any:
        """Return a series: integers and bools with nulls as pandas' nullable types, exactly."""
        import pandas as pd

        kinds = {
            pa.bool_(): pd.BooleanDtype(),
            **{getattr(pa, f"int{n}")(): getattr(pd, f"Int{n}Dtype")() for n in (8, 16, 32, 64)},
            **{getattr(pa, f"uint{n}")(): getattr(pd, f"UInt{n}Dtype")() for n in (8, 16, 32, 64)},
        }
        mapper = kinds.get if values.null_count else None
        return values.to_pandas(types_mapper=mapper)


def _require_one_zone(name: str, series: Any) -> None:
    # Arrow would take the zone of the first and move the others there, naive ones too.
    zones = {str(value.tzinfo) for value in series if hasattr(value, "tzinfo")}
    if len(zones) > 1:
        shown = " and ".join(sorted(zones)[:3])
        raise DataError(f"the column {name!r} mixes zones ({shown}): convert it to one")


class PolarsSource:
    """A Polars DataFrame."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.names = data.columns

    def select(self, names: Sequence[str]) -> Any:
        """Return these columns as an Arrow table."""
        return self.data.select(list(names)).to_arrow()

    def append(self, columns: dict[str, Any]) -> Any:
        """Return the frame with new columns."""
        return self._finished(self.data.hstack(self._frame(pa.table(columns)).get_columns()))

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


def source_of(data: Any) -> Source:
    """Find out what kind of table this is."""
    made: Any
    if isinstance(data, pa.Table):
        made = ArrowSource
    elif isinstance(data, pa.RecordBatch):
        made = BatchSource
    elif isinstance(data, pa.RecordBatchReader):
        made = ReaderSource
    else:
        made = _FRAMES.get((type(data).__module__.partition(".")[0], type(data).__name__))
    if made is not None:
        return made(data)  # type: ignore[no-any-return]
    try:
        if hasattr(data, "__arrow_c_stream__"):
            return ArrowSource(pa.RecordBatchReader.from_stream(data).read_all())
        if hasattr(data, "__arrow_c_array__"):
            return BatchSource(pa.record_batch(data))
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise ValueTypeError(f"the data is no table: {str(error).splitlines()[0]}") from None
    raise ValueTypeError(
        "the data is an Arrow table, batch or reader, a pandas or Polars frame, or has "
        f"__arrow_c_stream__, got {type(data).__name__}"
    )


def schema_of(data: Any, names: Sequence[str]) -> Any:
    """Return the Arrow schema of data, or of a schema itself; of frames, that of these columns."""
    found = data if isinstance(data, pa.Schema) else getattr(data, "schema", None)
    if isinstance(found, pa.Schema):
        return found  # and a reader is not read
    source = source_of(data)
    return source.select([name for name in names if name in source.names]).schema


_FRAMES: dict[tuple[str, str], Any] = {
    ("pandas", "DataFrame"): PandasSource,
    ("polars", "DataFrame"): PolarsSource,
    ("polars", "LazyFrame"): LazySource,
}
