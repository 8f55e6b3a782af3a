"""Slices for `every=` in time: rows that are in the same windows share one state.

Windows end at multiples of a step, so in each step they start and end at a few times, the edges.
All rows between two edges are in the same windows, so they are added to one state. A window is the
fold of the states between its edges: its cost depends on the number of slices, not of rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.grouping import Sorted, group_numbers, one_chunk, sort_table
from slidefold.columns.values import Array
from slidefold.definition.windows import Clock, EveryTime, Time, reach_back
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.live.incremental import Batch, Incremental, KeyedColumn, fit, fit_keys, keys_of
from slidefold.live.lateness import times_of

# With fewer ends per window, folding its rows again at each end is cheaper than keeping states.
FEWEST_ENDS = 8


@dataclass(frozen=True)
class Grid:
    """The edges of windows, the same in every step, with numbers for edges and gaps.

    An edge has an even number, and the gap between two edges has the odd number between theirs.

    >>> Grid(10, (0, 5)).numbers(np.array([0, 1, 5, 9, 10])).tolist()
    [2, 3, 4, 5, 6]
    """

    step: int
    edges: tuple[int, ...]

    def numbers(self, times: Ints) -> Ints:
        """Return the number of the edge or gap of each time."""
        edges = np.array(self.edges)
        steps = times // self.step
        rest = times - steps * self.step
        passed = np.searchsorted(edges, rest, "right")
        on_edge = np.isin(rest, edges)
        return 2 * (steps * len(edges) + passed) + ~on_edge

    def number(self, time: int) -> int:
        """Return the number of one time."""
        return int(self.numbers(np.array([time]))[0])

    @property
    def fits(self) -> bool:
        """Tell whether the numbers of all times fit in 64 bits."""
        return self.step >= 4 * len(self.edges)


def grid_of(slide: EveryTime, windows: Iterable[Time], clock: Clock) -> Grid:
    """Return the grid of times at which windows start and end."""
    step, shift = slide.grid(clock)
    starts = [shift - window.native_rule(clock)[0] for window in windows]
    return Grid(step, tuple(sorted({edge % step for edge in (shift, *starts)})))


class Sliced(Incremental):
    """All columns of a definition with `every=` in time, with states by key and slice."""

    def __init__(self, definition: Any, rows: Any, clock: Clock, wanted: bool = True) -> None:
        """Decide by the types of an empty table whether to keep slices."""
        slide, schema = definition.slide, rows.schema
        overs = definition.columns.values()
        self.sliced = (
            wanted
            and slide.in_time
            and definition.zone is None  # local days differ in length
            and fit_keys(schema, definition.by)
            and all(fit(over, schema) for over in overs)
        )
        if self.sliced:
            windows: Any = definition.windows
            self.grid = grid_of(slide, windows, clock)
            self.reach = reach_back(windows, clock)
            many = self.reach is not None and self.reach >= FEWEST_ENDS * self.grid.step
            self.sliced = many and self.grid.fits
        super().__init__(definition, rows, clock, wanted=self.sliced)

    def choose(self, schema: Any) -> list[str]:
        """Choose all columns or none."""
        return list(self.definition.columns) if self.sliced else []

    def clear(self) -> None:
        """Remove all rows."""
        self.columns = {}
        self.parts: list[Any] = []  # tables of keys and times, the newest last
        for name in self.chosen:
            over = self.definition.columns[name]
            span, keeps_start, keeps_end = over.window.native_rule(self.clock)
            # The number of edges and gaps from end to start is the same for all ends.
            _, end = self.definition.slide.grid(self.clock)
            far = self.grid.number(end) - self.grid.number(end - span)
            reach = far if keeps_start else far - 1, 0 if keeps_end else 1
            self.columns[name] = KeyedColumn(over, reach)

    def push(self, rows: Any, watermark: int | None, fresh: Array | None = None) -> dict[str, Any]:
        """Insert rows; return no results, because only ends have results."""
        if not self.sliced:
            return {}
        none = self._keys(rows).slice(0, 0)
        self.insert(rows, none, np.empty(0, np.int64), watermark)
        self.note(rows)
        return {}

    def note(self, rows: Any) -> None:
        """Remember the keys of rows, for ends without a new row."""
        if len(rows):
            self.parts.append(self._keys(rows))

    def insert(self, rows: Any, keys: Any, ends: Ints, watermark: int | None) -> dict[str, Any]:
        """Insert rows, and return the results of keys at the given ends, if there are any.

        Row i of `keys` gets the result at `ends[i]`.
        """
        past = len(rows)
        if past + len(ends) == 0:
            return {}
        on, by = self.definition.on, self.definition.by
        numbers = self.grid.numbers(np.concatenate((times_of(rows, on), ends)))
        fresh = np.arange(len(numbers)) < past
        # A row after the watermark may be in the same gap, and is not late.
        wall = None if watermark is None else self.grid.number(watermark) - 1
        both = pa.concat_tables([self._keys(rows), keys])
        batch = Batch(keys_of(both, by, self.whole), numbers, wall, fresh)
        results = {}
        for name, column in self.columns.items():
            inputs = [one_chunk(rows, source) for source in column.over.operator.columns]
            asking = [pa.nulls(len(ends), values.type) for values in inputs]
            columns = [pa.concat_arrays(pair) for pair in zip(inputs, asking, strict=True)]
            results[name] = column.push(batch, tuple(columns)).slice(past)
        return results

    def ordered(self, rows: Any) -> Sorted:
        """Return the newest row of each key and these rows, in window order.

        The newest rows are enough: after a watermark, a window that holds an older row of a key
        ends where a window that holds the newest row ends.
        """
        table = pa.concat_tables([*self.parts, self._keys(rows)])
        return sort_table(table, self.definition.on, self.definition.by, ())

    def forget(self, watermark: int) -> None:
        """Drop keys whose rows no window after the watermark holds, and all but the newest rows."""
        if not self.parts:
            return
        assert self.reach is not None
        table = pa.concat_tables(self.parts).combine_chunks()
        times = times_of(table, self.definition.on)
        groups, count = group_numbers(table, self.definition.by)
        order = np.argsort(times, kind="stable")
        newest = order[-1:]
        if groups is not None:
            newest = np.empty(count, np.int64)
            newest[groups[order]] = order  # the last row of a group overwrites the others
        self.parts = [table.take(pa.array(newest[times[newest] > watermark - self.reach]))]

    def _keys(self, rows: Any) -> Any:
        return rows.select([*self.definition.by, self.definition.on])
