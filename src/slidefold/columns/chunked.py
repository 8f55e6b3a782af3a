"""A definition over one chunk of time: its own rows, its halo, and what stands for its middle.

`summarize` looks at any rows, in any partition, and says for each segment of time what stands for
its rows; `merged` puts such pieces together; `fold_chunk` folds a chunk with those of its middles.
Each leaf has segments of its own, which its middles consist of: windows of other lengths do not cut
its rows into more pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.compute import Path, columns_from
from slidefold.columns.expressions import completed, core_schema, with_derived
from slidefold.columns.folds import count_values, fold, spread_results
from slidefold.columns.grouping import Sorted, sort_table, without_views
from slidefold.columns.middles import (
    States,
    combine_states,
    fold_around,
    fold_counted,
    kernels_of,
    mode_of,
    picked,
    states_of,
)
from slidefold.columns.spans import Span
from slidefold.definition.rolling import Leaf, Rolling
from slidefold.definition.windows import SortedRows
from slidefold.definition.windows.sorted_rows import Ints
from slidefold.errors import DataError
from slidefold.planner import plan_leaf

# What stands for the rows of a partition goes to the driver, so it must be small: a leaf that needs
# more bytes than this in one partition sends its whole windows between chunks instead.
MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class Part:
    """What stands for some rows: how many values they hold, and what their leaf needs of them."""

    count: int
    rows: Any = None  # picked rows, with all columns that order them
    states: States | None = None


@dataclass(frozen=True)
class Pieces:
    """What stands for the rows in each segment of a leaf; the rows are those of all segments."""

    counts: Ints
    rows: Any = None
    states: list[States | None] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """How many bytes travel."""
        states = sum(len(state) for each in self.states for state in each or ())
        return states + (0 if self.rows is None else int(self.rows.nbytes))


@dataclass(frozen=True)
class Summary:
    """What stands for the rows of each segment: their number, and pieces for each leaf.

    Leaves of which too much would travel are `heavy`, and have no pieces.
    """

    counts: Ints
    pieces: dict[Path, Pieces] = field(default_factory=dict)
    heavy: set[Path] = field(default_factory=set)


# The edges between a leaf's segments, and what stands for the rows in them: "state" or "rows".
Cutting = Mapping[Path, tuple[str, Sequence[int]]]


def kinds_of(leaf: Leaf, schema: Any) -> list[Any]:
    """Return the types of a leaf's columns."""
    return [schema.field(name).type for name in leaf.operator.columns]


def modes(definition: Rolling, schema: Any) -> dict[Path, str]:
    """Return what stands for the middle of each leaf, for columns of a schema."""
    schema = core_schema(definition, schema)
    return {
        leaf.path: "whole"
        if leaf.window.delay is not None  # not all windows of a chunk hold the rows before it
        else mode_of(leaf.operator, kinds_of(leaf, schema))
        for leaf in definition.leaves
    }


def wants_order(definition: Rolling, mode: Mapping[Path, str]) -> bool:
    """Tell whether all rows of a segment must be summarized together, since order matters."""
    return any(
        mode[leaf.path] == "state" and not leaf.operator.commutes for leaf in definition.leaves
    )


def summarize(definition: Rolling, table: Any, edges: Sequence[int], cutting: Cutting) -> Summary:
    """Summarize the rows of a table between edges: segment g starts at edge g-1."""
    ordered = _sorted(definition, table)
    lo, hi = _bounds(ordered, edges)
    summary = Summary(hi - lo)
    bounds: dict[tuple[int, ...], tuple[Ints, Ints]] = {}
    for leaf in definition.leaves:
        if leaf.path not in cutting:
            continue
        mode, own = cutting[leaf.path]
        if tuple(own) not in bounds:
            bounds[tuple(own)] = _bounds(ordered, own)
        pieces = _pieces(definition, leaf, mode, ordered, *bounds[tuple(own)])
        if pieces.nbytes > MOST_BYTES:
            summary.heavy.add(leaf.path)
        else:
            summary.pieces[leaf.path] = pieces
    return summary


def _bounds(ordered: Sorted, edges: Sequence[int]) -> tuple[Ints, Ints]:
    """Return the first row of each segment, and the one after its last."""
    bounds = np.searchsorted(ordered.rows.times, np.array(edges, np.int64), "left")
    lo = np.concatenate(([0], bounds)).astype(np.int64)
    return lo, np.append(bounds, len(ordered.rows)).astype(np.int64)


