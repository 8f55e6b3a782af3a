"""What a live run tells about itself: its times, what it holds, and how it works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidefold.live.times import value_of
from slidefold.live.turn import Turn, in_turn

if TYPE_CHECKING:
    import numpy as np

    from slidefold.definition.rolling import Rolling
    from slidefold.definition.windows import Length
    from slidefold.live.engine import Engine

WHEN = {
    "final": "a result is emitted once, when the watermark has passed it",
    "arrival": "a row is emitted with its batch, folded over all rows known then",
    "revise": "a result is emitted at once, and again when a late row changes it",
    "change": "a result is emitted when it is final and differs from the last one of its key",
}


class Status:
    """The read-only part of `Live`."""

    definition: Rolling
    lateness: Length
    emit: str
    _engine: Engine | None
    _turn: Turn
    _finished: bool
    _last: int | None
    _late: int

    @property
    @in_turn
    def watermark(self) -> int | np.datetime64 | None:
        """Return the watermark as a number or a datetime64 in UTC, or None at the start.

        Rows up to this time are late. After `finish` it is the newest time that was fed, or the
        last watermark if that is later.
        """
        engine = self._engine
        if engine is None:
            return None
        steps = self._last if self._finished else engine.watermark
        return (
            None if steps is None else value_of(steps, engine.schema.field(self.definition.on).type)
        )

    @property
    @in_turn
    def low(self) -> int | None:
        """Return the watermark in steps of the time column."""
        return None if self._engine is None else self._engine.watermark

    @property
    @in_turn
    def newest(self) -> int | np.datetime64 | None:
        """Return the newest time so far, as a number or a datetime64 in UTC."""
        engine = self._engine
        if engine is None or engine.newest is None:
            return None
        newest: int | np.datetime64 = value_of(
            engine.newest, engine.schema.field(self.definition.on).type
        )
        return newest

    @property
    @in_turn
    def keys(self) -> int:
        """Return the number of keys that are held."""
        engine = self._engine
        return 0 if engine is None else engine.native.core.keys

    @property
    @in_turn
    def rows(self) -> int:
        """Return the number of rows that are held, and of slices that stand for rows."""
        return 0 if self._engine is None else self._engine.rows

    @property
    @in_turn
    def late(self) -> int:
        """Return the number of late rows so far."""
        return self._late

    @property
    @in_turn
    def pending(self) -> int:
        """Return the number of accepted rows without a result."""
        return 0 if self._engine is None else self._engine.pending

    @property
    @in_turn
    def nbytes(self) -> int:
        """Return the size of the held rows in bytes."""
        return 0 if self._engine is None else self._engine.nbytes

    @in_turn
    def explain(self) -> str:
        """Describe when results are emitted, what is kept, and which columns need no history.

        The columns are listed once rows have been fed, because they depend on the types.
        """
        kept = dict.fromkeys(window.retention() for window in self.definition.windows)
        lines = [
            str(self.definition),
            f"emit={self.emit!r}: {WHEN[self.emit]}",
            f"  watermark: the newest time minus {self.lateness}; rows at or before it are late",
            f"  keeps:     per key, rows after the watermark and {', '.join(kept)} before it",
        ]
        if self.definition.slide is not None and self.definition.slide.in_time:
            lines.append("             final rows between two ends become a state per operator")
        if self._engine is not None:
            by_key = set(self._engine.by_key)
            again = [name for name, _ in self.definition.items if name not in by_key]
            if not again:
                lines.append("  cost:      a row costs what it changes, however many rows are kept")
            else:
                names = ", ".join(again)
                lines.append(f"  cost:      {names}: folded from the values of each window")
        return "\n".join(lines)

    def __repr__(self) -> str:
        if self._turn.held:
            return f"<live {self.emit}, lateness {self.lateness}, busy>"
        return (
            f"<live {self.emit}, lateness {self.lateness}, watermark {self.watermark}, "
            f"{self.pending} pending, {self.late} late>"
        )
