"""Columns that need no history: each row is inserted once, whatever the window length.

A column over a time window whose operator commutes is kept in `KeyedWindows`: states by key and
time. The cost of a batch then depends only on its rows. All other columns are folded again from the
rows that windows hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.algorithms.keyed import KeyedWindows, native_keys
from slidefold.columns.folds import FOLDS, present_rows
from slidefold.columns.grouping import one_chunk, one_zero
from slidefold.columns.reading import Task
from slidefold.columns.values import Array, is_temporal, is_text
from slidefold.definition.operators import Operator, Over, count
from slidefold.definition.windows import Clock, Time, counted

_CLOSED = {(False, True): "right", (True, False): "left", (True, True): "both"}


@dataclass(frozen=True)
class Batch:
    """Rows in the form for native code: keys, times, and the watermark after them."""

    keys: Any
    times: Array
    watermark: int | None
    fresh: Array | None = None  # which rows are inserted; the others only get results


@dataclass(frozen=True)
class KeyedTask(Task):
    """A task that folds into states by key, with one set of states per kernel call."""

    batch: Batch = field(kw_only=True)
    inserted: Array | None = field(kw_only=True)
    length: Time = field(kw_only=True)
    sets: list[KeyedWindows] = field(kw_only=True)
    called: list[int] = field(kw_only=True)

    def kernel(self, operator: Operator, values: Any) -> tuple[Any, Array]:
        """Insert the rows and return a result for each."""
        if len(self.sets) == len(self.called):
            self.sets.append(KeyedWindows(operator, self.length))
        self.called.append(1)
        keyed, batch = self.sets[len(self.called) - 1], self.batch
        return keyed._push(batch.keys, batch.times, values, batch.watermark, False, self.inserted)


class KeyedColumn:
    """One column: its operator and the states of its windows."""

    def __init__(self, over: Over, window: tuple[int, int]) -> None:
        """Prepare a column whose window at t has the steps `t - window[0]` to `t - window[1]`."""
        reach, behind = window
        self.over = over
        # In steps of the clock, with an included start: t - reach is the first time inside.
        self.length = Time(max(reach, 1), _CLOSED.get((reach > 0, behind == 0), "neither"))
        self.sets: list[KeyedWindows] = []
        self.counts: list[KeyedWindows] = []

    def push(self, batch: Batch, columns: tuple[Any, ...]) -> Any:
        """Insert rows and return their results in the given order."""
        over = self.over
        present, inserted = present_rows(columns), batch.fresh
        if present is not None:
            inserted = np.ascontiguousarray(present if inserted is None else present & inserted)
            if not over.operator.record.rows:  # a count reads no values and takes any type
                columns = tuple(_filled(column) for column in columns)
        rows = np.arange(len(batch.times) + 1)

        def task(sets: list[KeyedWindows]) -> KeyedTask:
            return KeyedTask(
                over.operator, "fiba", columns, rows[:-1], rows[1:],
                batch=batch, inserted=inserted, length=self.length, sets=sets, called=[],
            )  # fmt: skip

        record = over.operator.record
        fold = _counted if record.rows else FOLDS[record.column]
        results = fold(task(self.sets))
        if over.min_count is None:
            return results
        enough = pc.greater_equal(_counted(task(self.counts)), over.min_count)
        return pc.if_else(enough, results, pa.scalar(None, results.type))

    @property
    def nbytes(self) -> int:
        """Return the size of the states in bytes."""
        return sum(keyed.nbytes for keyed in (*self.sets, *self.counts))


def _counted(task: KeyedTask) -> Any:
    data, _ = task.kernel(count(), task.batch.times)
    return pa.array(data)


def fits(over: Over, kinds: Sequence[Any]) -> bool:
    """Tell whether a column over inputs of these types can be kept by key."""
    reads = _READS.get(over.operator.record.keyed)
    ends_now = over.window.in_time and over.window.delay is None
    if reads is None or not ends_now or over.algorithm is not None:
        return False
    return over.operator.commutes and all(map(reads, kinds))


def fit(over: Over, schema: Any) -> bool:
    """Tell whether a column over inputs of a schema can be kept by key."""
    return fits(over, [schema.field(name).type for name in over.operator.columns])


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


# The column types that can be kept as states by key, by the word in the operator's record.
_READS: dict[str, Callable[[Any], bool]] = {
    "any": lambda kind: True,
    "numbers": _is_number,
    "signed": lambda kind: _is_number(kind) and not pa.types.is_uint64(kind),
    "hashed": lambda kind: is_text(kind) or bool(pa.types.is_integer(kind)),
    # Other types are compared by rank, which is only known within a batch.
    "ordered": lambda kind: (
        (_is_number(kind) or is_temporal(kind)) and not pa.types.is_uint64(kind)
    ),
}


def _filled(column: Any) -> Any:
    """Return a column with placeholders instead of nulls; they are never read."""
    kind = column.type
    blank = pa.scalar("", kind) if is_text(kind) else pa.scalar(0, pa.int8()).cast(_plain(kind))
    return column.fill_null(blank if blank.type == kind else blank.cast(kind))


def _plain(kind: Any) -> Any:
    """Return a type that integers can be cast to and that can be cast to `kind`."""
    if is_temporal(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    return kind


# ---- keys ---------------------------------------------------------------------------------------


def fits_key(kind: Any) -> bool:
    """Tell whether values of a type can be part of a key here."""
    types = pa.types
    if types.is_dictionary(kind):
        return fits_key(kind.value_type)
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return bool(number or is_text(kind) or is_temporal(kind) or types.is_decimal(kind))


def fit_keys(schema: Any, by: Sequence[str]) -> bool:
    """Tell whether these columns of a schema can be keys here."""
    return all(fits_key(schema.field(key).type) for key in by)


def whole_keys(schema: Any, by: Sequence[str]) -> bool:
    """Tell whether native code can use the keys as integers, if none is null."""
    if len(by) != 1:
        return not by
    kind = schema.field(by[0]).type
    return bool(pa.types.is_integer(kind) and not pa.types.is_uint64(kind))


def keys_of(table: Any, by: Sequence[str], whole: bool = False) -> Any:
    """Return the keys of rows for native code: one text per row, equal only for equal keys.

    With `whole`, the keys are integers instead and must not be null.
    """
    if not by:
        return np.zeros(len(table), np.int64)
    if whole:
        return native_keys(one_chunk(table, by[0]))
    parts = [_text(one_chunk(table, name)) for name in by]
    if len(parts) > 1:
        # The length prefix separates a text from the next one without ambiguity.
        parts = [
            pc.binary_join_element_wise(pc.binary_length(part).cast(pa.string()), part, ":")
            for part in parts
        ]
        return native_keys(pc.binary_join_element_wise(*parts, ""))
    return native_keys(parts[0])


def _text(values: Any) -> Any:
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _text(values.cast(kind.value_type))
    if pa.types.is_floating(kind):
        values = one_zero(values)
    elif is_temporal(kind):
        values = values.cast(_plain(kind))
    texts = values.cast(pa.string())
    return pc.binary_join_element_wise("=", texts, "").fill_null("null")


# ---- a definition -------------------------------------------------------------------------------


class Incremental:
    """The columns of a definition that are kept by key, and the rest of the definition."""

    def __init__(self, definition: Any, rows: Any, clock: Clock, wanted: bool = True) -> None:
        """Choose columns by the types of an empty table; choose none if not wanted."""
        self.definition, self.clock = definition, clock
        schema = rows.schema
        self.chosen = self.choose(schema) if wanted else []
        # Converting integers to text took 7% of the time of a batch.
        self.whole = whole_keys(schema, definition.by)
        self.rest = definition
        if self.chosen:
            left = [name for name in definition.columns if name not in self.chosen]
            self.rest = definition.only(*left) if left else None
        self.clear()

    def choose(self, schema: Any) -> list[str]:
        """Return the columns that can be kept by key."""
        definition = self.definition
        if definition.slide is not None or not fit_keys(schema, definition.by):
            return []
        return [name for name, over in definition.columns.items() if fit(over, schema)]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns that are kept by key."""
        return tuple(self.chosen)

    def clear(self) -> None:
        """Remove all rows."""
        overs = self.definition.columns
        self.columns = {}
        for name in self.chosen:
            window = overs[name].window.reach(self.clock)
            assert window is not None
            self.columns[name] = KeyedColumn(overs[name], window)

    def outgrown(self, rows: Any) -> bool:
        """Tell whether these rows have a null key while all keys so far were integers.

        From then on keys are texts, and the caller must insert all rows again.
        """
        if not (self.chosen and self.whole and self.definition.by):
            return False
        self.whole = rows[self.definition.by[0]].null_count == 0
        return not self.whole

    def push(self, rows: Any, watermark: int | None, fresh: Array | None = None) -> dict[str, Any]:
        """Insert rows and return their results; evict what no window after the watermark needs.

        Rows that are not `fresh` were inserted before and only get results. Call `outgrown` first.
        """
        if not self.columns or len(rows) == 0:
            return {}
        _, times = counted(self.definition.on, one_chunk(rows, self.definition.on))
        keys = keys_of(rows, self.definition.by, self.whole)
        batch = Batch(keys, np.ascontiguousarray(times), watermark, fresh)
        return {
            name: column.push(
                batch, tuple(one_chunk(rows, name) for name in column.over.operator.columns)
            )
            for name, column in self.columns.items()
        }

    @property
    def nbytes(self) -> int:
        """Return the size of the states in bytes."""
        return sum(column.nbytes for column in self.columns.values())
