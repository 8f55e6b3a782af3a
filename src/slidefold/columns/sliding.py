"""Rows windows over a whole column: each algorithm has a kernel for them that needs no frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slidefold.algorithms import REGISTRY
from slidefold.columns.folds import FOLDS, fold_numbers
from slidefold.columns.reading import Task
from slidefold.columns.values import Array
from slidefold.operators import Operator, Over, UserOperator
from slidefold.planner import plan_column
from slidefold.windows import Rows, SortedRows

_SLIDING = ("sum", "min", "max", "mean", "var", "std")


@dataclass(frozen=True)
class SlidingTask(Task):
    """A task whose frames are the last rows of one long group."""

    def kernel(self, operator: Operator, values: Any) -> tuple[Any, Array]:
        """Slide over the column."""
        assert isinstance(self.window, Rows)
        name = plan_column(operator, self.window, self.algorithm).algorithm
        data = REGISTRY[name](operator).slide(values, self.window.n)
        # A result needs a value, a spread more values than degrees of freedom.
        needed: Any = dict(operator.params).get("ddof", 0)
        valid = np.full(len(data), self.window.n > needed)
        valid[:needed] = False
        return data, valid


def slides(over: Over, rows: SortedRows, columns: tuple[Any, ...]) -> bool:
    """Tell whether a column is a rows window over all rows, of which none is null."""
    if not isinstance(over.window, Rows) or over.window.closed != "right":
        return False
    plain = over.operator.name in _SLIDING and not isinstance(over.operator, UserOperator)
    if not plain or over.min_count is not None or over.algorithm == "pba":
        return False
    return len(rows.starts) == 2 and columns[0].null_count == 0


def slide(over: Over, columns: tuple[Any, ...]) -> Any:
    """Return the results of such a column."""
    none = np.empty(0, np.int64)
    task = SlidingTask(over.operator, over.window, over.algorithm, columns, none, none)
    return FOLDS.get(over.operator.name, fold_numbers)(task)
