"""The modes of the engine whose rows and windows are native: what a batch costs is what it changes.

The native core keeps the used columns of all rows that windows still need. Rows that wait for the
watermark are kept here with all their columns, because they come out again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.grouping import one_chunk
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.live.change import changed_results, in_peer_order, last_columns
from slidefold.live.frames import OLDEST
from slidefold.live.lateness import times_of
from slidefold.live.numbered import NUMBER, numbers_of
from slidefold.live.program import Program, columns_of
from slidefold.live.revise import REVISION, newer_results
from slidefold.live.side import require_side


class Carried:
    """Rows with all their columns, found by their numbers in order of arrival."""

    def __init__(self, empty: Any) -> None:
        """Start from an empty table with the columns of the rows to come."""
        self.empty = empty
        self.starts: list[int] = []
        self.tables: list[Any] = []
        self.left: list[int] = []  # how many rows of each table have not been taken
        self.gone: list[Any] = []  # which rows have been taken; None if no row has

    def add(self, first: int, rows: Any, late: Ints | None = None) -> None:
        """Add a table whose first row has this number; late rows are never taken."""
        count = len(rows) - (0 if late is None else len(late))
        if count == 0:
            return
        gone = None
        if late is not None:
            gone = np.zeros(len(rows), np.bool_)
            gone[late] = True
        self.starts.append(first)
        self.tables.append(rows)
        self.left.append(count)
        self.gone.append(gone)

    def take(self, numbers: Ints) -> Any:
        """Return rows in the order of their numbers given, and forget them."""
        if len(numbers) == 0:
            return self.empty
        places = np.searchsorted(self.starts, numbers, side="right") - 1
        found, order = self._rows(numbers, places)
        for at, count in zip(*np.unique(places, return_counts=True), strict=True):
            gone = self.gone[at]
            if gone is None:
                gone = self.gone[at] = np.zeros(len(self.tables[at]), np.bool_)
            gone[numbers[places == at] - self.starts[at]] = True
            self.left[at] -= int(count)
        if 0 in self.left:
            kept = [at for at, left in enumerate(self.left) if left]
            self.starts, self.tables, self.left, self.gone = (
                [items[at] for at in kept]
                for items in (self.starts, self.tables, self.left, self.gone)
            )
        return found if order is None else found.take(pa.array(order))

    def _rows(self, numbers: Ints, places: Ints) -> tuple[Any, Ints | None]:
        if places[0] == places[-1] and (places == places[0]).all():
            at = int(places[0])
            local = numbers - self.starts[at]
            table = self.tables[at]
            if len(local) == len(table) and (local == np.arange(len(table))).all():
                return table, None
            if len(local) == 1:
                return table.slice(int(local[0]), 1), None
            return table.take(pa.array(local)), None
        by_table = np.argsort(places, kind="stable")
        parts = []
        for at in np.unique(places):
            mine = numbers[by_table][places[by_table] == at] - self.starts[at]
            parts.append(self.tables[at].take(pa.array(mine)))
        table = pa.concat_tables(parts)
        if (by_table == np.arange(len(by_table))).all():
            return table, None
        order = np.empty(len(by_table), np.int64)
        order[by_table] = np.arange(len(by_table))
        return table.combine_chunks(), order

    def rest(self) -> Any:
        """Return the rows that have not been taken, in order of arrival."""
        parts = [
            table if gone is None else table.filter(pa.array(~gone))
            for table, gone in zip(self.tables, self.gone, strict=True)
        ]
        return pa.concat_tables([self.empty, *parts]).combine_chunks()

    @property
    def nbytes(self) -> int:
        """Return the size of the rows in bytes."""
        return sum(int(table.nbytes) for table in self.tables)


class Native:
    """The core with a compiled definition, and what all modes have in common."""

    once = True

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        self.definition, self.program, self.empty = definition, program, empty
        self.core = _native.EngineCore(program.native)
        self.names = list(definition.columns)
        self.clock, _ = counted(definition.on, pa.array([], empty.schema.field(definition.on).type))
        self.carried = Carried(empty)

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
        """Return the number of held rows."""
        return self.core.rows

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
        core, first = self.core, self.core.seen
        late, numbers, found = core.feed(_capsule(rows), watermark, lateness)
        try:
            features = self.features(found)
        except BaseException:
            core.undo()
            raise
        core.commit()
        return self.emitted(rows, first, late, numbers, features), late

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Any:
        """Return the rows of some numbers with their features; `rows` were given last."""
        raise NotImplementedError

    def fill(self, rows: Any, watermark: int | None) -> None:
        """Set the rows; those up to the watermark have passed already."""
        first = self.core.seen
        self.core.fill(_capsule(rows), watermark)
        passed = None
        if watermark is not None:
            passed = np.flatnonzero(times_of(rows, self.definition.on) <= watermark)
        self.keep(first, rows, passed)

    def keep(self, first: int, rows: Any, passed: Ints | None) -> None:
        """Keep what later results need of rows that were filled in."""

    def kept(self) -> Any:
        """Return all rows that are still needed; columns that are not needed are null."""
        self.core.prune()
        history = self.held(None)
        return history

    def held(self, until: int | None) -> Any:
        """Return the held rows up to a time, or all; columns that are not used are null."""
        batch = pa.RecordBatch._import_from_c_capsule(*self.core.held(until))
        columns = []
        for field in self.empty.schema:
            at = batch.schema.get_field_index(field.name)
            if at < 0:
                columns.append(pa.nulls(len(batch), field.type))
                continue
            values = batch.column(at)
            if values.type != field.type:
                dictionary = pa.types.is_dictionary(field.type)
                values = (values.dictionary_encode() if dictionary else values).cast(field.type)
            columns.append(values)
        return pa.table(columns, schema=self.empty.schema)

    def features(self, found: Any) -> dict[str, Any]:
        """Return the columns of results that the core returned."""
        capsules, others = found
        batch = pa.RecordBatch._import_from_c_capsule(*capsules)
        return columns_of(self.definition, self._arrays(batch, others))

    def _arrays(self, batch: Any, others: dict[str, Any]) -> Iterator[Any]:
        columns = iter(batch.columns)
        for result in self.program.results:
            values = others[result.name] if result.name in others else next(columns)
            yield values if result.finish is None else result.finish(values)


class NativeFinal(Native):
    """`emit="final"`: rows come out once, when the watermark has passed them."""

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Any:
        """Return the rows that have become final."""
        self.carried.add(first, rows, late)
        return _with(self.carried.take(numbers), features)

    def keep(self, first: int, rows: Any, passed: Ints | None) -> None:
        """Keep the rows that wait."""
        self.carried.add(first, rows, passed)

    def kept(self) -> Any:
        """Return all rows that are still needed; columns that are not needed are null."""
        self.core.prune()
        rest = self.carried.rest()
        if self.watermark is None:
            return rest
        return pa.concat_tables([self.held(self.watermark), rest])


class NativeArrival(Native):
    """`emit="arrival"`: rows come out with their batch."""

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Any:
        """Return the new rows."""
        if len(numbers) != len(rows) or (np.diff(numbers) != 1).any():
            rows = rows.take(pa.array(numbers))
        return _with(rows, features)


class NativeChange(NativeFinal):
    """`emit="change"`: final results that differ from the previous one of their key."""

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        super().__init__(definition, empty, program)
        features = self.features(self.core.rows_of(0))
        self.last = last_columns(definition, _with(empty, features))

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Any:
        """Return the rows that have become final and changed."""
        results = super().emitted(rows, first, late, numbers, features)
        results = in_peer_order(self.definition, results, self.empty.column_names)
        by_time = np.argsort(times_of(results, self.definition.on), kind="stable")
        results = results.take(pa.array(by_time))
        emitted, self.last = changed_results(self.definition, self.last, results)
        return emitted

    def horizon(self) -> int | None:
        """Return None, because the last result of an idle key may come from a row of any age."""
        return None

    def side(self) -> Any:
        """Return the last results, which cannot be computed from the rows."""
        return self.last

    def fill_side(self, side: Any) -> None:
        """Set the last results."""
        self.last = require_side(side, self.last)

    @property
    def nbytes(self) -> int:
        """Return the size of the held rows and results in bytes."""
        return super().nbytes + int(self.last.nbytes)


class NativeRevise(Native):
    """`emit="revise"`: results at once, and again with the next `revision` when they change."""

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        super().__init__(definition, empty, program)
        self.pending = _numbered(empty, np.empty(0, np.int64))
        folded = self._folded(self.pending, self.features(self.core.rows_of(0)))
        self.results = folded.select([NUMBER, *self.names, REVISION])

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Any:
        """Return new and changed results; results of rows that have passed are forgotten."""
        fresh = _numbered(rows, np.arange(first, first + len(rows)))
        if late is not None:
            keep = np.ones(len(rows), np.bool_)
            keep[late] = False
            fresh = fresh.filter(pa.array(keep))
        pool = pa.concat_tables([self.pending, fresh]).combine_chunks()
        places = np.searchsorted(numbers_of(pool), numbers)
        folded = self._folded(pool.take(pa.array(places)), features)
        emitted, self.results = newer_results(folded, self.results, self.names)
        self._pass(pool)
        return emitted

    def _pass(self, pool: Any) -> None:
        if self.watermark is None:
            self.pending = pool
            return
        alive = times_of(pool, self.definition.on) > self.watermark
        self.pending = pool.filter(pa.array(alive)).combine_chunks()
        stays = np.isin(numbers_of(self.results), numbers_of(self.pending))
        if not stays.all():
            self.results = self.results.filter(pa.array(stays)).combine_chunks()

    def _folded(self, rows: Any, features: Any) -> Any:
        results = _with(rows, features)
        return results.append_column(REVISION, pa.array(np.zeros(len(results), np.int64)))

    def keep(self, first: int, rows: Any, passed: Ints | None) -> None:
        """Keep the rows whose results can still change."""
        numbers = np.arange(first, first + len(rows))
        self._pass(pa.concat_tables([self.pending, _numbered(rows, numbers)]))

    def kept(self) -> Any:
        """Return all rows that are still needed; columns that are not needed are null."""
        self.core.prune()
        rest = self.pending.drop_columns([NUMBER])
        if self.watermark is None:
            return rest
        return pa.concat_tables([self.held(self.watermark), rest])

    def horizon(self) -> int | None:
        """Return None, because the last results are not in the rows."""
        return None

    def next_due(self) -> int | None:
        """Return None, because no row waits."""
        return None

    def side(self) -> Any:
        """Return the last results of pending rows, in row order."""
        return self.results.drop_columns([NUMBER])

    def fill_side(self, side: Any) -> None:
        """Set the last results of the pending rows."""
        side = require_side(side, self.side(), len(self.pending))
        self.results = side.add_column(0, NUMBER, self.pending[NUMBER])

    @property
    def nbytes(self) -> int:
        """Return the size of the held rows and results in bytes."""
        return super().nbytes + int(self.results.nbytes + self.pending.nbytes)


MODES: dict[str, type[Native]] = {
    "final": NativeFinal,
    "arrival": NativeArrival,
    "change": NativeChange,
    "revise": NativeRevise,
}


def _capsule(rows: Any) -> Any:
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


def _with(rows: Any, features: dict[str, Any]) -> Any:
    """Return a table of rows and their features."""
    if not features:
        return rows
    names = [*rows.column_names, *features]
    return pa.Table.from_arrays([*rows.columns, *features.values()], names=names)


def _numbered(rows: Any, numbers: Ints) -> Any:
    return rows.append_column(NUMBER, pa.array(numbers))
