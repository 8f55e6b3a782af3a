"""`definition.live(...)`: feed rows as they arrive, get results when they are due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidefold.columns.sources import ArrowSource, Source, source_of
from slidefold.errors import ColumnError, DataError, DefinitionError, SlidefoldError, StateError
from slidefold.live.engine import Engine, check_emit
from slidefold.live.frames import NEWEST, OLDEST
from slidefold.live.lateness import REASON, judge, times_of
from slidefold.live.saving import identity, read_rows, same_definition, write_rows
from slidefold.live.times import check_lateness, lateness_steps, steps_of, value_of
from slidefold.state import field, length_from, length_header, pack, unpack
from slidefold.windows import Length, counted

if TYPE_CHECKING:
    from slidefold.rolling import Rolling

LATE = ("drop", "side", "raise")
FLAG = "late"
WHEN = {
    "final": "a result comes out once, when the watermark has passed it",
    "arrival": "a row comes out with its batch, over all rows known then",
    "revise": "a result comes out at once, and again when a late row has changed it",
    "change": "a result comes out when it is final and differs from the one before of its key",
}


class Live:
    """A definition over rows that arrive in any order, up to a lateness. Made by `live`.

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
        lateness: Length,
        emit: str = "final",
        late: str = "drop",
        id: str | Sequence[str] = (),
    ) -> None:
        """Accept rows that are less than `lateness` behind the newest; what is late is `late`d."""
        check_lateness(lateness)
        named = (id,) if isinstance(id, str) else tuple(id)
        check_emit(definition, emit, named)
        if late not in LATE:
            raise DefinitionError(f"late is one of {', '.join(LATE)}, got {late!r}")
        if late == "side" and definition.slide is not None:
            raise DefinitionError(
                "late='side' needs one result a row: with every= use late='drop' or late='raise'"
            )
        self.definition, self.lateness = definition, lateness
        self.emit, self.id = emit, named
        self._late_mode, self._late = late, 0
        self._engine: Engine | None = None
        self._kind: type[Source] = ArrowSource

    def feed(self, data: Any) -> Any:
        """Take rows and return the results that are due, as the same kind of table.

        Rows are judged by the watermark as it was; then it moves to the newest time minus the
        lateness. If this raises, nothing was taken.
        """
        source = source_of(data)
        wrong = next((name for name in source.names if not isinstance(name, str)), None)
        if wrong is not None:
            raise ColumnError(f"columns are named by strings, got {wrong!r}")
        rows = source.select(list(source.names))
        engine = self._engine or self._started(rows.schema)
        # First of all: a table with other columns has nothing to be judged.
        rows = engine.read(rows)
        accepted, late = judge(rows, self.definition.on, engine.watermark)
        if len(late) and self._late_mode == "raise":
            raise DataError(f"{len(late)} rows are late, the first of them: {_shown(late)}")
        due = engine.take(accepted, self._moved(engine, accepted))
        self._engine, self._kind = engine, type(source)
        self._late += len(late)
        return self._written(due, late)

    def advance(self, watermark: Any) -> Any:
        """Say that all rows up to a time have been fed, and return what is due.

        One that lies before the last has no effect.
        """
        engine = self._engine
        if engine is None:
            raise DataError("nothing was fed yet, so that times are not known: feed rows first")
        on = self.definition.on
        steps = steps_of(on, watermark, engine.schema.field(on).type)
        return self._written(engine.take(engine.schema.empty_table(), steps))

    def finish(self) -> Any:
        """Say that no more rows come, and return all that was pending.

        None if nothing was ever fed. Rows that are fed after that are late.
        """
        if self._engine is None:
            return None
        due = self._engine.take(self._engine.schema.empty_table(), NEWEST)
        return self._written(due)

    @property
    def watermark(self) -> Any:
        """Rows up to this time are late: a number, or a datetime64 in UTC; None at first."""
        engine = self._engine
        if engine is None or engine.watermark is None:
            return None
        return value_of(engine.watermark, engine.schema.field(self.definition.on).type)

    @property
    def late(self) -> int:
        """How many rows were late."""
        return self._late

    @property
    def pending(self) -> int:
        """How many rows were accepted and have no result yet."""
        return 0 if self._engine is None else self._engine.pending

    @property
    def nbytes(self) -> int:
        """The size of the rows that are held, in bytes."""
        return 0 if self._engine is None else self._engine.nbytes

    def explain(self) -> str:
        """Say when results come out, what is kept, and which columns need no history.

        The last is known once rows have been fed, since it depends on their types.
        """
        kept = dict.fromkeys(over.window.retention() for _, over in self.definition.items)
        lines = [
            str(self.definition),
            f"emit={self.emit!r}: {WHEN[self.emit]}",
            f"  watermark: the newest time minus {self.lateness}; at or before it rows are late",
            f"  keeps:     by key, rows after the watermark and {', '.join(kept)} before it",
        ]
        if self._engine is not None:
            by_key = set(self._engine.by_key)
            again = [name for name, _ in self.definition.items if name not in by_key]
            if by_key:
                lines.append(f"  by key:    {', '.join(sorted(by_key))}: a row costs what it adds")
            if again:
                lines.append(f"  folded:    {', '.join(again)}: with what windows of its keys hold")
        return "\n".join(lines)

    def to_bytes(self) -> bytes:
        """Return the state, with which `from_bytes` goes on."""
        header: dict[str, Any] = {
            "kind": type(self).__name__,
            **identity(self.definition),
            "lateness": length_header(self.lateness),
            "emit": self.emit,
            "on_late": self._late_mode,
            "id": list(self.id),
            "late": self._late,
            "watermark": None,
            "schema": None,
        }
        payload = b""
        if self._engine is not None:
            header["watermark"] = self._engine.watermark
            header["schema"], payload = write_rows(self._engine.schema, self._engine.kept())
        return pack(header, payload)

    @classmethod
    def from_bytes(cls, data: bytes, definition: Rolling | None = None) -> Live:
        """Make a live run from its state; what comes out of it is Arrow until it is fed again.

        A definition that is given must be the one with which the state was written. It is needed
        only where an operator of your own cannot be imported.
        """
        header, payload = unpack(data, cls.__name__)
        found = same_definition(header, definition)
        try:
            made = cls(
                found,
                lateness=length_from(header.get("lateness")),
                emit=field(header, "emit", str),
                late=field(header, "on_late", str),
                id=field(header, "id", list),
            )
            made._late = field(header, "late", int)
            if header.get("schema") is not None:
                schema, kept = read_rows(field(header, "schema", int), payload)
                watermark = header.get("watermark")
                if watermark is not None:
                    watermark = field(header, "watermark", int)
                made._engine = Engine.rebuild(found, schema, made.emit, made.id, kept, watermark)
        except StateError:
            raise
        except (SlidefoldError, pa.ArrowException, TypeError, ValueError, KeyError) as error:
            raise StateError(f"the bytes do not make a Live ({error})") from None
        return made

    def __repr__(self) -> str:
        return (
            f"<live {self.emit}, lateness {self.lateness}, watermark {self.watermark}, "
            f"{self.pending} pending, {self.late} late>"
        )

    def _started(self, schema: Any) -> Engine:
        """Make the engine for rows of this schema, if they can be run."""
        if self._late_mode == "side":
            taken = next((name for name in (FLAG, REASON) if name in schema.names), None)
            if taken is not None:
                raise ColumnError(
                    f"the data has a column {taken!r} already, which late='side' is to add"
                )
        engine = Engine(self.definition, schema, self.emit, self.id)
        self._clock(engine)
        return engine

    def _clock(self, engine: Engine) -> int:
        """Return the lateness in steps of the time column."""
        on = self.definition.on
        clock, _ = counted(on, pa.array([], engine.schema.field(on).type))
        return lateness_steps(self.lateness, clock)

    def _moved(self, engine: Engine, accepted: Any) -> int | None:
        """Return the watermark after these rows; the engine lets none move it back."""
        if len(accepted) == 0:
            return None
        newest = int(times_of(accepted, self.definition.on).max()) - self._clock(engine)
        return newest if newest >= OLDEST else None

    def _written(self, due: Any, late: Any = None) -> Any:
        """Return results as the kind of table that was fed last, late rows behind them."""
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
        return self._kind.fresh(due)


def _shown(late: Any) -> str:
    """Return the first late row in words."""
    row = late.slice(0, 1).to_pylist()[0]
    reason = row.pop(REASON)
    return f"{', '.join(f'{name}={value!r}' for name, value in row.items())} ({reason})"[:300]
