"""`Window`: one live window, event by event."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Self

from slidefold import _native
from slidefold.errors import WindowError
from slidefold.operators import Operator
from slidefold.planner import Plan, fiba_arity, plan
from slidefold.windows import Rows, Time


class Window(_native.WindowCore):
    """A window that slides over events: `operator` says how to fold, `window` when to slide.

    `push` inserts an event, evicts what has left the window and returns the window's result, in one
    native call: `push(value)` for rows windows, `push(time, value)` for time windows, whose times
    must not go backwards. Of an empty window the result is None (0 for count).

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
        window: Rows | Time,
        *,
        optimize: str = "latency",
        algorithm: str | None = None,
        lateness: str | timedelta | int | float | None = None,
        late: str = "drop",
        checked: bool = False,
    ) -> None:
        if late not in ("drop", "raise"):
            raise WindowError(f"late is 'drop' or 'raise', got {late!r}")
        self.plan: Plan = plan(
            operator, window, optimize=optimize, algorithm=algorithm, lateness=lateness
        )
        self._options: dict[str, Any] = {"checked": checked}
        self._rule = window.rule()
        if lateness is not None and isinstance(window, Time):
            self._options["min_arity"] = fiba_arity(operator)
            self._rule["lateness"] = window.lateness_rule(lateness)
            self._rule["raises"] = late == "raise"
        super().__init__(self.plan.algorithm, operator, self._rule, self._options)

    def explain(self) -> str:
        """Say which algorithm runs, why, what a step costs and what is kept."""
        return str(self.plan)

    def copy(self) -> Self:
        """Return an independent copy, in O(n)."""
        twin = type(self).__new__(type(self))
        _native.WindowCore.__init__(
            twin, self.plan.algorithm, self.plan.operator, self._rule, self._options
        )
        twin.__dict__.update(self.__dict__)
        twin._copy_from(self)
        return twin

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __repr__(self) -> str:
        held = "rows" if self.plan.lateness is None else "times"
        return f"<Window {self.plan.operator} over {self.plan.window}, {len(self)} {held}>"
