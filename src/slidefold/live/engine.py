"""The engine of arrival order: rows and a watermark in, results that are due out.

One of them is in a `Live`, and one in each bucket of a stream. It knows nothing of lateness: what
it takes has been judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from slidefold.columns.engine import require_columns, run
from slidefold.columns.grouping import no_rows, require_movable, without_runs, without_views
from slidefold.definition.rolling import Rolling
from slidefold.errors import ColumnError, DataError, DefinitionError, ValueTypeError
from slidefold.live.arrival import Arrival
from slidefold.live.change import Change
from slidefold.live.final import Final
from slidefold.live.frames import past_rows
from slidefold.live.numbered import NUMBER, numbered
from slidefold.live.revise import REVISION, Revise
from slidefold.live.revise_ends import ReviseEnds
from slidefold.live.side import Mode, Side, Sided, has_null, read_side, write_side

EMITS = ("final", "arrival", "revise", "change")

_MODES: dict[str, type[Mode]] = {
    "final": Final,
    "arrival": Arrival,
    "revise": Revise,
    "change": Change,
}


class Engine:
    """A definition over rows that come in any order.

    >>> import slidefold as sf
    >>> definition = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10)))
    >>> engine = Engine(definition, pa.schema({"t": pa.int64(), "x": pa.int64()}))
    >>> engine.take(pa.table({"t": [7, 3, 12], "x": [1, 2, 4]}), 7)["s"].to_pylist()
    [2, 3]
    """

    def __init__(
        self, definition: Rolling, schema: Any, emit: str = "final", id: Sequence[str] = ()
    ) -> None:
        """Take rows of this Arrow schema, which may have columns that are not used."""
        names = list(schema.names)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ColumnError(f"the data has {names.count(twice)} columns named {twice!r}")
        require_columns(definition, names)
        check_emit(definition, emit, id)
        for name in id:
            if name not in names:
                raise ColumnError(f"the data has no column {name!r}, which id names")
        require_movable(schema)
        empty = no_rows(schema)
        self.definition, self.schema = definition, empty.schema
        self.emit, self.id = emit, tuple(id)
        # Types that do not fit are found here, before there is anything to lose.
        self.result = run(definition, empty).schema
        if emit == "revise":
            if REVISION in self.result.names:
                raise ColumnError(
                    f"the data has a column {REVISION!r} already: revise is to add it"
                )
            self.result = self.result.append(pa.field(REVISION, pa.int64()))
        self._seen = 0
        made = ReviseEnds if emit == "revise" and definition.slide is not None else _MODES[emit]
        self._mode: Mode = made(definition, numbered(without_views(empty), 0))

    @classmethod
    def rebuild(
        cls,
        definition: Rolling,
        schema: Any,
        emit: str,
        id: Sequence[str],
        kept: Any,
        watermark: int | None,
        horizon: int | None = None,
    ) -> Engine:
        """Make an engine from the rows that another one kept, and what it had emitted so far.

        There may be older rows among them than `kept` returned, if all are there that come after a
        `horizon` which that engine told: then give it, the rows up to it are left out. Rows that
        were taken after `kept` may follow. They are folded as one batch; revisions count batches,
        so that for "revise" it is better to `take` them one by one.
        """
        made = cls(definition, schema, emit, id)
        rows = made.read(kept)
        gone = past_rows(rows, definition.on, horizon)
        if gone.any():
            rows = rows.filter(pa.array(~gone))
        made._seen = len(rows)
        rows = numbered(rows, 0)
        mode = made._mode
        if not isinstance(mode, Sided):
            mode.fill(rows, watermark)
            return made
        saved = read_side(kept.schema.metadata)
        if saved is not None:
            mode.fill(rows.slice(0, saved.rows), saved.watermark)
            mode.fill_side(saved.table)
            rows = rows.slice(saved.rows)
        mode.take(rows, watermark)
        return made

    @property
    def watermark(self) -> int | None:
        """All rows up to this time have been seen; None before there is one."""
        return self._mode.watermark

    @property
    def newest(self) -> int | None:
        """The newest time of a row that was taken, or the watermark if that is later."""
        return self._mode.newest

    @property
    def pending(self) -> int:
        """How many rows wait for the watermark."""
        return self._mode.waiting

    @property
    def rows(self) -> int:
        """How many rows are held, at least those that are needed."""
        return self._mode.rows

    @property
    def by_key(self) -> tuple[str, ...]:
        """The columns that are kept as states by key, and need no history."""
        return self._mode.by_key.names

    @property
    def nbytes(self) -> int:
        """The size of the rows that are held, in bytes."""
        return self._mode.nbytes

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add accepted rows, move the watermark, and return what is due, in order of time.

        The watermark counts in steps of the time column, as all times here; None says nothing new,
        and one that lies before the last has no effect. If this raises, the engine is as it was.
        """
        rows = self.read(rows)
        before = self.watermark
        late = int(past_rows(rows, self.definition.on, before).sum())
        if late:
            raise DataError(f"{late} rows lie at or before the watermark: judge them first")
        if watermark is None or (before is not None and watermark < before):
            watermark = before
        found = self._mode.take(numbered(rows, self._seen), watermark)
        self._seen += len(rows)
        return self._written(found)

    def horizon(self, watermark: int | None = None) -> int | None:
        """Return a time up to which no row is needed any more; None if nothing can be said.

        It is that of the watermark last taken: a later one given here is not looked at.
        """
        return self._mode.horizon()

    def next_due(self) -> int | None:
        """Return the first watermark at which something may be due though no more rows come.

        None if nothing waits.
        """
        return self._mode.next_due()

    def kept(self) -> Any:
        """Return the rows that are still held: enough for `rebuild`.

        Columns which the definition does not use are null in rows that have been emitted. What
        rows do not tell, the last results under "revise" and "change", is in the metadata.
        """
        rows = self._mode.kept().drop_columns([NUMBER])
        if isinstance(self._mode, Sided):
            side = Side(self._mode.side(), len(rows), self.watermark)
            rows = rows.replace_schema_metadata(write_side(side, rows.schema.metadata))
        return rows

    def read(self, rows: Any) -> Any:
        """Return rows as they are kept, if they are of the right columns and types."""
        if isinstance(rows, pa.RecordBatch):
            rows = pa.Table.from_batches([rows])
        more = next((name for name in rows.column_names if name not in self.schema.names), None)
        if more is not None:
            raise ColumnError(f"the rows have a column {more!r}, which the first ones had not")
        rows = without_runs(rows)
        columns = [_column(rows, field) for field in self.schema]
        return without_views(pa.table(columns, schema=self.schema))

    def _written(self, found: Any) -> Any:
        """Return results with the columns and types that a run of the definition gives."""
        columns, fields = [], []
        for field in self.result:
            column = found[field.name]
            # Objects have a type only once there is one.
            if not has_null(field.type) and column.type != field.type:
                column = column.cast(field.type)
            columns.append(column)
            fields.append(field.with_type(column.type))
        return pa.table(columns, schema=pa.schema(fields, self.result.metadata))


