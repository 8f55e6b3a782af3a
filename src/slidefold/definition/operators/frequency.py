"""How often values occur, and where a value stands among others: exact, without a combine.

The counts of two parts do not fit into a state that is smaller than all values, so no algorithm
folds these operators. Windows and columns keep counts instead, at O(1) or O(log n) per step.

All NaN are one value, the largest; -0.0 equals 0.0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from slidefold.definition.operators.base import Input, columns_of, dtype_of, whole_of
from slidefold.definition.operators.order import QuantileOperator
from slidefold.definition.operators.record import KEYS, Record, recorded
from slidefold.definition.operators.travel import as_values
from slidefold.errors import OperatorError, nearest

METHODS = ("average", "min", "max")
_COUNTED = Record(
    types=KEYS,
    travel=as_values,
    reads="compared",
    algorithm="order_statistics",
    because="it has no associative combine that is smaller than the counts of all values",
    engine="multiset",
    middle="whole",
    grows=True,
)


@dataclass(frozen=True, repr=False)
class TallyOperator(QuantileOperator):
    """An operator that needs to know how often each value occurs."""

    @property
    def native_params(self) -> dict[str, Any]:
        """The statistic that is asked for, and the types."""
        lower: Any = replace(self, params=(("interpolation", "lower"),))
        k = dict(self.params).get("k", 1)
        return {**super(TallyOperator, lower).native_params, "what": self.name, "k": k}


@dataclass(frozen=True, repr=False)
class RankOperator(TallyOperator):
    """The rank of a row's own value; `own` is the column of that value."""

    own: str = ""  # set where the definition is lowered

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of a row that it reads."""
        own = (self.own,) if self.own else ()
        return tuple(dict.fromkeys((*super().inputs, *own)))


@recorded(replace(_COUNTED, column="distinct"))
def distinct(column: Input | None = None, *, dtype: str = "float64") -> TallyOperator:
    """Count the distinct values, exactly; a window without values gives null.

    `approx_distinct` estimates it in constant memory. It has no associative combine, so the counts
    of all values are kept. State: about 48 bytes per distinct value; O(1) per step.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.distinct(dtype="str"), sf.rows(3))
    >>> [w.push(x) for x in "aabca"]
    [1, 1, 2, 3, 3]
    """
    return TallyOperator("distinct", columns_of(column), dtype_of(dtype, "distinct"))


@recorded(replace(_COUNTED, column="mode"))
def mode(column: Input | None = None, *, dtype: str = "float64") -> TallyOperator:
    """Return the most frequent value; of equally frequent values the smallest.

    It has no associative combine, so the counts of all values are kept. State: about 112 bytes per
    distinct value; O(log n) per step.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.mode(dtype="str"), sf.rows(3))
    >>> [w.push(x) for x in "babcc"]
    ['b', 'a', 'b', 'a', 'c']
    """
    return TallyOperator("mode", columns_of(column), dtype_of(dtype, "mode"))


@recorded(replace(_COUNTED, column="entropy"))
def entropy(column: Input | None = None, *, dtype: str = "float64") -> TallyOperator:
    """Compute the entropy of the values in a window, with natural logarithms.

    It is 0 if all values are equal, and log(n) if n values all differ. It has no associative
    combine, so the counts of all values are kept. They are exact, so a value that has left the
    window leaves no trace. State: about 48 bytes per distinct value; O(1) per step.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.entropy(dtype="str"), sf.rows(4))
    >>> [round(w.push(x), 4) for x in "aabb"]
    [0.0, 0.0, 0.6365, 0.6931]
    """
    return TallyOperator("entropy", columns_of(column), dtype_of(dtype, "entropy"))


@recorded(replace(_COUNTED, column="most_frequent"))
def most_frequent(
    column: Input | None = None, k: int = 1, *, dtype: str = "float64"
) -> TallyOperator:
    """Return the k most frequent values with their counts, the most frequent first.

    Of equally frequent values the smallest come first. The result is a list of structs with the
    fields `value` and `count`; `mode` returns the first value alone. `frequent_items` is
    approximate and needs less memory. It has no associative combine, so the counts of all values
    are kept. State: about 112 bytes per distinct value; O(k + log n) per step.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.most_frequent(k=2, dtype="str"), sf.rows(4))
    >>> [w.push(x) for x in "abb"][-1]
    [{'value': 'b', 'count': 2}, {'value': 'a', 'count': 1}]
    """
    params = (("k", whole_of(k, 1, "most_frequent", "k")),)
    checked = dtype_of(dtype, "most_frequent")
    return TallyOperator("most_frequent", columns_of(column), checked, params=params)


@recorded(replace(_COUNTED, column="rank", reads_row=True, events=False), built_in=False)
def rank(
    column: Input | None = None, method: str = "average", *, pct: bool = False
) -> RankOperator:
    """Return the rank of a row's own value among the values of its window, from 1.

    Equal values share a rank: the average of their places, or the smallest (`method="min"`) or the
    largest of them (`method="max"`), as in pandas. `pct=True` divides by the number of values. A
    value that is not in the window has the rank that it would have there. Use it in `sf.rolling`,
    with one result per row. It has no associative combine, so the values are kept sorted. State:
    about 32 bytes per value; O(log n) per step.

    >>> import pyarrow as pa, slidefold as sf
    >>> table = pa.table({"t": [1, 2, 3], "x": [5.0, 9.0, 7.0]})
    >>> sf.rolling(on="t", r=sf.rank("x").over(3)).run(table)["r"].to_pylist()
    [1.0, 2.0, 2.0]
    """
    if method not in METHODS:
        hint = nearest(method, METHODS)
        raise OperatorError(f"method of rank must be {', '.join(METHODS)}, got {method!r}{hint}")
    params = (("method", method), ("pct", bool(pct)))
    return RankOperator("rank", columns_of(column), params=params)
