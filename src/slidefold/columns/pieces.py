"""A definition over one chunk of time: its own rows, its halo, and what stands for its middle.

`summarize` looks at any rows, in any partition, and says for each segment of time what stands for
its rows; `merged` puts such parts together; `fold_chunk` folds a chunk with those of its middles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.chunks import Span
from slidefold.columns.compute import Definition
from slidefold.columns.decayed import decayed_parts, fold_decayed
from slidefold.columns.exact import limb_sums
from slidefold.columns.folds import count_values, fold, present_rows, spread_results
from slidefold.columns.grouping import Sorted, sort_table, without_views
from slidefold.columns.leaves import Leaf, Path, columns_from, leaves_of
from slidefold.columns.merging import (
    Moments,
    centred,
    exact_mean,
    finish,
    less_pivot,
    merge,
    moments_of,
    part_of,
    time_steps,
)
from slidefold.columns.standins import (
    fold_values,
    folded,
    mode_of,
    picked,
    value_rows,
    widened,
)
from slidefold.columns.states import fold_around, in_order, states_of
from slidefold.columns.values import plain
from slidefold.errors import DataError
from slidefold.definition.operators import UserOperator
from slidefold.definition.windows import Rows, SortedRows
from slidefold.definition.windows.sorted_rows import Ints


@dataclass(frozen=True)
class Part:
    """What stands for some rows: how many values they hold, and what their leaf needs of them."""

    count: int
    rows: Any = None  # picked rows, with all columns that order them
    value: Any = None
    moments: Moments | None = None


@dataclass(frozen=True)
class Summary:
    """What stands for the rows of each segment: their number, and a part for each leaf."""

    counts: Ints
    parts: dict[Path, list[Part]] = field(default_factory=dict)


def modes(definition: Definition, whole: frozenset[Path] = frozenset()) -> dict[Path, str]:
    """Return how the middle of each leaf is stood for; those in `whole` keep all rows."""
    return {
        leaf.path: "whole" if leaf.path in whole else mode_of(leaf.operator)
        for leaf in leaves_of(definition)
    }


def wants_order(definition: Definition, mode: Mapping[Path, str]) -> bool:
    """Tell whether all rows of a segment must be summarized together, since order matters."""
    return any(
        mode[leaf.path] == "state" and in_order(leaf.operator) for leaf in leaves_of(definition)
    )


def summarize(
    definition: Definition, table: Any, edges: Sequence[int], mode: Mapping[Path, str]
) -> Summary:
    """Summarize the rows of a table between edges: segment g starts at edge g-1."""
    ordered = _sorted(definition, table)
    bounds = np.searchsorted(ordered.rows.times, np.array(edges, np.int64), "left")
    lo = np.concatenate(([0], bounds)).astype(np.int64)
    hi = np.append(bounds, len(ordered.rows)).astype(np.int64)
    found = Summary(hi - lo)
    for leaf in leaves_of(definition):
        if mode[leaf.path] != "whole":
            found.parts[leaf.path] = _parts(definition, leaf, mode[leaf.path], ordered, lo, hi)
    return found


def _sorted(definition: Definition, table: Any) -> Sorted:
    table = without_views(table.select(list(definition.used)))
    return sort_table(table, definition.on, (), definition.ties)


def _parts(
    definition: Definition, leaf: Leaf, mode: str, ordered: Sorted, lo: Ints, hi: Ints
) -> list[Part]:
    operator = leaf.operator
    columns = tuple(ordered.rows.column(name) for name in operator.columns)
    counts = count_values(columns, lo, hi)
    if mode == "merged":
        moments = _moments(leaf, columns, lo, hi)
        return [Part(int(n), moments=part_of(moments, i)) for i, n in enumerate(counts)]
    if mode == "folded":
        values = folded(operator, columns[0], lo, hi)
        return [Part(int(n), value=value) for n, value in zip(counts, values, strict=True)]
    if mode == "state" and isinstance(operator, UserOperator):
        states = states_of(operator, columns, lo, hi)
        return [Part(int(n), value=state) for n, state in zip(counts, states, strict=True)]
    if mode == "decayed":
        means = decayed_parts(operator, columns, lo, hi)
        return [Part(int(n), value=mean) for n, mean in zip(counts, means, strict=True)]
    kept = _kept_columns(definition, leaf)
    made = []
    for n, rows in zip(counts, picked(operator, columns, lo, hi), strict=True):
        taken = {name: ordered.rows.column(name).take(pa.array(rows)) for name in kept}
        made.append(Part(int(n), rows=pa.table(taken)))
    return made


def _kept_columns(definition: Definition, leaf: Leaf) -> tuple[str, ...]:
    """Return what picked rows need: their values, and what puts them in order again."""
    return tuple(dict.fromkeys((definition.on, *definition.ties, *leaf.operator.columns)))


def merged(definition: Definition, leaf: Leaf, parts: Sequence[Part]) -> Part:
    """Return what stands for the rows of several parts together, in time order where it matters."""
    count = sum(part.count for part in parts)
    rows = [part.rows for part in parts if part.rows is not None and len(part.rows)]
    value, moments = fold_values(leaf.operator, [part.value for part in parts]), None
    for part in parts:
        if part.moments is not None:
            moments = part.moments if moments is None else merge(moments, part.moments)
    if not rows:
        return Part(count, None, value, moments)
    table = pa.concat_tables(rows)
    ordered = sort_table(table, definition.on, (), definition.ties)
    columns = tuple(ordered.rows.column(name) for name in leaf.operator.columns)
    ends = np.array([0]), np.array([len(table)])
    chosen = pa.array(picked(leaf.operator, columns, *ends)[0])
    taken = {name: ordered.rows.column(name).take(chosen) for name in table.column_names}
    return Part(count, pa.table(taken), value, moments)


# ---- folding a chunk ----------------------------------------------------------------------------


def fold_chunk(
    definition: Definition,
    table: Any,
    spans: Mapping[Path, Span],
    middles: Mapping[Path, Part],
    mode: Mapping[Path, str],
) -> Any:
    """Fold one chunk: a table of its own rows and its halos gives its own rows with the results."""
    ordered = _sorted(definition, table)
    times = ordered.rows.times
    start = next(iter(spans.values())).own
    own = int(np.searchsorted(times, start, "left"))
    found: dict[Path, Any] = {}
    cached: dict[tuple[Any, Span], tuple[Ints, Ints]] = {}
    for leaf in leaves_of(definition):
        span = spans[leaf.path]
        first, past = (int(i) for i in np.searchsorted(times, (span.halo, span.middle), "left"))
        if (leaf.window, span) not in cached:
            cached[leaf.window, span] = _frames(leaf, span, ordered.rows, first, past, own)
        lo, hi = cached[leaf.window, span]
        middle = middles.get(leaf.path, Part(0))
        held = _Held(ordered.rows, first, past, own)
        found[leaf.path] = _fold_leaf(leaf, mode[leaf.path], held, lo, hi, middle)
    results = columns_from(definition, found)
    if ordered.order is None:
        rows = table.slice(own)
    else:
        mask = np.zeros(len(table), np.bool_)
        mask[ordered.order[own:]] = True
        rows = table.filter(pa.array(mask))
        place = np.empty(len(table), np.int64)
        place[ordered.order] = np.arange(len(table))
        back = pa.array(place[mask] - own)
        results = {name: values.take(back) for name, values in results.items()}
    for name, values in results.items():
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
            parts = [widened(part) if part.type != between.type else part for part in parts]
            parts.insert(1, between)
        return pa.concat_arrays(parts)


def _frames(
    leaf: Leaf, span: Span, rows: SortedRows, first: int, past: int, own: int
) -> tuple[Ints, Ints]:
    """Return the windows of own rows, over halo and own rows as if nothing lay between them."""
    halo, window = past - first, leaf.window
    if isinstance(window, Rows):
        halo_rank, middle_rank, own_rank = span.ranks
        if halo != middle_rank - halo_rank:
            raise DataError(
                f"the input changed between scans: {middle_rank - halo_rank} rows before a chunk "
                f"have become {halo}; cache or write it first"
            )
        end = own_rank + np.arange(len(rows) - own) + (window.closed == "right")
        begin = np.maximum(end - window.n, 0)
        hi = halo + end - own_rank
        lo = np.where(
            begin < middle_rank, begin - halo_rank, halo + np.maximum(begin - own_rank, 0)
        )
        return np.minimum(lo, hi), hi
    times = np.concatenate((rows.times[first:past], rows.times[own:]))
    view = SortedRows(np.array([0, len(times)]), times, rows.clock, rows.column)
    lo, hi = window.frames(view)
    return lo[halo:], hi[halo:]


def _fold_leaf(leaf: Leaf, mode: str, held: _Held, lo: Ints, hi: Ints, middle: Part) -> Any:
    operator = leaf.operator
    names = operator.columns
    columns = tuple(held.column(name) for name in names)
    enough = None
    if leaf.min_count is not None:
        enough = count_values(columns, lo, hi) + middle.count >= leaf.min_count
        lo, hi = lo[enough], hi[enough]  # the others are null, whatever they would give
    if mode == "merged":
        moments = _moments(leaf, columns, lo, hi)
        if middle.moments is not None:
            moments = merge(middle.moments, moments)
        found = finish(operator, moments)
    elif isinstance(operator, UserOperator) and middle.value is not None:
        around = held.halo, middle.value
        found = fold_around(operator, leaf.window, leaf.algorithm, columns, (lo, hi), around)
    elif mode == "decayed" and middle.value is not None:
        around = held.halo, middle.value
        found = fold_decayed(operator, leaf.window, leaf.algorithm, columns, (lo, hi), around)
    else:
        between = _between(operator, held, middle)
        if between:
            columns = tuple(held.column(name, between[name]) for name in names)
            more = len(between[names[0]])
            # Every window of the chunk holds the middle: it starts before it and ends behind it.
            lo, hi = np.where(lo > held.halo, lo + more, lo), hi + more
        found = fold(operator, leaf.window, columns, (lo, hi), None, leaf.algorithm)
    return found if enough is None else spread_results(found, enough)


def _between(operator: Any, held: _Held, middle: Part) -> dict[str, Any]:
    """Return the rows that stand for the middle, by column; nothing if it is empty."""
    if middle.rows is not None:
        return {
            name: middle.rows[name].combine_chunks().cast(held.rows.column(name).type)
            for name in operator.columns
        }
    if middle.value is not None:
        name = operator.columns[0]
        kind = widened(held.rows.column(name).slice(0, 0)).type
        return {name: value_rows(middle.value, kind)}
    return {}


def _moments(leaf: Leaf, columns: tuple[Any, ...], lo: Ints, hi: Ints) -> Moments:
    """Return the moments over frames: only rows without a null in any column count."""
    valid = present_rows(columns)
    if valid is not None:
        before = np.concatenate(([0], np.cumsum(valid)))
        lo, hi = before[lo], before[hi]
        columns = tuple(column.filter(pa.array(valid)) for column in columns)

    shared: Moments = {}
    if centred(leaf.operator):
        pairs = [less_pivot(column) for column in columns]
        shared = {"pivots": tuple(pivot for _, pivot in pairs), "steps": time_steps(columns[-1])}
        columns = tuple(column for column, _ in pairs)

    def folding(operator: Any, place: int) -> Any:
        own = columns if place < 0 else (columns[place],)
        return fold(operator, leaf.window, own, (lo, hi), None, None)

    if exact_mean(leaf.operator, columns):
        adding = replace(leaf.operator, name="sum", dtype="int64")

        def summing(whole: Any) -> Any:
            found = fold(adding, leaf.window, (pa.array(whole),), (lo, hi), None, None)
            return found.fill_null(0).to_numpy(), hi > lo

        values = plain(columns[0])
        limbs, _ = limb_sums(values, summing)
        return {"n": np.asarray(hi - lo), "limbs": limbs, "kind": values.type}
    return moments_of(leaf.operator, hi - lo, folding) | shared