def check_emit(definition: Rolling, emit: str, id: Sequence[str]) -> None:
    """Refuse an `emit` that does not exist, or that the definition cannot have."""
    if emit not in EMITS:
        raise DefinitionError(f"emit is one of {', '.join(EMITS)}, got {emit!r}")
    slide = definition.slide
    if emit == "arrival" and slide is not None:
        raise DefinitionError("emit='arrival' gives one result a row: with every= use 'revise'")
    if emit == "revise" and slide is None and not id:
        raise DefinitionError("emit='revise' needs id=, the columns that tell one row from another")
    if emit == "revise" and slide is not None and not slide.in_time:
        raise DefinitionError(
            "emit='revise' needs an every in time: results of other kinds have no end that stays"
        )


def _column(rows: Any, field: Any) -> Any:
    if rows.column_names.count(field.name) != 1:
        raise ColumnError(f"the rows must have one column {field.name!r}, as the first ones had")
    column = rows[field.name]
    if column.type == field.type:
        return column
    if pa.types.is_null(column.type) or column.type == _without_view(field.type):
        return column.cast(field.type)
    raise ValueTypeError(
        f"the column {field.name!r} was {field.type} in the first rows and is {column.type} now"
    )


def _without_view(kind: Any) -> Any:
    wide = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return wide.get(kind, kind)
