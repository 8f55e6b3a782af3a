"""The modes of the engine whose rows and windows are native: what a batch costs is what it changes.

The native core keeps the used columns of all rows that windows still need. Rows that wait for the
watermark are kept here with all their columns, because they come out again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold import _native
from slidefold.columns.expressions import completion
from slidefold.columns.grouping import one_chunk, sort_table
from slidefold.definition.expressions import Compiled
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import StateError
from slidefold.live.change import changed_results, last_columns, peer_order
from slidefold.live.frames import OLDEST
from slidefold.live.lateness import times_of
from slidefold.live.numbered import NUMBER, numbers_of
from slidefold.live.program import Program, columns_of
from slidefold.live.revise import REVISION, newer_results
from slidefold.live.revise_ends import newer_ends
from slidefold.live.side import require_side

# What comes out, and a function that completes the step once nothing can fail.
Emitted = tuple[Any, Callable[[], None]]


class Carried:
    """Rows with all their columns, found by their numbers in order of arrival."""

    def __init__(self, empty: Any) -> None:
        """Start from an empty table with the columns of the rows to come."""
        self.empty = empty
        self.starts: list[int] = []
        self.tables: list[Any] = []
        self.left: list[int] = []  # how many rows of each table have not been taken
        self.gone: list[Any] = []  # which rows have been taken; None if no row has
        self.pushed: dict[int, dict[str, Any]] = {}  # rows that came one by one

    def add(self, first: int, rows: Any, late: Ints | None = None) -> bool:
        """Add a table whose first row has this number; late rows never come out.

        Tell whether there was anything to add.
        """
        count = len(rows) - (0 if late is None else len(late))
        if count == 0:
            return False
        gone = None
        if late is not None:
            gone = np.zeros(len(rows), np.bool_)
            gone[late] = True
        self.starts.append(first)
        self.tables.append(rows)
        self.left.append(count)
        self.gone.append(gone)
        return True

    def find(self, numbers: Ints) -> Any:
        """Return rows in the order of their numbers given."""
        if len(numbers) == 0:
            return self.empty
        if self.pushed:
            return self._find_both(numbers)
        if len(numbers) == 1:
            number = int(numbers[0])
            at = bisect_right(self.starts, number) - 1
            return self.tables[at].slice(number - self.starts[at], 1)
        places = np.searchsorted(self.starts, numbers, side="right") - 1
        if places[0] == places[-1] and (places == places[0]).all():
            table, local = self.tables[places[0]], numbers - self.starts[places[0]]
            if len(local) == len(table) and (np.diff(local) == 1).all():
                return table
            return table.take(pa.array(local))
        by_table = np.argsort(places, kind="stable")
        ends = np.flatnonzero(np.diff(places[by_table])) + 1
        parts = []
        for mine in np.split(by_table, ends):
            at = places[mine[0]]
            parts.append(self.tables[at].take(pa.array(numbers[mine] - self.starts[at])))
        table = pa.concat_tables(parts)
        if (np.diff(by_table) == 1).all():
            return table
        order = np.empty(len(by_table), np.int64)
        order[by_table] = np.arange(len(by_table))
        return table.combine_chunks().take(pa.array(order))

    def _find_both(self, numbers: Ints) -> Any:
        """Return rows of which some came one by one."""
        rows = [self.row(int(number)) for number in numbers]
        return pa.Table.from_pylist(rows, schema=self.empty.schema)

    def push(self, number: int, row: dict[str, Any]) -> None:
        """Add a row that came alone."""
        self.pushed[number] = row

    def row(self, number: int) -> dict[str, Any]:
        """Return a row by its number."""
        if number in self.pushed:
            return self.pushed[number]
        at = bisect_right(self.starts, number) - 1
        return self.tables[at].slice(number - self.starts[at], 1).to_pylist()[0]  # type: ignore[no-any-return]

    def forget_rows(self, numbers: list[int]) -> None:
        """Forget rows that have come out, in a list."""
        if all(number in self.pushed for number in numbers):
            for number in numbers:
                del self.pushed[number]
        else:
            self.forget(np.array(numbers, np.int64))

    def forget(self, numbers: Ints) -> None:
        """Forget rows that have come out."""
        if self.pushed:
            alone = [int(number) for number in numbers if int(number) in self.pushed]
            for number in alone:
                del self.pushed[number]
            numbers = numbers[~np.isin(numbers, alone)]
        if len(numbers) == 0:
            return
        if len(numbers) == 1:
            at = bisect_right(self.starts, int(numbers[0])) - 1
            self._forget_in(at, numbers)
            return
        places = np.searchsorted(self.starts, numbers, side="right") - 1
        for at in np.unique(places)[::-1]:
            self._forget_in(int(at), numbers[places == at])

    def _forget_in(self, at: int, numbers: Ints) -> None:
        """Forget rows of one table, and the table with its last row."""
        self.left[at] -= len(numbers)
        if self.left[at] == 0:
            for items in (self.starts, self.tables, self.left, self.gone):
                del items[at]
            return
        if self.gone[at] is None:
            self.gone[at] = np.zeros(len(self.tables[at]), np.bool_)
        self.gone[at][numbers - self.starts[at]] = True

    def drop_last(self) -> None:
        """Forget the table that was added last."""
        for items in (self.starts, self.tables, self.left, self.gone):
            items.pop()

    def rest(self) -> Any:
        """Return the rows that have not been taken, in order of arrival."""
        parts = {
            start: table if gone is None else table.filter(pa.array(~gone))
            for start, table, gone in zip(self.starts, self.tables, self.gone, strict=True)
        }
        for number, row in self.pushed.items():
            parts[number] = pa.Table.from_pylist([row], schema=self.empty.schema)
        in_order = [parts[start] for start in sorted(parts)]
        return pa.concat_tables([self.empty, *in_order]).combine_chunks()

    @property
    def nbytes(self) -> int:
        """Return the size of the rows in bytes."""
        return sum(int(table.nbytes) for table in self.tables)


class Native:
    """The core with a compiled definition, and what all modes have in common."""

    once = True
    result: Any = None  # the schema of results, once it is known

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        self.definition, self.program, self.empty = definition, program, empty
        self.core = _native.EngineCore(program.native)
        self.names = list(definition.columns)
        self.formulas = self._formulas()
        self.clock, _ = counted(definition.on, pa.array([], empty.schema.field(definition.on).type))
        self.carried = Carried(empty)

    def _formulas(self) -> Compiled | None:
        """Return the program that makes columns of rows and results; None if there is none."""
        definition = self.definition
        if not definition.formulas:
            return None
        kinds = {name: array.type for name, array in self._ends().items()}
        if definition.slide is None:
            kinds = {name: self.empty.schema.field(name).type for name in definition.row_columns}
        results = self.features(self.core.rows_of(0))
        return completion(definition, {**kinds, **{n: array.type for n, array in results.items()}})

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

    def joined(self, rows: Any, features: dict[str, Any], result: Any = None) -> Any:
        """Return a table of rows and the columns of the definition."""
        return _with(rows, self.complete(rows, features), result)

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

    def fill(self, rows: Any, watermark: int | None) -> None:
        """Set the rows; those up to the watermark have passed already."""
        first = self.core.seen
        self.core.fill(capsule(rows), watermark)
        passed = None
        if watermark is not None:
            passed = np.flatnonzero(times_of(rows, self.definition.on) <= watermark)
        self.keep(first, rows, passed)

    def keep(self, first: int, rows: Any, passed: Ints | None) -> None:
        """Keep what later results need of rows that were filled in."""

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
            columns.append(_as(field.type, batch.column(at)))
        return pa.table(columns, schema=self.empty.schema)

    @property
    def keeps_past(self) -> bool:
        """Return whether keys keep something of rows that have gone."""
        return bool(self.core.keeps_past)

    def past(self) -> Any:
        """Return what keys keep of rows that have gone, as a table."""
        batch = pa.RecordBatch._import_from_c_capsule(*self.core.past())
        return pa.Table.from_batches([batch])

    def fill_past(self, past: Any) -> None:
        """Set what keys keep of rows that have gone."""
        like = self.past().schema
        if past.schema != like:
            raise StateError("the states in the saved rows do not match this definition")
        self.core.fill_past(capsule(past))

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

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Emitted:
        """Return the rows that have become final."""
        carried, added = self.carried, self.carried.add(first, rows, late)
        try:
            found = self.paired(carried.find(numbers), features)
        except BaseException:
            if added:
                carried.drop_last()
            raise
        return found, lambda: carried.forget(numbers)

    def paired(self, rows: Any, features: dict[str, Any]) -> Any:
        """Return rows with their features."""
        return self.joined(rows, features, self.result)

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

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Emitted:
        """Return the new rows."""
        if len(numbers) != len(rows) or (len(rows) > 1 and (np.diff(numbers) != 1).any()):
            rows = rows.take(pa.array(numbers))
        return self.joined(rows, features, self.result), _nothing


class LastResults(Native):
    """A mode that keeps the last result of each key."""

    last: Any

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


class NativeChange(LastResults, NativeFinal):
    """`emit="change"`: final results that differ from the previous one of their key."""

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        super().__init__(definition, empty, program)
        features = self.features(self.core.rows_of(0))
        self.last = self.next = last_columns(definition, self.joined(empty, features))

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Emitted:
        """Return the rows that have become final and changed."""
        found, forget = super().emitted(rows, first, late, numbers, features)

        def settle() -> None:
            self.last = self.next
            forget()

        return found, settle

    def paired(self, rows: Any, features: dict[str, Any]) -> Any:
        """Return the rows that have changed, with their features.

        Of peers that are equal in all columns of the definition, the first result goes to the first
        in the order of all columns: what comes out does not depend on arrival.
        """
        definition = self.definition
        own = peer_order(definition, rows, self.empty.column_names)
        if own is not None:
            # Both are key by key in time order, so that only peers change places.
            found = sort_table(rows, definition.on, definition.by, ()).order
            rows = rows.take(pa.array(own))
            if found is not None:
                features = {name: each.take(pa.array(found)) for name, each in features.items()}
        results = self.joined(rows, features)
        by_time = np.argsort(times_of(results, definition.on), kind="stable")
        results = results.take(pa.array(by_time))
        emitted, self.next = changed_results(definition, self.last, results)
        return emitted


class NativeRevise(Native):
    """`emit="revise"`: results at once, and again with the next `revision` when they change."""

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        super().__init__(definition, empty, program)
        self.pending = _numbered(empty, np.empty(0, np.int64))
        folded = self._folded(self.pending, self.features(self.core.rows_of(0)))
        self.results = folded.select([NUMBER, *self.names, REVISION])

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Emitted:
        """Return new and changed results; results of rows that have passed are forgotten."""
        fresh = _numbered(rows, np.arange(first, first + len(rows)))
        if late is not None:
            keep = np.ones(len(rows), np.bool_)
            keep[late] = False
            fresh = fresh.filter(pa.array(keep))
        pool = pa.concat_tables([self.pending, fresh]).combine_chunks()
        places = np.searchsorted(numbers_of(pool), numbers)
        folded = self._folded(pool.take(pa.array(places)), features)
        emitted, results = newer_results(folded, self.results, self.names)

        def settle() -> None:
            self.results = results
            self._pass(pool)

        return emitted, settle

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
        return _first_revision(self.joined(rows, features))

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


class NativeEnds(Native):
    """`every=` with `emit="final"`: results at ends that the watermark has passed."""

    def ends(self, found: Any) -> dict[str, Any]:
        """Return the keys and bounds of results."""
        batch = pa.RecordBatch._import_from_c_capsule(*found)
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        return {
            name: _as(self.empty.schema.field(name).type, values)
            if name in self.definition.by
            else values
            for name, values in columns.items()
        }

    def emitted(self, rows: Any, first: int, late: Any, numbers: Any, features: Any) -> Emitted:
        """Return the results that are ready."""
        ends = self.ends(numbers)
        return self.paired(pa.table({**ends, **self.complete(ends, features)}))

    def paired(self, results: Any) -> Emitted:
        """Return what comes out of the results that are ready."""
        return results, _nothing

    @property
    def none(self) -> Any:
        """Return an empty table of results."""
        ends = self._ends()
        features = self.complete(ends, self.features(self.core.rows_of(0)))
        return pa.table({**ends, **features})

    def horizon(self) -> int | None:
        """Return a time up to which no row is needed any more."""
        slide = self.definition.slide
        assert slide is not None
        return None if slide.counted else super().horizon()

    def next_due(self) -> int | None:
        """Return a watermark before which no result is ready without new rows."""
        slide: Any = self.definition.slide
        waits = [] if self.core.oldest_waiting is None else [self.core.oldest_waiting]
        if self.watermark is not None and self.core.rows > self.core.waiting:
            if slide.in_time:
                waits.append(slide.next_end(self.watermark, self.clock))
            elif any(window.ends for window in self.definition.windows):
                waits.append(self.watermark + 1)  # any of these windows may have ended by then
        return min(waits, default=None)


class NativeChangedEnds(LastResults, NativeEnds):
    """`every=` with `emit="change"`: final results that differ from the previous of their key."""

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        super().__init__(definition, empty, program)
        self.last = last_columns(definition, self.none)

    def paired(self, results: Any) -> Emitted:
        """Return the results that have changed."""
        emitted, now = changed_results(self.definition, self.last, results)

        def settle() -> None:
            self.last = now

        return emitted, settle


class NativeRevisedEnds(NativeEnds):
    """`every=` with `emit="revise"`: each end that a batch changes."""

    def __init__(self, definition: Rolling, empty: Any, program: Program) -> None:
        """Start from an empty table with the columns of the rows to come."""
        super().__init__(definition, empty, program)
        self.results = _first_revision(self.none)

    def paired(self, results: Any) -> Emitted:
        """Return new and changed results; ends that have passed are forgotten."""
        emitted, now = newer_ends(_first_revision(results), self.results, self.definition)

        def settle() -> None:
            self.results = now
            if self.watermark is not None:
                alive = times_of(now, "window_end") > self.watermark
                self.results = now.filter(pa.array(alive)).combine_chunks()

        return emitted, settle

    def horizon(self) -> int | None:
        """Return None, because the last results are not in the rows."""
        return None

    def next_due(self) -> int | None:
        """Return None, because no row waits."""
        return None

    def side(self) -> Any:
        """Return the last results, which cannot be computed from the rows."""
        return self.results

    def fill_side(self, side: Any) -> None:
        """Set the last results."""
        self.results = require_side(side, self.results)

    @property
    def nbytes(self) -> int:
        """Return the size of the held rows and results in bytes."""
        return super().nbytes + int(self.results.nbytes)


def _first_revision(results: Any) -> Any:
    return results.append_column(REVISION, pa.array(np.zeros(len(results), np.int64)))


MODES: dict[str, type[Native]] = {
    "final": NativeFinal,
    "arrival": NativeArrival,
    "change": NativeChange,
    "revise": NativeRevise,
}


ENDS: dict[str, type[Native]] = {
    "final": NativeEnds,
    "change": NativeChangedEnds,
    "revise": NativeRevisedEnds,
}


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


def _as(kind: Any, values: Any) -> Any:
    """Return values that native code gave back in the type of their column."""
    if values.type == kind:
        return values
    encoded = values.dictionary_encode() if pa.types.is_dictionary(kind) else values
    return encoded.cast(kind)


def _nothing() -> None:
    """Do nothing: no row waits."""


def _numbered(rows: Any, numbers: Ints) -> Any:
    return rows.append_column(NUMBER, pa.array(numbers))
