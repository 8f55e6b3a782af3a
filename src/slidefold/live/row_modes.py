"""The results of rows, by `emit`.

Rows that wait for the watermark are kept here with all their columns, because they come out again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.grouping import sort_table
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.live.changes import changed_results, last_columns, peer_order
from slidefold.live.lateness import times_of
from slidefold.live.native import Emitted, Native, nothing_to_settle
from slidefold.live.program import Program
from slidefold.live.revisions import (
    NUMBER,
    REVISION,
    first_revision,
    newer_results,
    numbers_of,
)
from slidefold.live.snapshot import require_last


class NativeFinal(Native):
    """`emit="final"`: rows come out once, when the watermark has passed them."""

    waits = True

    def emitted(self, rows: Any, first: int, late: Any, numbers: Ints, features: Any) -> Emitted:
        """Return the rows that have become final."""
        carried, added = self.carried, self.carried.add(first, rows, late)
        try:
            due = carried.find(numbers)
            self.require_fit(due)
            found = self.paired(due, features)
        except BaseException:
            if added:
                carried.drop_last()
            raise
        return found, lambda: carried.forget(numbers)

    def paired(self, rows: Any, features: dict[str, Any]) -> Any:
        """Return rows with their features."""
        return self.joined(rows, features, self.result)

    def keep(self, first: int, rows: Any, passed: Ints) -> None:
        """Keep the rows that wait."""
        self.carried.add(first, rows)
        self.carried.forget(passed)

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
        self.require_fit(rows)
        if len(numbers) != len(rows) or (len(rows) > 1 and (np.diff(numbers) != 1).any()):
            rows = rows.take(pa.array(numbers))
        return self.joined(rows, features, self.result), nothing_to_settle


class LastResults(Native):
    """A mode that keeps the last result of each key."""

    sided = True
    last: Any

    def horizon(self) -> int | None:
        """Return None, because the last result of an idle key may come from a row of any age."""
        return None

    def last_results(self) -> Any:
        """Return the last results, which cannot be computed from the rows."""
        return self.last

    def fill_last(self, last: Any) -> None:
        """Set the last results."""
        self.last = require_last(last, self.last)

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

    sided = True

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
        self.require_fit(pool)
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
        return first_revision(self.joined(rows, features))

    def keep(self, first: int, rows: Any, passed: Ints) -> None:
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

    def last_results(self) -> Any:
        """Return the last results of pending rows, in row order."""
        return self.results.drop_columns([NUMBER])

    def fill_last(self, last: Any) -> None:
        """Set the last results of the pending rows."""
        last = require_last(last, self.last_results(), len(self.pending))
        self.results = last.add_column(0, NUMBER, self.pending[NUMBER])

    @property
    def nbytes(self) -> int:
        """Return the size of the held rows and results in bytes."""
        return super().nbytes + int(self.results.nbytes + self.pending.nbytes)


def _numbered(rows: Any, numbers: Ints) -> Any:
    return rows.append_column(NUMBER, pa.array(numbers))


MODES: dict[str, type[Native]] = {
    "final": NativeFinal,
    "arrival": NativeArrival,
    "change": NativeChange,
    "revise": NativeRevise,
}
