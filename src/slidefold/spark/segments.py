"""Fold partitions that are sorted by key and time, batch by batch, with bounded memory.

Complete keys are folded together, in tables of a bounded size. A key that is longer than that is
read as a stream, which keeps only the rows that windows still need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns import run
from slidefold.columns.grouping import group_numbers
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import counted
from slidefold.errors import TimeOrderError
from slidefold.spark.failures import naming_key, naming_place

# Rows that are folded at a time; more rows take more memory and are not faster.
ROWS = 1 << 20


def fold_sorted(definition: Rolling, batches: Iterator[Any], rows: int = ROWS) -> Iterator[Any]:
    """Fold batches that are sorted by key and time, and yield tables of results.

    A key must not appear twice, and time must not go back; both are verified, since the results
    would be wrong.
    """
    source = _Keys(definition, batches, rows)
    while (table := source.whole_keys()) is not None:
        if len(table):
            with naming_place(definition, table):
                results = run(definition, table)
            yield results
        if source.long_key:
            yield from source.stream()


class _Keys:
    """Groups batches by key; it holds back the rows of the last key, since more may follow."""

    def __init__(self, definition: Rolling, batches: Iterator[Any], rows: int) -> None:
        self.definition, self.batches, self.rows = definition, batches, rows
        self.held: Any = None
        self.ended = False
        self.long_key = False
        self.seen: set[tuple[Any, ...]] = set()

    def whole_keys(self) -> Any:
        """Return the rows of complete keys; None at the end.

        Sets `long_key` if the next key has more rows than one table may hold.
        """
        self.long_key = False
        while True:
            held = 0 if self.held is None else len(self.held)
            if self.ended:
                table, self.held = self.held, None
                if table is not None:
                    self._starts(table, new=True)
                return table
            if held >= self.rows:
                starts = self._starts(self.held)
                last = int(starts[-1])
                if last == 0:
                    self.long_key = True
                    return self.held.slice(0, 0)
                table, self.held = self.held.slice(0, last), self.held.slice(last)
                self._starts(table, new=True)
                return table
            self._read()

    def _read(self) -> None:
        batch = next(self.batches, None)
        if batch is None:
            self.ended = True
            return
        table = pa.Table.from_batches([batch])
        self.held = table if self.held is None else pa.concat_tables([self.held, table])

    def _starts(self, table: Any, new: bool = False) -> Any:
        """Return where keys start; with `new` the keys are complete and are verified."""
        definition = self.definition
        codes, _ = group_numbers(table, definition.by)
        if codes is None:
            codes = np.zeros(len(table), np.int64)
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        if new:
            self._verify(table, codes, starts)
        return starts

    def _verify(self, table: Any, codes: Any, starts: Any) -> None:
        definition = self.definition
        keys = key_tuples(table, definition.by, starts)
        for key in keys:
            if key in self.seen:
                raise _not_sorted(definition, key, "appears twice")
            self.seen.add(key)
        _, times = counted(definition.on, table[definition.on].combine_chunks())
        back = np.flatnonzero((times[1:] < times[:-1]) & (codes[1:] == codes[:-1])) + 1
        if len(back):
            key = key_tuples(table, definition.by, back[:1])[0]
            raise _not_sorted(definition, key, f"goes back in {definition.on!r}")

    def stream(self) -> Iterator[Any]:
        """Fold the current key as a stream, up to its last row."""
        schema = self.held.schema
        if self.definition.slide is not None:
            yield run(self.definition, pa.Table.from_batches(self._one_key(), schema))
            return
        first = self.held.slice(0, 1)
        reader = pa.RecordBatchReader.from_batches(schema, self._one_key())
        with naming_key(self.definition, first):
            for batch in run(self.definition, reader):
                yield pa.Table.from_batches([batch])

    def _one_key(self) -> Iterator[Any]:
        """Yield the batches of the current key, and hold the rows after it."""
        definition = self.definition
        table, self.held = self.held, None
        (key,) = key_tuples(table, definition.by, [0])
        if key in self.seen:
            raise _not_sorted(definition, key, "appears twice")
        self.seen.add(key)
        first = table.slice(0, 1)
        while True:
            yield from table.to_batches()
            batch = next(self.batches, None)
            if batch is None:
                self.ended = True
                return
            # Rows belong to the key while they are in the group of its first row.
            both = pa.concat_tables([first, pa.Table.from_batches([batch])])
            codes, _ = group_numbers(both, definition.by)
            other = np.flatnonzero(codes) if codes is not None else np.empty(0, np.int64)
            if len(other):
                place = int(other[0])
                yield from both.slice(1, place - 1).to_batches()
                self.held = both.slice(place)
                return
            table = both.slice(1)


def key_tuples(table: Any, names: Sequence[str], rows: Any) -> list[tuple[Any, ...]]:
    """Return the keys of some rows; NaN equals NaN and -0.0 equals 0.0, as everywhere."""
    taken = [table[name].take(pa.array(rows)).to_pylist() for name in names]
    return [tuple(_key(value) for value in key) for key in zip(*taken, strict=True)] or [()]


def _key(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and value != value else value


def _not_sorted(definition: Rolling, key: tuple[Any, ...], what: str) -> TimeOrderError:
    text = ", ".join(f"{name}={value!r}" for name, value in zip(definition.by, key, strict=True))
    order = " and ".join(filter(None, (", ".join(definition.by), definition.on)))
    return TimeOrderError(f"the data is not sorted by {order}: {text or 'time'} {what}")
