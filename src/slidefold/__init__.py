"""slidefold: sliding-window aggregation.

A window is a fold that slides. An operator says how to fold, a window says when to slide, an
algorithm says how to do it without starting over.
"""

from slidefold import algorithms, errors
from slidefold._native import BloomFilter
from slidefold.laws import Report, check
from slidefold.operators import (
    Fold,
    Operator,
    bloom,
    collect,
    concat,
    count,
    first,
    geomean,
    last,
    max,
    max_by,
    max_count,
    mean,
    min,
    min_by,
    min_count,
    operator,
    std,
    sum,
    var,
)
from slidefold.planner import Plan, plan
from slidefold.window import Window
from slidefold.windows import Rows, Time, rows, time

__version__ = "0.1.0"

__all__ = [
    "BloomFilter",
    "Fold",
    "Operator",
    "Plan",
    "Report",
    "Rows",
    "Time",
    "Window",
    "algorithms",
    "bloom",
    "check",
    "collect",
    "concat",
    "count",
    "errors",
    "first",
    "geomean",
    "last",
    "max",
    "max_by",
    "max_count",
    "mean",
    "min",
    "min_by",
    "min_count",
    "operator",
    "plan",
    "rows",
    "std",
    "sum",
    "time",
    "var",
]
