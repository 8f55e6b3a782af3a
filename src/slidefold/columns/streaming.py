"""Run over a reader batch by batch, keeping only the earlier rows that windows still need.

Rows come in time order. Those of the newest time wait, since their peers may follow. Which of the
others matter is for the windows to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.compute import frame_columns
from slidefold.columns.expressions import completed, with_derived
from slidefold.columns.grouping import no_rows, require_movable, sort_table, without_views
from slidefold.columns.threads import SHARE
from slidefold.definition.operators import UserOperator
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted, needed_rows
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import SlidefoldError, TimeOrderError, ValueTypeError

# Rows are folded so many at a time, or as many as are kept: each is then folded twice on average.
_CHUNK = 1 << 16


def run_reader(definition: Rolling, reader: Any, chunk: int = 0, threads: int = 1) -> Any:
    """Run a definition over a reader that comes in time order, and return a reader."""
    chunk = chunk or max(_CHUNK, threads * SHARE)
    tables = _Stream(definition, reader.schema, chunk, threads).tables(reader)
    held = [next(tables)]
    schema = held[0].schema
    # Results of an operator without declared types tell their type: tables are held until one does.
    untyped = _untyped_columns(definition)
    while any(_has_null(schema.field(name).type) for name in untyped):
        table = next(tables, None)
        if table is None:
            break
        held.append(table)
        for name in untyped:
            kind = _wider(schema.field(name).type, table.schema.field(name).type)
            if kind is not None:
                place = schema.get_field_index(name)
                schema = schema.set(place, schema.field(place).with_type(kind))

    def batches() -> Iterator[Any]:
        for table in chain(held, tables):
            yield from _typed(table, schema, untyped).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _untyped_columns(definition: Rolling) -> list[str]:
    """Return the columns of operators that do not declare what they return."""
    return [
        leaf.path[0]
        for leaf in definition.leaves
        if isinstance(leaf.operator, UserOperator)
        and leaf.operator.definition.state is None
        and leaf.path[0] in definition.columns
    ]


def _has_null(kind: Any) -> bool:
    """Tell whether a type is null, or has a part that is null."""
    if pa.types.is_null(kind):
        return True
    return any(_has_null(kind.field(i).type) for i in range(kind.num_fields))


def _wider(one: Any, other: Any) -> Any:
    """Return a type that holds the values of both, None if there is none."""
    schemas = [pa.schema({"": kind}) for kind in (one, other)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def _typed(table: Any, schema: Any, untyped: list[str]) -> Any:
    """Return a table cast to the types of the first results, if that loses nothing."""
    columns = []
    for field in schema:
        column = table[field.name]
        # A cast to a type that is not wider may change what a value is, 1 to "1".
        fits = field.name not in untyped or _wider(field.type, column.type) == field.type
        if column.type == field.type:  # Arrow cannot cast slices of lists of nulls, not even so
            columns.append(column)
            continue
        try:
            columns.append(column.cast(field.type) if fits else None)
        except pa.ArrowException:
            fits = False
        if not fits:
            raise ValueTypeError(
                f"the results in {field.name!r} were {field.type} in the first rows of the reader "
                f"and are {column.type} later: declare state= and returns= of the operator, or "
                "read the reader into a table first"
            )
    return pa.table(columns, schema=schema)


class _Stream:
    """The kept rows, the waiting rows, and the row numbers of both in the input."""

    def __init__(self, definition: Rolling, schema: Any, chunk: int, threads: int = 1) -> None:
        require_movable(schema)
        self.definition, self.schema = definition, schema
        self.chunk, self.threads = chunk, threads
        self.kept = self._read(no_rows(schema))
        self.numbers: Ints = np.empty(0, np.int64)
        self.waiting = pa.Table.from_batches([], schema)
        self.seen = 0
        self.newest: int | None = None

    def tables(self, reader: Any) -> Iterator[Any]:
        """Yield the input with its results, at least one table, maybe without rows."""
        yielded = False
        for batch in reader:
            if len(batch) == 0:
                continue
            self._take(batch)
            if len(self.waiting) < max(self.chunk, len(self.kept)):
                continue
            _, times = counted(
                self.definition.on, self.waiting[self.definition.on].combine_chunks()
            )
            ready = int(np.searchsorted(times, times[-1]))
            if ready:
                yield self._fold(ready)
                yielded = True
        if len(self.waiting) or not yielded:
            yield self._fold(len(self.waiting))

    def _read(self, rows: Any) -> Any:
        """Return the columns that are folded."""
        return with_derived(self.definition, without_views(rows.select(list(self.definition.used))))

    def _take(self, batch: Any) -> None:
        """Add a batch to the waiting rows, if it comes in order."""
        on = self.definition.on
        _, times = counted(on, batch.column(on), lambda row: row + self.seen)
        falls = np.flatnonzero(times[1:] < times[:-1]) + 1
        row = int(falls[0]) if len(falls) else None
        if self.newest is not None and times[0] < self.newest:
            row = 0
        if row is not None:
            raise TimeOrderError(
                f"a reader must come in order of {on!r}, but time goes back at row "
                f"{self.seen + row}: read it into a table first"
            )
        self.newest = int(times[-1])
        self.seen += len(batch)
        self.waiting = pa.concat_tables([self.waiting, pa.Table.from_batches([batch])])

    def _fold(self, count: int) -> Any:
        """Fold the first waiting rows, and keep the rows that later windows need."""
        definition = self.definition
        ready, self.waiting = self.waiting.slice(0, count), self.waiting.slice(count)
        past = len(self.kept)
        first = self.seen - len(self.waiting) - count
        with _counting_from(first):
            table = pa.concat_tables([self.kept, self._read(ready)])
        numbers = np.concatenate((self.numbers, np.arange(first, first + count)))
        ordered = sort_table(table, definition.on, definition.by, definition.ties, numbers)
        frames = {window: window.frames(ordered.rows) for window in definition.windows}
        found = frame_columns(definition.core, ordered, frames, self.threads)
        results = {name: ordered.back(values).slice(past) for name, values in found.items()}
        with _counting_from(first):
            columns = completed(definition, ready, results)
        for name, values in columns.items():
            ready = ready.append_column(name, values)
        places = needed_rows(ordered.rows, frames)
        if ordered.order is not None:
            places = np.sort(ordered.order[places])
        self.kept, self.numbers = table.take(pa.array(places)), numbers[places]
        return ready


@contextmanager
def _counting_from(first: int) -> Iterator[None]:
    """Let errors name rows of the input, of which these rows are a part."""
    try:
        yield
    except SlidefoldError as error:
        raise error if error.row is None else error.at(first + error.row) from None
