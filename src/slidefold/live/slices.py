"""Slices for an `every` in time: rows that are in the same windows are one state.

Windows end at multiples of a step, so that in each step they start and end at a few times, the
edges. What lies between two edges is in the same windows. Its rows are added to one state, and a
window is the fold of the states between its edges: an end costs what its slices cost, however many
rows they have.
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

# With fewer ends a window, folding its rows again at each is cheaper than to keep states.
FEWEST_ENDS = 8


@dataclass(frozen=True)
class Grid:
    """The edges of windows, the same in every step, and numbers for what lies on and between them.

    An edge has an even number, what lies between two edges the odd number between theirs.

    >>> Grid(10, (0, 5)).numbers(np.array([0, 1, 5, 9, 10])).tolist()
    [2, 3, 4, 5, 6]
    """

    step: int
    edges: tuple[int, ...]

    def numbers(self, times: Ints) -> Ints:
        """Return the number of the edge or gap at which each time lies."""
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
        """Whether the numbers of all times fit 64 bits."""
        return self.step >= 4 * len(self.edges)


def grid_of(slide: EveryTime, windows: Iterable[Time], clock: Clock) -> Grid:
    """Return where windows start and end."""
    step, shift = slide.grid(clock)
    starts = [shift - window.native_rule(clock)[0] for window in windows]
    return Grid(step, tuple(sorted({edge % step for edge in (shift, *starts)})))


class Sliced(Incremental):
    """All columns of a definition with an `every` in time, their states by key and slice."""

    def __init__(self, definition: Any, rows: Any, clock: Clock, wanted: bool = True) -> None:
        """Look at the types of an empty table of the rows to come."""
        slide, schema = definition.slide, rows.schema
        overs = definition.columns.values()
        self.sliced = (
            wanted
            and slide.in_time
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
        """Forget all rows."""
        self.columns = {}
        self.parts: list[Any] = []  # of keys and times, the newest last
        for name in self.chosen:
            over = self.definition.columns[name]
            span, keeps_start, keeps_end = over.window.native_rule(self.clock)
            # From any end on the grid, it is as many edges and gaps to the start.
            _, end = self.definition.slide.grid(self.clock)
            far = self.grid.number(end) - self.grid.number(end - span)
            reach = far if keeps_start else far - 1, 0 if keeps_end else 1
            self.columns[name] = KeyedColumn(over, reach)

    def push(self, rows: Any, watermark: int | None, fresh: Array | None = None) -> dict[str, Any]:
        """Insert rows; the results of no row are of use."""
        if not self.sliced:
            return {}
        none = self._keys(rows).slice(0, 0)
        self.insert(rows, none, np.empty(0, np.int64), watermark)
        self.note(rows)
        return {}

    def note(self, rows: Any) -> None:
        """Remember which keys there are, for ends that no new row tells of."""
        if len(rows):
            self.parts.append(self._keys(rows))

    def insert(self, rows: Any, keys: Any, ends: Ints, watermark: int | None) -> dict[str, Any]:
        """Insert rows, and return the results of keys at some ends, if there are any.

        Each row of `keys` asks for the result at its end.
        """
        past = len(rows)
        if past + len(ends) == 0:
            return {}
        on, by = self.definition.on, self.definition.by
        numbers = self.grid.numbers(np.concatenate((times_of(rows, on), ends)))
        fresh = np.arange(len(numbers)) < past
        # A row after the watermark may lie in the same gap, and is not late.
        wall = None if watermark is None else self.grid.number(watermark) - 1
        both = pa.concat_tables([self._keys(rows), keys])
        batch = Batch(keys_of(both, by, self.whole), numbers, wall, fresh)
        found = {}
        for name, column in self.columns.items():
            inputs = [one_chunk(rows, each) for each in column.over.operator.columns]
            asking = [pa.nulls(len(ends), each.type) for each in inputs]
            columns = [pa.concat_arrays(pair) for pair in zip(inputs, asking, strict=True)]
            found[name] = column.push(batch, tuple(columns)).slice(past)
        return found

    def ordered(self, rows: Any) -> Sorted:
        """Return the newest row of each key, and these rows, in order.

        After a watermark, the ends of windows that hold any older row are ends of windows that hold
        the newest.
        """
        table = pa.concat_tables([*self.parts, self._keys(rows)])
        return sort_table(table, self.definition.on, self.definition.by, ())

    def forget(self, watermark: int) -> None:
        """Let keys go whose rows no window after the watermark holds, and all but newest rows."""
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
            newest[groups[order]] = order  # of those of a group, the last one stays
        self.parts = [table.take(pa.array(newest[times[newest] > watermark - self.reach]))]

    def _keys(self, rows: Any) -> Any:
        return rows.select([*self.definition.by, self.definition.on])
