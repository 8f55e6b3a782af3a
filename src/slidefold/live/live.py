"""Implement `definition.live(...)`: feed rows as they arrive, get results when they are ready."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from slidefold.columns.compute import filled_columns
from slidefold.columns.sources import ArrowSource, Source, source_of
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import Given, counted, lateness_of
from slidefold.errors import ColumnError, DataError, DefinitionError, ValueTypeError
from slidefold.live.engine import Engine, check_emit
from slidefold.live.events import LATE_ROW, Events, schema_of_row
from slidefold.live.lateness import NEWEST, REASON, TOO_LATE, judge
from slidefold.live.revisions import REVISION
from slidefold.live.saving import Saved
from slidefold.live.silence import Silence
from slidefold.live.tables import dicts
from slidefold.live.times import lateness_steps, steps_of
from slidefold.live.turn import Turn, in_turn

if TYPE_CHECKING:
    from slidefold.definition.frames import ArrowStream, Frame, Instant
    from slidefold.definition.windows.sorted_rows import Ints


LATE = ("drop", "side", "raise")
_AS_IT_IS = ArrowSource.fresh
_FINISHED = (
    "this live run is finished and takes no more rows or questions; start a new one with live(), "
    "and call finish() only after the last rows"
)
FLAG = "late"


class Live(Saved):
    """Run a definition over rows that arrive in any order, up to a lateness. Created by `live`.

    >>> import slidefold as sf
    >>> definition = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10)))
    >>> live = definition.live(lateness=3)
    >>> live.feed(pa.table({"t": [5, 3, 6], "x": [1, 2, 4]}))["s"].to_pylist()
    [2]
    >>> live.feed(pa.table({"t": [4, 1], "x": [8, 9]}))["s"].to_pylist(), live.watermark, live.late
    ([], 3, 1)
    >>> live.finish()["s"].to_pylist()
    [10, 11, 15]
    """

    def __init__(
        self,
        definition: Rolling,
        *,
        lateness: Given,
        emit: str = "final",
        late: str = "drop",
        id: str | Sequence[str] = (),
        schema: Any = None,
        idle: Given | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Accept rows less than `lateness` behind the newest; `late` decides about other rows.

        `schema` is the Arrow schema of the rows, for `push` before any table was fed. `idle` is for
        `tick`; `clock` replaces `time.monotonic` there.
        """
        named = (id,) if isinstance(id, str) else tuple(id)
        check_emit(definition, emit, named)
        if late not in LATE:
            raise DefinitionError(f"late must be one of {', '.join(LATE)}, got {late!r}")
        if late == "side" and definition.slide is not None:
            raise DefinitionError(
                "late='side' needs one result per row; with every= use late='drop' or late='raise'"
            )
        self.definition, self.lateness = definition, lateness_of(lateness)
        self.emit, self.id = emit, named
        self._late_mode, self._late = late, 0
        self._steps: int | None = None
        self._engine: Engine | None = None
        self._table_of: Callable[[Any], Any] = _AS_IT_IS
        self._filled: frozenset[str] | None = None  # input columns whose type had no null so far
        self._finished = False
        self._last: int | None = None  # the watermark to show after finish()
        self._turn = Turn("this live run")
        self._silence = None if idle is None else Silence(idle, clock)
        self._events: Events | None = None
        self._core: Any = None  # takes events directly, once it is known that it can
        if schema is not None:
            if not isinstance(schema, pa.Schema):
                raise ValueTypeError(f"schema must be a pyarrow schema, got {schema!r}")
            self._engine = self._started(schema)

    @overload
    def feed(self, data: Frame) -> Frame: ...
    @overload
    def feed(self, data: ArrowStream) -> pa.Table: ...
    @in_turn  # type: ignore[misc]
    def feed(self, data: Any) -> Any:
        """Take rows and return the results that are ready, as the same kind of table.

        Rows at or before the current watermark are late. Then the watermark moves to the newest
        time minus the lateness. If this raises, no row was taken. After `finish` it raises a
        `DataError`. If a result of an earlier row does not fit in 64 bits, a `ResultOverflowError`
        is raised once: from the next call on, that result is null.
        """
        source, rows, engine = self._given(data)
        due, late = engine.feed(rows, self._lateness(engine))
        self._took(source, rows, engine, 0 if late is None else len(late))
        if not (type(source) is ArrowSource and self._table_of is _AS_IT_IS):
            self._table_of = source.maker(self._never_null())
        return self._written(due, late)

    @in_turn
    def accept(self, data: Any) -> Ints:
        """Take rows as `feed` does, without their results; return the places of late rows.

        For runs that are only asked: with 20 columns it takes a third of the time of `feed`, and
        other threads can work meanwhile. It needs `emit="arrival"`, because with any other `emit`
        results would be lost. Formulas are computed when they are asked for, and raise then if they
        overflow.

        >>> import slidefold as sf
        >>> definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(10)))
        >>> live = definition.live(lateness=3, emit="arrival")
        >>> live.accept(pa.table({"t": [5, 9], "k": ["a", "a"], "x": [1.0, 2.0]})).tolist()
        []
        >>> live.accept(pa.table({"t": [10, 4], "k": ["a", "a"], "x": [4.0, 8.0]})).tolist()
        [1]
        >>> live.ask({"k": "a"})
        {'s': 7.0}
        """
        if self.emit != "arrival":
            raise DefinitionError(f"accept needs emit='arrival', got emit={self.emit!r}")
        source, rows, engine = self._given(data)
        late = engine.accept(rows, self._lateness(engine))
        self._took(source, rows, engine, len(late))
        return late

    def _given(self, data: Any) -> tuple[Source, Any, Engine]:
        """Return rows that are fed, and the engine for them; raise if they cannot be taken."""
        if self._finished:
            raise DataError(_FINISHED)
        engine = self._engine
        if engine is not None and type(data) is pa.Table and engine.takes(data.schema):
            source: Source = ArrowSource(data)
            rows = data
        else:
            source = source_of(data)
            wrong = next((name for name in source.names if not isinstance(name, str)), None)
            if wrong is not None:
                raise ColumnError(f"column names must be strings, got {wrong!r}")
            rows = source.select(list(source.names))
            engine = engine or self._started(rows.schema)
        self._require_none_late(engine, rows)
        return source, rows, engine

    def _took(self, source: Source, rows: Any, engine: Engine, late: int) -> None:
        """Note that rows were fed."""
        self._filled = source.filled if self._filled is None else self._filled & source.filled
        self._engine = engine
        if self._silence is not None and len(rows):
            self._silence.heard()
        self._late += late

    def push(self, row: Mapping[str, Any] | tuple[Any, ...]) -> Any:
        """Take one event; much faster than `feed` with a table of one row.

        `row` has a value for each column: a dict, or a tuple in the order of the schema. With
        `emit="arrival"` the result is a dict of the new columns; with any other `emit` it is a list
        of the rows that are ready, each a dict. A late row is counted and gives None, or the row
        with its flags if `late="side"`.

        >>> import slidefold as sf
        >>> definition = sf.rolling(on="t", by="card", s=sf.sum("x").over(sf.time(10)))
        >>> live = definition.live(lateness=3, emit="arrival")
        >>> live.push({"t": 5, "card": "a", "x": 1.0}), live.push({"t": 6, "card": "a", "x": 2.0})
        ({'s': 1.0}, {'s': 3.0})
        """
        core = self._core
        if self._silence is not None:
            self._silence.heard()
        if core is not None and type(row) is dict:
            with self._turn:
                found = core.push_event(row, self._steps)
            if found is False:
                self._late += 1
            if found is not None:
                return found or None
        return self._push(row)

    @in_turn
    def _push(self, row: Mapping[str, Any] | tuple[Any, ...]) -> Any:
        events = self._opened(row)
        fields = events.fields(row)
        result = events.push(fields, self._lateness(events.engine), raising=self._raises)
        if result is not LATE_ROW:
            return result
        self._late += 1
        if self._late_mode != "side":
            return None
        missing = dict.fromkeys(self.definition.columns)
        return {**fields, **missing, FLAG: True, REASON: TOO_LATE}

    @in_turn
    def push_many(self, rows: Iterable[Mapping[str, Any] | tuple[Any, ...]]) -> list[Any]:
        """Push events one by one; return their results in a list.

        If one of them raises, those before it have been taken.
        """
        if not isinstance(rows, Iterable) or isinstance(rows, Mapping | str):
            raise ValueTypeError(f"push_many() expected a list of rows, got {type(rows).__name__}")
        rows = list(rows)
        if self._silence is not None and rows:
            self._silence.heard()
        return [self._push.__wrapped__(self, row) for row in rows]  # type: ignore[attr-defined]

    def ask(self, rows: Any, *, include: bool = False) -> Any:
        """Return what the new columns are for some keys, over all accepted rows; change nothing.

        `rows` has the key columns and, where it differs from the newest time, the time column. A
        dict gives a dict and a list of dicts a list, both of the new columns; a table gives a table
        of its kind with the new columns appended. With `include=True` each row is a whole event and
        counts as if it had just arrived. Times before the watermark are refused.

        >>> import slidefold as sf
        >>> live = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(10))).live(lateness=3)
        >>> _ = live.feed(pa.table({"t": [1, 5], "k": ["a", "b"], "x": [1.0, 2.0]}))
        >>> live.ask({"k": "b"}), live.ask({"k": "a", "t": 20}), live.ask([{"k": "c"}])
        ({'s': 2.0}, {'s': None}, [{'s': None}])
        """
        events = self._events
        if events is not None and type(rows) is dict and not include and events.asks(rows):
            with self._turn:
                return events.answer(rows)
        return self._ask(rows, include)

    @in_turn
    def _ask(self, rows: Any, include: bool) -> Any:
        if self._engine is None:
            raise DataError(
                "the types of the columns are not known yet; feed rows first, or pass schema="
            )
        events = self._opened({})
        if isinstance(rows, Mapping):
            return events.ask([rows], include)[0]
        if isinstance(rows, list | tuple):
            return events.ask(rows, include)
        source = source_of(rows)
        found = events.ask_table(source.select(list(source.names)), include)
        return source.append(found, frozenset())

    def _opened(self, row: Any) -> Events:
        if self._finished:
            raise DataError(_FINISHED)
        if self._events is None:
            if self._engine is None:
                self._engine = self._started(schema_of_row(row))
            self._events = Events(self.definition, self._engine, self.emit)
            if self._events.answers_at_once and self._late_mode == "drop":
                self._lateness(self._engine)
                assert self._events.native is not None
                self._core = self._events.native.core
        return self._events

    @property
    def _raises(self) -> bool:
        return self._late_mode == "raise"

    def _require_none_late(self, engine: Engine, rows: Any) -> None:
        """Raise if late rows are an error and there are any, before any row is taken."""
        if not self._raises:
            return
        _, late = judge(engine.read(rows), self.definition.on, engine.watermark)
        if len(late):
            raise DataError(f"{len(late)} rows are late, the first is {_shown(late)}")

    @in_turn
    def advance(self, watermark: Instant) -> Any:
        """Declare that all rows up to a time have been fed, and return the results that are ready.

        A watermark before the last one has no effect, nor has any watermark after `finish`.
        """
        engine = self._engine
        if engine is None:
            raise DataError("the type of the time column is not known yet; feed rows first")
        on = self.definition.on
        steps = steps_of(on, watermark, engine.schema.field(on).type)
        return self._written(engine.take(engine.schema.empty_table(), steps))

    @in_turn
    def tick(self) -> Any:
        """Return the results that are ready because the source is silent; needs `live(idle=...)`.

        If no row was fed for `idle`, by the clock of this process, the watermark moves to the
        newest time: all rows that wait get their results, and rows up to it are late from now on.
        Before that it returns no rows, and None if no rows were fed at all. Call it from time to
        time, such as when a read from the source times out.

        >>> import slidefold as sf
        >>> now = [0.0]
        >>> definition = sf.rolling(on="t", s=sf.sum("x").over(sf.time(10)))
        >>> live = definition.live(lateness=3, idle="5m", clock=lambda: now[0])
        >>> len(live.feed(pa.table({"t": [5, 6], "x": [1, 2]}))), len(live.tick())
        (0, 0)
        >>> now[0] = 300.0
        >>> live.tick()["s"].to_pylist(), live.watermark
        ([1, 3], 6)
        """
        if self._silence is None:
            raise DefinitionError("tick needs live(idle=...), such as idle='5m'")
        engine = self._engine
        if engine is None:
            return None
        moved = engine.newest if self._silence.over() and not self._finished else engine.watermark
        return self._written(engine.take(engine.schema.empty_table(), moved))

    @in_turn
    def finish(self) -> Any:
        """Declare that no more rows will come, and return all pending results.

        Returns None if no rows were fed. Feeding rows afterwards raises an error; a second `finish`
        returns no rows.
        """
        engine = self._engine
        if engine is None:
            self._finished = True
            return None
        last = self._last if self._finished else engine.newest
        due = self._written(engine.take(engine.schema.empty_table(), NEWEST))
        self._finished, self._last, self._core, self._events = True, last, None, None
        return due

    def _started(self, schema: Any) -> Engine:
        """Create the engine for rows of this schema; raise an error if it does not fit."""
        if self._late_mode == "side":
            taken = next((name for name in (FLAG, REASON) if name in schema.names), None)
            if taken is not None:
                raise ColumnError(
                    f"the data already has a column {taken!r}, which late='side' adds; rename it"
                )
        engine = Engine(self.definition, schema, self.emit, self.id)
        self._lateness(engine)
        return engine

    def _never_null(self) -> frozenset[str]:
        """Return the columns that never have nulls in the results."""
        inputs = self._filled or frozenset()
        if self._late_mode == "side":  # late rows have no results
            return inputs | {FLAG}
        more = {REVISION} if self.emit == "revise" else set()
        return filled_columns(self.definition, inputs) | more

    def _lateness(self, engine: Engine) -> int:
        """Return the lateness in steps of the time column."""
        if self._steps is None:
            on = self.definition.on
            clock, _ = counted(on, pa.array([], engine.schema.field(on).type))
            self._steps = lateness_steps(self.lateness, clock)
        return self._steps

    def _written(self, due: Any, late: Any = None) -> Any:
        """Return results as the kind of table that was fed last, followed by late rows."""
        if self._late_mode == "side":
            due = due.append_column(FLAG, pa.array([False] * len(due), pa.bool_()))
            due = due.append_column(REASON, pa.nulls(len(due), pa.string()))
            if late is not None and len(late):
                late = late.append_column(FLAG, pa.array([True] * len(late)))
                columns = [
                    late[f.name].cast(f.type)
                    if f.name in late.column_names
                    else pa.nulls(len(late), f.type)
                    for f in due.schema
                ]
                due = pa.concat_tables([due, pa.table(columns, schema=due.schema)])
        return self._table_of(due)


def _shown(late: Any) -> str:
    """Describe the first late row."""
    row = dicts(late.slice(0, 1))[0]
    reason = row.pop(REASON)
    return f"{', '.join(f'{name}={value!r}' for name, value in row.items())} ({reason})"[:300]
