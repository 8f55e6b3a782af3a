"""Rows with all their columns, which wait for the watermark."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.definition.windows.sorted_rows import Ints
from slidefold.live.tables import dicts


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
        return dicts(self.tables[at].slice(number - self.starts[at], 1))[0]

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
        for at in np.flatnonzero(np.bincount(places))[::-1]:
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
