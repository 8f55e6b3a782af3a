"""The arrival-order engine: takes rows and a watermark, and returns the results that are ready.

A `Live` has one engine, and a stream has one per bucket. The engine does not handle late rows: its
callers separate them with `judge` first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.engine import require_columns, run
from slidefold.columns.expressions import with_derived
from slidefold.columns.grouping import no_rows, require_movable, without_runs, without_views
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ColumnError, DataError, DefinitionError, ValueTypeError
from slidefold.live.end_modes import ENDS
from slidefold.live.lateness import judge, past_rows
from slidefold.live.native import Native, capsule
from slidefold.live.program import compile_program
from slidefold.live.revisions import REVISION
from slidefold.live.row_modes import MODES
from slidefold.live.snapshot import Snapshot, has_null

EMITS = ("final", "arrival", "revise", "change")


class Engine:
    """Run a definition over rows that arrive in any order.

    >>> import slidefold as sf
    >>> definition = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10)))
    >>> engine = Engine(definition, pa.schema({"t": pa.int64(), "x": pa.int64()}))
    >>> engine.take(pa.table({"t": [7, 3, 12], "x": [1, 2, 4]}), 7)["s"].to_pylist()
    [2, 3]
    """

    def __init__(
        self,
        definition: Rolling,
        schema: Any,
        emit: str = "final",
        id: Sequence[str] = (),
        *,
        counts_overflows: bool = False,
        slices: bool = True,
    ) -> None:
        """Prepare for rows of this Arrow schema, which may have unused columns.

        With `counts_overflows`, a result that does not fit in its type is null and counted in
        `overflows`, instead of an error. With `slices=False`, rows stay rows as long as windows
        need them, also with `every=`.
        """
        names = list(schema.names)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ColumnError(f"the data has {names.count(twice)} columns named {twice!r}")
        require_columns(definition, names)
        check_emit(definition, emit, id)
        for name in id:
            if name not in names:
                raise ColumnError(f"the data has no column {name!r}, which id= names")
        require_movable(schema)
        empty = no_rows(schema)
        self.definition, self.schema = definition, empty.schema
        self.emit, self.id = emit, tuple(id)
        # Reject types that do not fit before any row is taken.
        self.result = self.columns = run(definition, empty).schema
        if emit == "revise":
            if REVISION in self.result.names:
                raise ColumnError(
                    f"the data already has a column {REVISION!r}, which emit='revise' adds; "
                    "rename it"
                )
            self.result = self.result.append(pa.field(REVISION, pa.int64()))
        empty = without_views(empty)
        self._as_kept = empty.schema.equals(self.schema)  # no column is a view
        core = self.columns
        if definition.core is not definition:
            core = run(definition.core, with_derived(definition, empty)).schema
        program = compile_program(definition, empty.schema, core, emit, slices=slices)
        modes = MODES if definition.slide is None else ENDS
        self.native: Native = modes[emit](definition, empty, program)
        self.native.result = self.result
        self.native.overflows.counts = self.native.core.counts_overflows = counts_overflows

    @classmethod
    def rebuild(
        cls,
        definition: Rolling,
        schema: Any,
        emit: str,
        id: Sequence[str],
        snapshot: Snapshot,
        watermark: int | None,
        horizon: int | None = None,
        *,
        counts_overflows: bool = False,
        slices: bool = True,
    ) -> Engine:
        """Rebuild an engine from the snapshot of another engine and its watermark.

        The snapshot may also hold older rows; then pass that engine's `horizon`, and rows up to it
        are left out.
        """
        engine = cls(definition, schema, emit, id, counts_overflows=counts_overflows, slices=slices)
        rows = engine.read(snapshot.rows)
        gone = past_rows(rows, definition.on, horizon)
        if gone.any():
            rows = rows.filter(pa.array(~gone))
        native = engine.native
        if snapshot.past is not None:
            native.fill_past(snapshot.past)
        if native.sided and snapshot.last is None:
            native.take(rows, watermark)
            return engine
        native.fill(rows, watermark)
        if native.sided:
            native.fill_last(snapshot.last)
        return engine

    @property
    def watermark(self) -> int | None:
        """Return the watermark; rows up to it are complete. None at the start."""
        return self.native.watermark

    @property
    def newest(self) -> int | None:
        """Return the newest time of a row so far, or the watermark if that is later."""
        return self.native.newest

    @property
    def pending(self) -> int:
        """Return the number of rows that wait for the watermark."""
        return self.native.waiting

    @property
    def rows(self) -> int:
        """Return the number of held rows and slices; some may not be needed any more."""
        return self.native.rows

    @property
    def overflows(self) -> int:
        """Return how many results were null because they did not fit, with `counts_overflows`."""
        return self.native.overflows.counted

    @property
    def by_key(self) -> tuple[str, ...]:
        """Return the columns that are kept as states by key, and not folded from values."""
        refolded = self.native.program.refolded
        return tuple(name for name in self.definition.columns if name not in refolded)

    @property
    def nbytes(self) -> int:
        """Return the size of the held rows in bytes."""
        return self.native.nbytes

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add accepted rows, move the watermark, and return the due results in time order.

        The watermark counts in steps of the time column, as do all times here. None, or a watermark
        before the last one, does not move it. If this raises, the engine is unchanged.
        """
        return self._written(self.native.take(*self._next(rows, watermark)))

    def skip(self, rows: Any, watermark: int | None) -> None:
        """Do what `take` does, without computing results that nobody reads."""
        self.native.skip(*self._next(rows, watermark))

    def _next(self, rows: Any, watermark: int | None) -> tuple[Any, int | None]:
        """Return rows and the watermark to move to; raise an error if rows are late."""
        rows = self.read(rows)
        before = self.watermark
        late = int(past_rows(rows, self.definition.on, before).sum())
        if late:
            raise DataError(
                f"expected rows after the watermark, got {late} at or before it; separate late "
                "rows with judge() first"
            )
        if watermark is None or (before is not None and watermark < before):
            watermark = before
        return rows, watermark

    def feed(self, rows: Any, lateness: int) -> tuple[Any, Any]:
        """Take rows, judge them by the watermark, and move it to the newest time minus `lateness`.

        Return the results that are ready, and the late rows with their reasons, None if there are
        none.
        """
        rows = self.read(rows)
        before = self.watermark
        results, places = self.native.feed(rows, None, lateness)
        late = None
        if places is not None:
            late = judge(rows.take(pa.array(places)), self.definition.on, before)[1]
        return self._written(results), late

    def accept(self, rows: Any, lateness: int) -> Ints:
        """Do the same without results, for "arrival"; return the places of late rows."""
        late: Ints | None = self.native.core.accept(capsule(self.read(rows)), lateness)
        return np.empty(0, np.int64) if late is None else late

    def begin(self, history: Any, watermark: int | None) -> None:
        """Take rows from before the first batch, up to the watermark; none of them comes out.

        The last results of "change" are those of the history. For "revise" nothing has come out
        yet, so that the first result of an end has revision 0.
        """
        rows = self.read(history)
        if self.emit == "revise":
            self.native.fill(rows, watermark)
        else:
            self.native.skip(rows, watermark)

    def horizon(self, watermark: int | None = None) -> int | None:
        """Return a time up to which no row is needed any more, or None if it is unknown.

        It depends on the last watermark taken; the argument is ignored.
        """
        if self.native.keeps_past:
            return None  # the folds of older rows are not in the rows
        return self.native.horizon()

    def next_due(self) -> int | None:
        """Return the first watermark at which a result may be due without new rows.

        None if nothing waits.
        """
        return self.native.next_due()

    def snapshot(self) -> Snapshot:
        """Return what `rebuild` needs: the rows that are still needed, last results, and states.

        Columns that the definition does not use are null in rows that have been emitted.
        """
        native, rows = self.native, self.native.kept()
        last = native.last_results() if native.sided else None
        return Snapshot(rows, last, native.past() if native.has_past else None)

    def takes(self, schema: Any) -> bool:
        """Tell whether rows of this schema are in the form that is kept already."""
        return self._as_kept and bool(schema.equals(self.schema))

    def read(self, rows: Any) -> Any:
        """Return rows in the form that is kept; raise an error for wrong columns or types."""
        if isinstance(rows, pa.Table) and self.takes(rows.schema):
            return rows
        if isinstance(rows, pa.RecordBatch):
            rows = pa.Table.from_batches([rows])
        more = next((name for name in rows.column_names if name not in self.schema.names), None)
        if more is not None:
            raise ColumnError(f"the rows have a column {more!r}, which the first rows did not have")
        rows = without_runs(rows)
        columns = [_column(rows, field) for field in self.schema]
        return without_views(pa.table(columns, schema=self.schema))

    def _written(self, results: Any) -> Any:
        """Return results with the columns and types of a batch run of the definition."""
        if results.schema.equals(self.result, check_metadata=True):
            return results
        columns, fields = [], []
        for field in self.result:
            column = results[field.name]
            # The type of objects is known only after the first object.
            if not has_null(field.type) and column.type != field.type:
                column = column.cast(field.type)
            columns.append(column)
            fields.append(field.with_type(column.type))
        return pa.table(columns, schema=pa.schema(fields, self.result.metadata))


