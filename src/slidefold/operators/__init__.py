"""The operators, one family a file."""

from slidefold.operators.arithmetic import count, geomean, mean, std, sum, var
from slidefold.operators.base import Operator, Traits
from slidefold.operators.extremes import max, max_by, max_count, min, min_by, min_count
from slidefold.operators.positional import collect, concat, first, last
from slidefold.operators.sketches import bloom
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
        first,
        last,
        concat,
        collect,
        bloom,
    )
}

__all__ = [
    "BUILT_IN",
    "Fold",
    "Operator",
    "OperatorFactory",
    "Traits",
    "UserOperator",
    "bloom",
    "collect",
    "concat",
    "count",
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
    "std",
    "sum",
    "var",
]
