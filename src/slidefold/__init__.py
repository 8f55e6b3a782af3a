"""slidefold: sliding-window aggregation.

A window is a fold that slides. An operator says how to fold, a window says when to slide, and an
algorithm says how to slide without folding everything again.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from slidefold import algorithms, errors
from slidefold._native import BloomFilter, CountMinSketch, Moments, NaiveBayesModel
from slidefold.definition.arguments import rolling
from slidefold.definition.expressions import Expression, col
from slidefold.definition.operators import (
    Fold,
    Operator,
    Over,
    all,
    any,
    approx_distinct,
    approx_quantile,
    bit_and,
    bit_or,
    bit_xor,
    bloom,
    change,
    collect,
    collect_distinct,
    concat,
    correlation,
    count,
    count_min,
    covariance,
    decayed_count,
    decayed_mean,
    decayed_sum,
    distinct,
    entropy,
    first,
    frequent_items,
    geomean,
    histogram,
    kurtosis,
    lag,
    last,
    longest_gap,
    m4,
    max,
    max_by,
    max_count,
    mean,
    median,
    min,
    min_by,
    min_count,
    mode,
    moments,
    most_frequent,
    naive_bayes,
    nth,
    operator,
    quantile,
    range,
    rank,
    ratio_change,
    relative_variation,
    since_first,
    since_last,
    skewness,
    std,
    struct,
    sum,
    theta,
    top_k,
    trend,
    var,
    weighted_mean,
)
from slidefold.definition.rolling import Rolling
from slidefold.definition.windows import (
    Delta,
    Lifetime,
    Punctuated,
    Rows,
    Session,
    Time,
    delta,
    lifetime,
    punctuated,
    rows,
    session,
    time,
)
from slidefold.planner import Plan, plan
from slidefold.window import Window

if TYPE_CHECKING:
    from slidefold.laws import Report, check
    from slidefold.live import Live

__version__ = "0.1.0"

__all__ = [
    "BloomFilter",
    "CountMinSketch",
    "Delta",
    "Expression",
    "Fold",
    "Lifetime",
    "Live",
    "Moments",
    "NaiveBayesModel",
    "Operator",
    "Over",
    "Plan",
    "Punctuated",
    "Report",
    "Rolling",
    "Rows",
    "Session",
    "Time",
    "Window",
    "algorithms",
    "all",
    "any",
    "approx_distinct",
    "approx_quantile",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bloom",
    "change",
    "check",
    "col",
    "collect",
    "collect_distinct",
    "concat",
    "correlation",
    "count",
    "count_min",
    "covariance",
    "decayed_count",
    "decayed_mean",
    "decayed_sum",
    "delta",
    "distinct",
    "entropy",
    "errors",
    "first",
    "frequent_items",
    "geomean",
    "histogram",
    "kurtosis",
    "lag",
    "last",
    "lifetime",
    "longest_gap",
    "m4",
    "max",
    "max_by",
    "max_count",
    "mean",
    "median",
    "min",
    "min_by",
    "min_count",
    "mode",
    "moments",
    "most_frequent",
    "naive_bayes",
    "nth",
    "operator",
    "plan",
    "punctuated",
    "quantile",
    "range",
    "rank",
    "ratio_change",
    "relative_variation",
    "rolling",
    "rows",
    "session",
    "since_first",
    "since_last",
    "skewness",
    "std",
    "struct",
    "sum",
    "theta",
    "time",
    "top_k",
    "trend",
    "var",
    "weighted_mean",
]

# Loaded on first use, so that the import stays fast.
_LATER = {"Live": "slidefold.live", "Report": "slidefold.laws", "check": "slidefold.laws"}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'slidefold' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
