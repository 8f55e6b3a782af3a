"""The operators, one file per family; each function is next to the record of its operator."""

from slidefold.definition.operators.arithmetic import count, geomean, mean, std, sum, var
from slidefold.definition.operators.base import Operator, Traits
from slidefold.definition.operators.datasketch import (
    SketchOperator,
    approx_quantile,
    frequent_items,
    theta,
)
from slidefold.definition.operators.extremes import (
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
from slidefold.definition.operators.logic import all, any, bit_and, bit_or, bit_xor, histogram
from slidefold.definition.operators.order import QuantileOperator, median, quantile
from slidefold.definition.operators.over import Over
from slidefold.definition.operators.pairs import correlation, covariance, decayed_mean, trend
from slidefold.definition.operators.positional import (
    collect,
    collect_distinct,
    concat,
    first,
    last,
    nth,
)
from slidefold.definition.operators.product import StructOperator, struct
from slidefold.definition.operators.record import BUILT_IN, NAMED, RECORDS, Record, recorded
from slidefold.definition.operators.sketches import (
    approx_distinct,
    bloom,
    count_min,
    moments,
    naive_bayes,
)
from slidefold.definition.operators.user import Fold, OperatorFactory, UserOperator, operator

__all__ = [
    "BUILT_IN",
    "NAMED",
    "RECORDS",
    "Fold",
    "Operator",
    "OperatorFactory",
    "Over",
    "QuantileOperator",
    "Record",
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
    "recorded",
    "relative_variation",
    "std",
    "struct",
    "sum",
    "theta",
    "top_k",
    "trend",
    "var",
]
