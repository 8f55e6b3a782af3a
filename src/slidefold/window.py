"""Provide `Window`: one live window, pushed event by event."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, Self

import numpy as np

from slidefold import _native
from slidefold.definition.operators import Operator
from slidefold.definition.windows import Given, Rows, Time
from slidefold.errors import StateError, WindowError
from slidefold.planner import EVENT_ALGORITHMS, Plan, fiba_arity, plan
from slidefold.state import (
    Operators,
    field,
    length_from,
    length_header,
    operator_header,
    require_options,
    restore,
    saving,
    window_from,
    window_header,
)


class Window(_native.WindowCore):
    """Slide a window over events: `operator` says how to fold, `window` says when to slide.

    In one native call, `push` inserts an event, evicts the events that left the window and returns
    the result. Call `push(value)` for rows windows and `push(time, value)` for time windows. Times
    must not go backwards. As in `over`, a duration means a time window and an integer means a rows
    window. The result of an empty window is None (0 for count).

    With `lateness=`, a time window accepts events up to that far behind the newest one. Each event
    gets the result of the window that ends at its own time. Events behind the watermark are dropped
    and counted in `late`; with `late="raise"` they raise an error. `query()` folds the window at
    the newest time, `query(last=)` a shorter window that ends there, and `query(since, until)` the
    events between two times, both included. `advance(watermark)` drops all events that no later
    window needs; events at or before the watermark are then late. `evict(time)` retracts all
    events at a time.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.max(), sf.rows(3))
    >>> [w.push(x) for x in (1.0, 5.0, 2.0, 3.0, 4.0)]
    [1.0, 5.0, 5.0, 5.0, 4.0]
    >>> w.query(), len(w)
    (4.0, 3)

    >>> w = sf.Window(sf.sum(), sf.time(10), lateness=5)
    >>> [w.push(t, x) for t, x in ((0, 1.0), (9, 2.0), (5, 4.0), (12, 8.0), (3, 16.0))]
    [1.0, 3.0, 5.0, 14.0, None]
    >>> w.late, w.query(last=4), w.query(5, 9)
    (1, 10.0, 6.0)
    """

    def __init__(
        self,
        operator: Operator,
        window: Rows | Time | str | timedelta | int | np.timedelta64,
        *,
        optimize: str = "latency",
        algorithm: str | None = None,
        lateness: Given | None = None,
        late: str = "drop",
        checked: bool = False,
    ) -> None:
        if late not in ("drop", "raise"):
            raise WindowError(f"late must be 'drop' or 'raise', got {late!r}")
        asked = {"optimize": optimize, "algorithm": algorithm, "late": late}
        chosen = plan(operator, window, optimize=optimize, algorithm=algorithm, lateness=lateness)
        options: dict[str, Any] = {"checked": checked}
        if lateness is not None:
            options["min_arity"] = fiba_arity(operator)
        self._setup(chosen, asked, options)

    def _setup(self, chosen: Plan, asked: dict[str, Any], options: dict[str, Any]) -> None:
        self.plan = chosen
        self._asked = asked
        self._options = options
        window = chosen.window
        rule = window.rule()
        if chosen.lateness is not None:
            rule["lateness"] = window.lateness_rule(chosen.lateness)  # type: ignore[union-attr]
            rule["raises"] = asked["late"] == "raise"
        _native.WindowCore.__init__(self, chosen.algorithm, chosen.operator, rule, options)

    def explain(self) -> str:
        """Describe which algorithm runs and why, the cost of a step, and what is kept in memory."""
        return str(self.plan)

    def _repr_html_(self) -> str:
        count = f"{len(self):,} {'rows' if self.plan.lateness is None else 'times'}"
        result = repr(self.query()) if len(self) else "empty"
        held = [("holds", count), ("result", result if len(result) < 80 else result[:77] + "...")]
        if self.plan.lateness is not None:
            held.append(("late", f"{self.late:,} events dropped"))
        return self.plan.html(held)

    copy = __copy__ = saving.copy
    __deepcopy__ = saving.deepcopy
    to_bytes = saving.to_bytes
    __reduce__ = saving.reduce

    @classmethod
    def from_bytes(
        cls, data: bytes, operator: Operator | None = None, *, operators: Operators = ()
    ) -> Self:
        """Restore a window from its saved state; it continues exactly where the saved one stopped.

        Bytes never import anything. A user operator must be in a module that is already imported,
        or be passed as `operator` or in the list `operators`. Raises `StateError` if the bytes are
        not the state of this class.
        """
        return restore(cls, data, operator, operators)

    def _twin(self) -> Self:
        twin = type(self).__new__(type(self))
        twin._setup(self.plan, self._asked, self._options)
        return twin

    def _header(self) -> dict[str, Any]:
        return {
            "operator": operator_header(self.plan.operator),
            "window": window_header(self.plan.window),
            "lateness": length_header(self.plan.lateness),
            "algorithm": self.plan.algorithm,
            "asked": self._asked,
            "options": self._options,
        }

    @classmethod
    def _kind(cls) -> str:
        return "window"

    @classmethod
    def _made(cls, header: dict[str, Any], operator: Operator, room: int) -> Self:
        window = window_from(field(header, "window", dict))
        lateness = length_from(header.get("lateness"))
        algorithm, asked = field(header, "algorithm", str), field(header, "asked", dict)
        if {*asked} != {"optimize", "algorithm", "late"} or asked["late"] not in ("drop", "raise"):
            raise StateError("the bytes were saved with options that this version does not know")
        chosen = plan(
            operator,
            window,
            optimize=asked["optimize"],
            algorithm=asked["algorithm"],
            lateness=lateness,
        )
        if chosen.algorithm != algorithm:  # today's planner would choose another one
            if lateness is not None or algorithm not in EVENT_ALGORITHMS:
                raise StateError(
                    f"the bytes were saved with algorithm {algorithm!r}, which this version does "
                    "not know"
                )
            chosen = replace(chosen, algorithm=algorithm, reason="the saved window used it")
        types = {"checked": bool} if lateness is None else {"checked": bool, "min_arity": int}
        options = require_options(header, types)
        if not 2 <= options.get("min_arity", 2) <= 256:  # nodes hold up to four times as many
            raise StateError("the header of the bytes has no valid min_arity")
        restored = cls.__new__(cls)
        restored._setup(chosen, asked, options)
        return restored

    def __repr__(self) -> str:
        unit = "rows" if self.plan.lateness is None else "times"
        return f"<Window {self.plan.operator} over {self.plan.window}, {len(self)} {unit}>"
