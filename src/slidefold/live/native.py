"""The native core with a compiled definition, and what all modes have in common.

The core keeps the used columns of all rows that windows still need: what a batch costs is what it
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.expressions import completion
from slidefold.columns.grouping import one_chunk
from slidefold.definition.expressions import Compiled
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import ResultOverflowError, StateError
from slidefold.live.carried import Carried
from slidefold.live.lateness import OLDEST, times_of
from slidefold.live.overflows import Overflows, columns_that_fit
from slidefold.live.program import Program, columns_of, restored

# The output, and a function that completes the step once nothing can fail.
Emitted = tuple[Any, Callable[[], None]]


class Native:
    """The core with a compiled definition, and what all modes have in common."""

    waits = False  # whether results are those of rows that were accepted earlier
    sided = False  # whether a saved state needs more than rows: `last_results` and `fill_last`
    result: Any = None  # the schema of results, once it is known

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        self.definition, self.program, self.empty = definition, program, empty
        self.core = _native.EngineCore(program.native)
        self.names = list(definition.columns)
        results = self.features(self.core.rows_of(0))
        self.kinds = {name: array.type for name, array in results.items()}  # of the core's results
        self.formulas = self._formulas()
        self.clock, _ = counted(definition.on, pa.array([], empty.schema.field(definition.on).type))
        self.carried = Carried(empty)
        when = definition.on if definition.slide is None else "window_end"
        self.overflows = Overflows(when, definition.by)

    def _formulas(self) -> Compiled | None:
        """Return the program that makes columns of rows and results; None if there is none."""
        definition = self.definition
        if not definition.formulas:
            return None
        kinds = {name: array.type for name, array in self._ends().items()}
        if definition.slide is None:
            kinds = {name: self.empty.schema.field(name).type for name in definition.row_columns}
        return completion(definition, {**kinds, **self.kinds})

    def _ends(self) -> dict[str, Any]:
        """Return empty columns of keys and bounds, as results with every= have them."""
        kind = self.empty.schema.field(self.definition.on).type
        kind = pa.int64() if pa.types.is_integer(kind) else kind
        keys = {name: self.empty[name] for name in self.definition.by}
        return {**keys, **{name: pa.array([], kind) for name in ("window_start", "window_end")}}

    def complete(self, rows: Any, features: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of the definition for rows and the core's results."""
        formulas = self.formulas
        if formulas is None:
            return features
        read = {name: rows[name] for name in self.definition.row_columns}
        made = formulas.columns(pa.table({**read, **features}))
        return {name: made.get(name, features.get(name)) for name in self.names}

    def completed(self, rows: Any, features: dict[str, Any]) -> dict[str, Any]:
        """Do the same for results that come out; `overflows` decides about those that overflow."""
        formulas = self.formulas
        if formulas is None or not (self.waits or self.overflows.counts):
            return self.complete(rows, features)
        read = {name: rows[name] for name in self.definition.row_columns}
        made, places, reason = columns_that_fit(formulas, pa.table({**read, **features}))
        if places:
            self.overflows.report(rows, np.array(places), reason)
        return {name: made.get(name, features.get(name)) for name in self.names}

    def require_fit(self, rows: Any) -> None:
        """Report results of the core that do not fit; `rows` are those of the last results."""
        if self.core.overflows is not None:
            column, sentence, places = self.core.overflows
            self.overflows.report(rows, places, f"the column {column!r}: {sentence}")

    def joined(self, rows: Any, features: dict[str, Any], result: Any = None) -> Any:
        """Return a table of rows and the columns of the definition."""
        return _with(rows, self.completed(rows, features), result)

    # ---- what an engine asks

    @property
    def watermark(self) -> int | None:
        """Return the watermark; None at the start."""
        return self.core.watermark

    @property
    def newest(self) -> int | None:
        """Return the newest time of a row so far, or the watermark if that is later."""
        known = [time for time in (self.core.newest, self.watermark) if time is not None]
        return max(known, default=None)

    @property
    def waiting(self) -> int:
        """Return the number of rows that wait for the watermark."""
        return self.core.waiting

    @property
    def rows(self) -> int:
        """Return the number of held rows, and of slices that stand for rows."""
        return self.core.rows + self.core.slices

    @property
    def nbytes(self) -> int:
        """Return the size of the held rows in bytes."""
        return int(self.core.nbytes + self.carried.nbytes)

    def horizon(self) -> int | None:
        """Return a time up to which no row is needed any more."""
        watermark = self.watermark
        if watermark is None:
            return None
        if self.program.reach is not None:
            return max(watermark - self.program.reach, OLDEST)
        oldest = self.core.oldest
        return watermark if oldest is None else max(min(oldest - 1, watermark), OLDEST)

    def next_due(self) -> int | None:
        """Return a watermark before which no result is ready without new rows."""
        return self.core.oldest_waiting

    def take(self, rows: Any, watermark: int | None) -> Any:
        """Add rows, move the watermark, and return the results that are ready, in time order."""
        return self.feed(rows, watermark, None)[0]

    def feed(self, rows: Any, watermark: int | None, lateness: int | None) -> tuple[Any, Any]:
        """Do the same; also return the places of late rows, or None."""
        reported = self.overflows.reported
        try:
            return self._feed(rows, watermark, lateness)
        except ResultOverflowError as error:
            now, self.overflows.reported = self.overflows.reported, reported
            if now == reported or (
                len(rows) and self._fits(self._moved(rows, watermark, lateness))
            ):
                raise  # the rows cause it themselves
            self.overflows.reported = now
            raise ResultOverflowError(
                f"{error.sentence}; this call has changed nothing, and the next one gives null "
                "there"
            ) from None

    def _moved(self, rows: Any, watermark: int | None, lateness: int | None) -> int | None:
        """Return the watermark that rows move it to."""
        if lateness is None:
            return watermark
        times = times_of(rows.filter(rows[self.definition.on].is_valid()), self.definition.on)
        return max(int(times.max()) - lateness, OLDEST) if len(times) else watermark

    def _fits(self, watermark: int | None) -> bool:
        """Tell whether the watermark could move without new rows; change nothing."""
        empty, first = self.empty, self.core.seen
        late, numbers, found = self.core.feed(capsule(empty), watermark, None)
        try:
            self.emitted(empty, first, late, numbers, self.features(found))
        except ResultOverflowError:
            return False
        finally:
            self.core.undo()
        return True

    def _feed(self, rows: Any, watermark: int | None, lateness: int | None) -> tuple[Any, Any]:
        core, first = self.core, self.core.seen
        late, numbers, found = core.feed(capsule(rows), watermark, lateness)
        try:
            emitted, settle = self.emitted(rows, first, late, numbers, self.features(found))
        except BaseException:
            core.undo()
            raise
        core.commit()
        settle()
        return emitted, late

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Emitted:
        """Return the rows of some numbers with their features, and what to do once that is done.

        `rows` were given last, the first of them with the number `first`.
        """
        raise NotImplementedError

    def skip(self, rows: Any, watermark: int | None) -> None:
        """Add rows and move the watermark as `take` does, for results that nobody reads."""
        if self.sided or self.definition.fill:  # later results depend on these
            self.take(rows, watermark)
        else:
            self.fill(rows, watermark)

    def fill(self, rows: Any, watermark: int | None) -> None:
        """Add rows; the results up to the watermark have come out already and are not computed."""
        first = self.core.seen
        passed = self.core.fill(capsule(rows), watermark)
        self.keep(first, rows, passed)

    def keep(self, first: int, rows: Any, passed: Ints) -> None:
        """Keep what later results need of rows that were filled in.

        `passed` are the numbers of all rows that wait no longer.
        """

    def kept(self) -> Any:
        """Return all rows that are still needed; columns that are not needed are null."""
        self.core.prune()
        return self.held(None)

    def held(self, until: int | None) -> Any:
        """Return the held rows up to a time, or all; columns that are not used are null."""
        batch = pa.RecordBatch._import_from_c_capsule(*self.core.held(until))
        columns = []
        for field in self.empty.schema:
            at = batch.schema.get_field_index(field.name)
            if at < 0:
                columns.append(pa.nulls(len(batch), field.type))
                continue
            columns.append(restored(field.type, batch.column(at)))
        return pa.table(columns, schema=self.empty.schema)

    def last_results(self) -> Any:
        """Return the results that cannot be computed from the rows."""
        raise NotImplementedError

    def fill_last(self, last: Any) -> None:
        """Set the results that `last_results` returned."""
        raise NotImplementedError

    @property
    def keeps_past(self) -> bool:
        """Return whether keys keep something of rows that have gone forever."""
        return bool(self.core.keeps_past)

    @property
    def has_past(self) -> bool:
        """Return whether results depend on something besides the rows that are held."""
        return self.keeps_past or self.core.slices > 0

    def past(self) -> Any:
        """Return what keys keep of rows that have gone, as a table."""
        batch = pa.RecordBatch._import_from_c_capsule(*self.core.past())
        return pa.Table.from_batches([batch])

    def fill_past(self, past: Any) -> None:
        """Set what keys keep of rows that have gone."""
        like = self.past().schema
        if past.schema != like:
            raise StateError("the states in the bytes do not match this definition")
        self.core.fill_past(capsule(past))

    def features(self, found: Any) -> dict[str, Any]:
        """Return the columns of results that the core returned."""
        capsules, others = found
        batch = pa.RecordBatch._import_from_c_capsule(*capsules)
        return columns_of(self.definition, self.program.joins, self._arrays(batch, others))

    def _arrays(self, batch: Any, others: dict[str, Any]) -> Iterator[Any]:
        columns = iter(batch.columns)
        for result in self.program.results:
            values = others[result.name] if result.name in others else next(columns)
            yield values if result.finish is None else result.finish(values)


def capsule(rows: Any) -> Any:
    """Return the rows as one Arrow array of the C data interface."""
    batches = rows.to_batches()
    if len(batches) != 1:
        batches = rows.combine_chunks().to_batches()
    if not batches:
        columns = [pa.array([], field.type) for field in rows.schema]
        batches = [pa.RecordBatch.from_arrays(columns, schema=rows.schema)]
    if len(batches) > 1:  # strings of more than 2 GB
        columns = [one_chunk(rows, name) for name in rows.column_names]
        batches = [pa.RecordBatch.from_arrays(columns, schema=rows.schema)]
    return batches[0].__arrow_c_array__()[1]


def _with(rows: Any, features: dict[str, Any], result: Any = None) -> Any:
    """Return a table of rows and their features, with the schema of results where it fits."""
    columns = [*rows.columns, *features.values()]
    if result is not None and len(result) == len(columns):
        kinds = zip(result.types, columns, strict=True)
        if all(kind == column.type for kind, column in kinds):
            return pa.Table.from_arrays(columns, schema=result)
    return pa.Table.from_arrays(columns, names=[*rows.column_names, *features])


def nothing_to_settle() -> None:
    """Do nothing: no row waits."""
