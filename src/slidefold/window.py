"""`Window`: one live window, event by event."""

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
    saving,
    window_from,
    window_header,
)


class Window(_native.WindowCore):
    """A window that slides over events: `operator` says how to fold, `window` when to slide.

    `push` inserts an event, evicts what has left the window and returns the window's result, in one
    native call: `push(value)` for rows windows, `push(time, value)` for time windows, whose times
    must not go backwards. As for `over`, a duration is a time window, an integer a rows window.
    Of an empty window the result is None (0 for count).

    With `lateness=`, a time window takes late events: up to that far behind the newest one, each
    gets the window that ends at its own time. What comes later still is dropped and counted in
    `late` (`late="raise"`: an error). `query()` is the window at the newest time, `query(last=)` a
    shorter one that ends there, `query(since, until)` what lies between, both included. `advance`
    takes a watermark: all that no window after it needs is dropped at once, and events up to it are
    late. `evict(time)` retracts everything at a time.

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
            raise WindowError(f"late is 'drop' or 'raise', got {late!r}")
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
        """Say which algorithm runs, why, what a step costs and what is kept."""
        return str(self.plan)

    copy = __copy__ = saving.copy
    __deepcopy__ = saving.deepcopy
    to_bytes = saving.to_bytes
    __reduce__ = saving.reduce

    @classmethod
    def from_bytes(
        cls, data: bytes, operator: Operator | None = None, *, operators: Operators = ()
    ) -> Self:
        """Make a window from its state; it goes on exactly as the saved one would have.

        An operator of your own is found in its module if that is imported already, or in the list
        `operators`, or it is `operator`: bytes never import anything. Anything but the state of
        this class is a `StateError`.
        """
        return saving.from_bytes(cls, data, operator, operators)

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
            raise StateError("the bytes were written with options that are not known here")
        chosen = plan(
            operator,
            window,
            optimize=asked["optimize"],
            algorithm=asked["algorithm"],
            lateness=lateness,
        )
        if chosen.algorithm != algorithm:  # today's planner would choose another one
            if lateness is not None or algorithm not in EVENT_ALGORITHMS:
                raise StateError("the bytes were written with an algorithm that is not known here")
            chosen = replace(chosen, algorithm=algorithm, reason="the saved window ran on it")
        types = {"checked": bool} if lateness is None else {"checked": bool, "min_arity": int}
        made = cls.__new__(cls)
        made._setup(chosen, asked, require_options(header, types))
        return made

    def __repr__(self) -> str:
        held = "rows" if self.plan.lateness is None else "times"
        return f"<Window {self.plan.operator} over {self.plan.window}, {len(self)} {held}>"