def _sorted(definition: Rolling, table: Any) -> Sorted:
    table = with_derived(definition, without_views(table.select(list(definition.used))))
    return sort_table(table, definition.on, (), definition.ties)


def _pieces(
    definition: Rolling, leaf: Leaf, mode: str, ordered: Sorted, lo: Ints, hi: Ints
) -> Pieces:
    operator = leaf.operator
    columns = tuple(ordered.rows.column(name) for name in operator.columns)
    counts = count_values(columns, lo, hi)
    if operator.record.never_null:  # the number of values is all there is to know
        return Pieces(counts)
    if mode == "state":
        return Pieces(counts, states=states_of(operator, columns, lo, hi))
    # Picked rows need their values, and what puts them in order again.
    kept = dict.fromkeys((definition.on, *definition.ties, *operator.columns))
    chosen = pa.array(np.concatenate(picked(operator, columns, lo, hi)))
    return Pieces(counts, pa.table({name: ordered.rows.column(name).take(chosen) for name in kept}))


def merged(
    definition: Rolling,
    leaf: Leaf,
    schema: Any,
    given: Sequence[Pieces],
    starts: Sequence[int],
    ranges: Sequence[range],
) -> list[Part]:
    """Return what stands for the rows of each range of segments, from the pieces of all partitions.

    `starts` are the times at which segments start. Where order matters, the rows of a segment are
    in one partition.
    """
    before = np.concatenate(([0], np.cumsum(sum(pieces.counts for pieces in given))))
    counts = [int(before[each.stop] - before[each.start]) for each in ranges]
    states = _merged_states(leaf, schema, [pieces.states for pieces in given], ranges)
    rows = _merged_rows(definition, leaf, given, starts, ranges)
    return [Part(*part) for part in zip(counts, rows, states, strict=True)]


def _merged_states(
    leaf: Leaf, schema: Any, given: Sequence[list[States | None]], ranges: Sequence[range]
) -> list[States | None]:
    if not any(given):
        return [None] * len(ranges)
    kernels = kernels_of(leaf.operator, kinds_of(leaf, schema))
    # A segment is in many ranges: its states from all partitions are combined once.
    whole = [combine_states(kernels, states) for states in zip(*given, strict=True)]
    return [combine_states(kernels, whole[each.start : each.stop]) for each in ranges]


def _merged_rows(
    definition: Rolling,
    leaf: Leaf,
    given: Sequence[Pieces],
    starts: Sequence[int],
    ranges: Sequence[range],
) -> list[Any]:
    tables = [pieces.rows for pieces in given if pieces.rows is not None and len(pieces.rows)]
    if not tables:
        return [None] * len(ranges)
    table = pa.concat_tables(tables)
    ordered = sort_table(table, definition.on, (), definition.ties)
    columns = {name: ordered.rows.column(name) for name in table.column_names}
    bounds = np.searchsorted(ordered.rows.times, np.array(starts, np.int64), "left")
    lo = np.array([bounds[each.start] for each in ranges], np.int64)
    hi = np.array([bounds[each.stop] for each in ranges], np.int64)
    operands = tuple(columns[name] for name in leaf.operator.columns)
    chosen = (pa.array(rows) for rows in picked(leaf.operator, operands, lo, hi))
    return [
        pa.table({name: values.take(rows) for name, values in columns.items()}) for rows in chosen
    ]


# ---- folding a chunk ----------------------------------------------------------------------------