def check_emit(definition: Rolling, emit: str, id: Sequence[str]) -> None:
    """Reject an `emit` that does not exist or does not fit the definition."""
    if emit not in EMITS:
        raise DefinitionError(f"emit must be one of {', '.join(EMITS)}, got {emit!r}")
    slide = definition.slide
    if any(window.ahead for window in definition.windows):
        raise DefinitionError(
            "ahead=True needs the rows that are still to come: it works in batch runs only"
        )
    if emit == "revise" and definition.fill:
        raise DefinitionError("fill=True needs emit='final' or emit='change'")
    if emit == "arrival" and slide is not None:
        raise DefinitionError(
            "emit='arrival' gives one result per row; with every= use emit='revise'"
        )
    if emit == "revise" and slide is None and not id:
        raise DefinitionError("emit='revise' needs id=, the columns that identify a row")
    if emit == "revise" and slide is not None and not slide.in_time:
        raise DefinitionError(
            "emit='revise' needs every= in time, such as every='1h': in rows or sessions a late "
            "row moves the ends, so that no earlier result could be replaced"
        )


def _column(rows: Any, field: Any) -> Any:
    if rows.column_names.count(field.name) != 1:
        raise ColumnError(f"the rows must have one column {field.name!r}, as the first rows had")
    column = rows[field.name]
    if column.type == field.type:
        return column
    if pa.types.is_null(column.type) or column.type == _without_view(field.type):
        return column.cast(field.type)
    raise ValueTypeError(
        f"the column {field.name!r} must be {field.type}, as in the first rows, got {column.type}"
    )


def _without_view(kind: Any) -> Any:
    wide = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return wide.get(kind, kind)
