"""The operators, one family a file."""

from slidefold.operators.arithmetic import count, geomean, mean, std, sum, var
from slidefold.operators.base import Operator, Traits
from slidefold.operators.datasketch import (
    SketchOperator,
    approx_quantile,
    frequent_items,
    theta,
)
from slidefold.operators.extremes import (
    m4,
    max,
    max_by,
    max_count,
    min,
    min_by,
    min_count,
    range,
    relative_variation,
    top_k,
)
from slidefold.operators.logic import all, any, bit_and, bit_or, bit_xor, histogram
from slidefold.operators.order import QuantileOperator, median, quantile
from slidefold.operators.over import Over
from slidefold.operators.pairs import correlation, covariance, decayed_mean, trend
from slidefold.operators.positional import collect, collect_distinct, concat, first, last, nth
from slidefold.operators.product import StructOperator, struct
from slidefold.operators.sketches import (
    approx_distinct,
    bloom,
    count_min,
    moments,
    naive_bayes,
)
from slidefold.operators.user import Fold, OperatorFactory, UserOperator, operator

# Every built-in by name: tests, benchmarks and docs walk this table.
BUILT_IN = {
    function.__name__: function
    for function in (
        count,
        sum,
        min,
        max,
        mean,
        geomean,
        var,
        std,
        max_by,
        min_by,
        max_count,
        min_count,
        range,
        relative_variation,
        m4,
        top_k,
        any,
        all,
        bit_and,
        bit_or,
        bit_xor,
        histogram,
        first,
        last,
        nth,
        concat,
        collect,
        collect_distinct,
        covariance,
        correlation,
        trend,
        decayed_mean,
        bloom,
        count_min,
        approx_distinct,
        moments,
        naive_bayes,
        median,
        quantile,
    )
}

# Those of datasketches are no built-ins, as they need a package of their own.
NAMED = {
    **BUILT_IN,
    **{function.__name__: function for function in (approx_quantile, frequent_items, theta)},
}

__all__ = [
    "BUILT_IN",
    "NAMED",
    "Fold",
    "Operator",
    "OperatorFactory",
    "Over",
    "QuantileOperator",
    "SketchOperator",
    "StructOperator",
    "Traits",
    "UserOperator",
    "all",
    "any",
    "approx_distinct",
    "approx_quantile",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bloom",
    "collect",
    "collect_distinct",
    "concat",
    "correlation",
    "count",
    "count_min",
    "covariance",
    "decayed_mean",
    "first",
    "frequent_items",
    "geomean",
    "histogram",
    "last",
    "m4",
    "max",
    "max_by",
    "max_count",
    "mean",
    "median",
    "min",
    "min_by",
    "min_count",
    "moments",
    "naive_bayes",
    "nth",
    "operator",
    "quantile",
    "range",
    "relative_variation",
    "std",
    "struct",
    "sum",
    "theta",
    "top_k",
    "trend",
    "var",
]
