"""`Window`: one live window, event by event."""

from __future__ import annotations

from typing import Any, Self

from slidefold import _native
from slidefold.operators import Operator
from slidefold.planner import Plan, plan
from slidefold.windows import Rows, Time


class Window(_native.WindowCore):
    """A window that slides over events: `operator` says how to fold, `window` when to slide.

    `push` inserts an event, evicts what has left the window and returns the window's result, in one
    native call: `push(value)` for rows windows, `push(time, value)` for time windows, whose times
    must not go backwards. Of an empty window the result is None (0 for count).

    >>> import slidefold as sf
    >>> w = sf.Window(sf.max(), sf.rows(3))
    >>> [w.push(x) for x in (1.0, 5.0, 2.0, 3.0, 4.0)]
    [1.0, 5.0, 5.0, 5.0, 4.0]
    >>> w.query(), len(w)
    (4.0, 3)
    """

    def __init__(
        self,
        operator: Operator,
        window: Rows | Time,
        *,
        optimize: str = "latency",
        algorithm: str | None = None,
        checked: bool = False,
    ) -> None:
        self.plan: Plan = plan(operator, window, optimize=optimize, algorithm=algorithm)
        self._options = {"checked": checked}
        super().__init__(self.plan.algorithm, operator, window.rule(), self._options)

    def explain(self) -> str:
        """Say which algorithm runs, why, what a step costs and what is kept."""
        return str(self.plan)

    def copy(self) -> Self:
        """Return an independent copy, in O(n)."""
        twin = type(self).__new__(type(self))
        rule = self.plan.window.rule()
        _native.WindowCore.__init__(
            twin, self.plan.algorithm, self.plan.operator, rule, self._options
        )
        twin.__dict__.update(self.__dict__)
        twin._copy_from(self)
        return twin

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __repr__(self) -> str:
        return f"<Window {self.plan.operator} over {self.plan.window}, {len(self)} rows>"
