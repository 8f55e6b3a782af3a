"""Time windows of many keys: whole batches in, one result per row out.

A face of the engine of `live` for one operator, with `emit="arrival"` and `order="input"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from slidefold.definition.operators import Operator, StructOperator, UserOperator, require_events
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import Given, Time, counted, lateness_of, window_of
from slidefold.errors import OperatorError, StateError, TimeOrderError, ValueTypeError, WindowError
from slidefold.live.engine import Engine
from slidefold.live.events import Events
from slidefold.live.keyed_columns import keys_in, times_in, values_in
from slidefold.live.keyed_states import rows_of_states
from slidefold.live.lateness import NEWEST, OLDEST, times_of
from slidefold.live.native import capsule
from slidefold.live.snapshot import Snapshot, read_snapshot, write_snapshot
from slidefold.live.tables import objects
from slidefold.live.times import lateness_steps, steps_of, value_of
from slidefold.live.turn import Turn, in_turn
from slidefold.state import (
    Operators,
    field,
    length_from,
    length_header,
    operator_header,
    pack,
    restore,
    saving,
    window_from,
    window_header,
)

if TYPE_CHECKING:
    from slidefold.definition.frames import Instant


class KeyedWindows:
    """Time windows of many keys for one operator: the engine of `live`, fed with arrays.

    `push(keys, times, values)` inserts a whole batch in one native call. It returns one result per
    row as a pyarrow array. The batch is inserted first; then each row gets the result of its key's
    window that ends at the row's time. Then rows that no window after the watermark needs are
    removed bit by bit, and keys without rows too.

    `push(..., watermark=)` and `advance` set the watermark. With `lateness=`, the watermark is just
    before the newest time of all keys minus the lateness. Rows at or before the watermark are late:
    they are dropped, counted in `late` and null in the result; with `late="raise"` they raise an
    error. Equal times of a key combine in row order.

    Keys have any type that `by=` takes. Times are integers or datetimes, to match the window. Nulls
    among the values are skipped.

    >>> import slidefold as sf
    >>> from slidefold.algorithms import KeyedWindows
    >>> spend = KeyedWindows(sf.sum(), sf.time(10), lateness=5)
    >>> spend.push(["ann", "bob", "ann"], [1, 2, 8], [5.0, 1.0, 2.0]).to_pylist()
    [5.0, 1.0, 7.0]
    >>> spend.push(["ann", "cat", "bob"], [14, 9, 3], [1.0, 4.0, 2.0]).to_pylist()
    [3.0, 4.0, 3.0]
    >>> len(spend), spend.query("ann"), spend.watermark
    (3, 3.0, 8)
    """

    def __init__(
        self,
        operator: Operator,
        window: Time | str | timedelta | np.timedelta64,
        *,
        lateness: Given | None = None,
        late: str = "drop",
    ) -> None:
        require_events(operator)
        if isinstance(operator, StructOperator):
            raise OperatorError(
                "KeyedWindows does not accept struct(); create one KeyedWindows for each of its "
                "parts"
            )
        if operator.dtype == "object" and not isinstance(operator, UserOperator):
            raise OperatorError(
                f"KeyedWindows needs values of an Arrow type, got {operator!r} with "
                "dtype='object'; use one sf.Window per key"
            )
        timed: Any = window_of(window)
        if not (timed.in_time and timed.live):
            raise WindowError(f"expected a time window, such as sf.time('1h'), got {timed}")
        timed.rule()  # raises if the window is finer than microseconds
        if late not in ("drop", "raise"):
            raise WindowError(f"late must be 'drop' or 'raise', got {late!r}")
        self.operator, self.window = operator, timed
        self._late_mode, self._late = late, 0
        self._time = pa.timestamp("us", "UTC") if timed.datetimes else pa.int64()
        self._lateness = None if lateness is None else lateness_of(lateness)
        self._steps: int | None = None
        if self._lateness is not None:
            timed.lateness_rule(self._lateness)
            clock, _ = counted("time", pa.array([], self._time))
            self._steps = lateness_steps(self._lateness, clock)
        self._engine: Engine | None = None
        self._events: Events | None = None
        self._first: int | None = None  # the watermark before there are rows
        self._turn = Turn("this set of windows")

    @in_turn
    def push(
        self, keys: Any, times: Any, values: Any, *, watermark: Instant | None = None
    ) -> pa.Array:
        """Insert a batch, return one result per row, then move the watermark.

        Keys, times and values are lists, arrays, or columns of Arrow, pandas or Polars. For an
        operator over several columns, pass a tuple of columns. If an error is raised, nothing is
        inserted.
        """
        moved = None if watermark is None else steps_of("time", watermark, self._time)
        columns = {"key": keys_in(keys), "time": times_in(times, self._time)}
        columns |= values_in(values, self.operator)
        _require_lengths(columns)
        if len(columns["key"]) == 0 and self._engine is None:
            if moved is not None:
                self._move(moved)
            return pa.array([])
        rows, engine = pa.table(columns), self._engine
        if engine is None:
            engine = self._started(rows)
        rows = engine.read(rows)
        if self._late_mode == "raise":
            self._require_in_time(rows, engine.watermark)
        results, late = _answers(engine, rows, self._next(engine, rows, moved))
        self._engine, self._late = engine, self._late + late
        return results

    @in_turn
    def query(self, key: Any, at: Instant | None = None) -> Any:
        """Return the result of a key's window that ends at a time, by default now.

        The result is None if the window is empty; that of a count is 0.
        """
        if self._engine is None:
            return None
        if self._events is None:
            self._events = Events(self._engine.definition, self._engine, "arrival")
        events, asked = self._events, {"key": key} if at is None else {"key": key, "time": at}
        if events.asks(asked):
            return events.answer(asked)["result"]
        return events.ask([asked], include=False)[0]["result"]

    @in_turn
    def advance(self, watermark: Instant) -> None:
        """Drop the rows of all keys that no window after the watermark needs."""
        self._move(steps_of("time", watermark, self._time))

    @in_turn
    def keys(self) -> list[Any]:
        """List the keys that have rows."""
        engine = self._engine
        return [] if engine is None else objects(engine.native.kept()["key"].unique())

    @property
    @in_turn
    def watermark(self) -> int | np.datetime64 | None:
        """Return the watermark as a number or a datetime64 in UTC; rows up to it are late."""
        steps = self._first if self._engine is None else self._engine.watermark
        return None if steps is None else value_of(steps, self._time)

    @property
    @in_turn
    def late(self) -> int:
        """Return the number of late rows so far."""
        return self._late

    @property
    @in_turn
    def entries(self) -> int:
        """Return the number of rows that are held."""
        return 0 if self._engine is None else self._engine.rows

    @property
    @in_turn
    def nbytes(self) -> int:
        """Return the size of the held rows in bytes."""
        return 0 if self._engine is None else self._engine.nbytes

    @in_turn
    def __len__(self) -> int:
        """Return the number of keys that are held."""
        return 0 if self._engine is None else self._engine.native.core.keys

    @in_turn
    def check(self) -> None:
        """Verify the invariants of the engine."""
        if self._engine is not None:
            self._engine.native.core.check()

    def __repr__(self) -> str:
        count = "busy" if self._turn.held else f"{len(self)} keys"
        return f"<KeyedWindows {self.operator} over {self.window}, {count}>"

    # ---- rows in

    def _started(self, rows: Any) -> Engine:
        """Return an engine for rows with these columns, at the watermark of this set."""
        engine = Engine(self._definition(rows.column_names[2:]), rows.schema, "arrival")
        if self._first is not None:
            engine.skip(engine.schema.empty_table(), self._first)
        return engine

    def _definition(self, names: Sequence[str]) -> Rolling:
        over = replace(self.operator, columns=tuple(names)).over(self.window)
        return Rolling("time", ("key",), (("result", over),), order="input")

    def _require_in_time(self, rows: Any, watermark: int | None) -> None:
        """Raise an error if a row is late."""
        if watermark is None:
            return
        times = times_of(rows, "time")
        late = times <= watermark
        if late.any():
            row = int(late.argmax())
            shown, first = (value_of(int(t), self._time) for t in (times[row], watermark + 1))
            raise TimeOrderError(f"row {row} at {shown} is late: this set takes {first} and later")

    def _next(self, engine: Engine, rows: Any, moved: int | None) -> int | None:
        """Return the watermark after a batch."""
        marks = [mark for mark in (engine.watermark, moved) if mark is not None]
        if self._steps is not None and len(rows):
            marks.append(int(times_of(rows, "time").max()) - self._steps - 1)
        return max(OLDEST, *marks) if marks else None

    def _move(self, watermark: int) -> None:
        engine = self._engine
        if engine is None:
            self._first = watermark if self._first is None else max(watermark, self._first)
            return
        engine.skip(engine.schema.empty_table(), watermark)
        engine.native.core.prune()

    # ---- saved states

    @in_turn
    def to_bytes(self) -> bytes:
        """Return the whole state as bytes for `from_bytes`."""
        rows: dict[str, Any] = {"late": self._late, "watermark": self._first, "sizes": None}
        payload, engine = b"", self._engine
        if engine is not None:
            rows["sizes"], payload = write_snapshot(engine.schema, engine.snapshot())
            rows["watermark"] = engine.watermark
        header = {
            "kind": self._kind(),
            "operator": operator_header(self.operator),
            "window": window_header(self.window),
            "lateness": length_header(self._lateness),
            "late": self._late_mode,
            "rows": rows,
        }
        return pack(header, payload)

    @classmethod
    def from_bytes(
        cls, data: bytes, operator: Operator | None = None, *, operators: Operators = ()
    ) -> Self:
        """Restore keyed windows from their saved state; they continue where the saved ones stopped.

        Bytes never import anything. A user operator must be in a module that is already imported,
        or be passed as `operator` or in the list `operators`. Raises `StateError` if the bytes are
        not the state of this class.
        """
        return restore(cls, data, operator, operators)

    def copy(self) -> Self:
        """Return an independent copy, in O(n)."""
        return type(self).from_bytes(self.to_bytes(), self.operator)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    __reduce__ = saving.reduce

    @classmethod
    def _kind(cls) -> str:
        return "keyed_windows"

    @classmethod
    def _made(cls, header: dict[str, Any], operator: Operator, room: int) -> Self:
        window = window_from(field(header, "window", dict))
        lateness = length_from(header.get("lateness"))
        restored = cls(operator, window, lateness=lateness, late=field(header, "late", str))  # type: ignore[arg-type]
        restored._saved = field(header, "rows", dict) if "rows" in header else None
        return restored

    _saved: dict[str, Any] | None

    def _load(self, payload: bytes) -> None:
        saved = self.__dict__.pop("_saved")
        if saved is None:  # states of each time, as earlier versions kept them
            rows, watermark, self._late = rows_of_states(self.operator, self._time, payload)
            held = None if rows is None else (rows.schema, Snapshot(rows))
        else:
            watermark = saved.get("watermark")
            if watermark is not None and not OLDEST <= field(saved, "watermark", int) <= NEWEST:
                raise StateError("the header of the bytes has no valid watermark")
            self._late = field(saved, "late", int)
            if self._late < 0:
                raise StateError("the header of the bytes has no valid late")
            held = read_snapshot(saved, payload)
        if held is None:
            self._first = watermark
            return
        schema, snapshot = held
        if schema.names[:2] != ["key", "time"] or schema.field("time").type != self._time:
            raise StateError("the rows in the bytes have other columns")
        definition = self._definition(schema.names[2:])
        self._engine = Engine.rebuild(definition, schema, "arrival", (), snapshot, watermark)


def _answers(engine: Engine, rows: Any, watermark: int | None) -> tuple[Any, int]:
    """Take rows; return their results in the order of the rows, null for late rows; their number.

    The engine returns results in the order of time.
    """
    core = engine.native.core
    late, places, found = core.feed(capsule(rows), watermark, None)
    try:
        results = engine.native.features(found)["result"]
    except BaseException:
        core.undo()
        raise
    core.commit()
    if late is None and (np.diff(places) == 1).all():
        return results, 0
    order = np.full(len(rows), -1, np.int64)
    order[places] = np.arange(len(places))
    return results.take(pa.array(order, mask=order < 0)), 0 if late is None else len(late)


def _require_lengths(columns: dict[str, Any]) -> None:
    keys, times = len(columns["key"]), len(columns["time"])
    if keys != times:
        raise ValueTypeError(f"keys and times differ in length: {keys} and {times}")
    for values in list(columns.values())[2:]:
        if len(values) != times:
            raise ValueTypeError(f"times and values differ in length: {times} and {len(values)}")