def fold_chunk(
    definition: Rolling,
    table: Any,
    spans: Mapping[Path, Span],
    middles: Mapping[Path, Part],
) -> Any:
    """Fold one chunk: a table of its own rows and its halos gives its own rows with the results."""
    ordered = _sorted(definition, table)
    times = ordered.rows.times
    start = next(iter(spans.values())).own
    own = int(np.searchsorted(times, start, "left"))
    results: dict[Path, Any] = {}
    cached: dict[tuple[Any, Span], tuple[Ints, Ints]] = {}
    for leaf in definition.leaves:
        span = spans[leaf.path]
        first, past = (int(i) for i in np.searchsorted(times, (span.halo, span.middle), "left"))
        if (leaf.window, span) not in cached:
            cached[leaf.window, span] = _frames(leaf, span, ordered.rows, first, past, own)
        lo, hi = cached[leaf.window, span]
        middle = middles.get(leaf.path, Part(0))
        held = _Held(ordered.rows, first, past, own)
        results[leaf.path] = _fold_leaf(leaf, held, lo, hi, middle)
    columns = columns_from(definition, results)
    if ordered.order is None:
        rows = table.slice(own)
    else:
        mask = np.zeros(len(table), np.bool_)
        mask[ordered.order[own:]] = True
        rows = table.filter(pa.array(mask))
        place = np.empty(len(table), np.int64)
        place[ordered.order] = np.arange(len(table))
        back = pa.array(place[mask] - own)
        columns = {name: values.take(back) for name, values in columns.items()}
    for name, values in completed(definition, rows, columns).items():
        rows = rows.append_column(name, values)
    return rows


@dataclass(frozen=True)
class _Held:
    """The rows that a window of the chunk may hold: those of its halo, then the chunk's own."""

    rows: SortedRows
    first: int
    past: int
    own: int

    @property
    def halo(self) -> int:
        return self.past - self.first

    def column(self, name: str, between: Any = None) -> Any:
        """Return a column of halo, what stands for the middle, and own rows."""
        values = self.rows.column(name)
        if between is None and self.past == self.own:
            return values.slice(self.first)
        parts = [values.slice(self.first, self.halo), values.slice(self.own)]
        if between is not None:
            parts.insert(1, between)
        return pa.concat_arrays(parts)


def _frames(
    leaf: Leaf, span: Span, rows: SortedRows, first: int, past: int, own: int
) -> tuple[Ints, Ints]:
    """Return the windows of own rows, over halo and own rows as if nothing lay between them."""
    halo, window = past - first, leaf.window
    if window.last_rows:
        halo_rank, middle_rank, own_rank = span.ranks
        if halo != middle_rank - halo_rank:
            raise DataError(
                f"the input changed between scans: {middle_rank - halo_rank} rows before a chunk "
                f"have become {halo}; cache or write it first"
            )
        end = own_rank + np.arange(len(rows) - own) + (window.closed == "right")
        begin = np.maximum(end - window.last_rows, 0)
        hi = halo + end - own_rank
        lo = np.where(
            begin < middle_rank, begin - halo_rank, halo + np.maximum(begin - own_rank, 0)
        )
        return np.minimum(lo, hi), hi
    times = np.concatenate((rows.times[first:past], rows.times[own:]))
    view = SortedRows(np.array([0, len(times)]), times, rows.clock, rows.column)
    lo, hi = window.frames(view)
    return lo[halo:], hi[halo:]


def _fold_leaf(leaf: Leaf, held: _Held, lo: Ints, hi: Ints, middle: Part) -> Any:
    names = leaf.operator.columns
    columns = tuple(held.column(name) for name in names)
    flag = leaf.operator.flag
    if flag is not None or leaf.operator.own:
        plan = plan_leaf(leaf, [column.type for column in columns])
        flags = None if flag is None else held.column(flag)
        own = None
        if leaf.operator.own:
            own = held.rows.column(leaf.operator.own).slice(held.own)
        return fold(plan, columns, (lo, hi), flags=flags, own=own)
    enough = None
    if leaf.min_count is not None:
        enough = count_values(columns, lo, hi) + middle.count >= leaf.min_count
        lo, hi = lo[enough], hi[enough]  # the others are null, whatever they would give
    plan = plan_leaf(replace(leaf, min_count=None), [column.type for column in columns])
    if leaf.operator.record.never_null:
        results = fold_counted(plan, columns, lo, hi, middle.count)
    elif middle.states is not None:
        results = fold_around(plan, columns, lo, hi, held.halo, middle.states)
    else:
        if middle.rows is not None and len(middle.rows):
            more = len(middle.rows)
            columns = tuple(held.column(name, _between(held, middle, name)) for name in names)
            # Every window of the chunk holds the middle: it starts before it and ends behind it.
            lo, hi = np.where(lo > held.halo, lo + more, lo), hi + more
        results = fold(plan, columns, (lo, hi))
    return results if enough is None else spread_results(results, enough)


def _between(held: _Held, middle: Part, name: str) -> Any:
    """Return a column of the rows that stand for the middle."""
    return middle.rows[name].combine_chunks().cast(held.rows.column(name).type)
