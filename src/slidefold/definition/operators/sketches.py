"""Sketches: small summaries with a bounded error."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from slidefold.definition.operators.base import (
    Input,
    Operator,
    columns_of,
    dtype_of,
    share_of,
    whole_of,
)
from slidefold.definition.operators.record import KEYS, Record, recorded
from slidefold.definition.operators.travel import (
    Coding,
    Numbers,
    as_asked,
    as_counted,
    as_labels,
)
from slidefold.errors import OperatorError


def _bits(params: dict[str, Any]) -> int:
    return -(-int(params["bits"]) // 64) * 8


def _counters(params: dict[str, Any]) -> int:
    depth = math.ceil(-math.log1p(-params["confidence"]))
    width: int = math.ceil(math.e / params["epsilon"])
    return 8 * width * depth


_ASKED = Record(types=KEYS, travel=as_asked, column="sketch", reads="hashed")

# 128 MiB hold 10^8 values with 1% false positives; 64 hashes allow a rate down to 2^-64.
MOST_BITS, MOST_HASHES = 2**30, 64
MOST_COUNTERS = 2**26  # the counters of a count-min table of 512 MiB


@recorded(replace(_ASKED, result_bytes=_bits))
def bloom(
    column: Input | None = None, *, bits: int = 1 << 14, hashes: int = 3, dtype: str = "float64"
) -> Operator:
    """Build a Bloom filter of the values, for `x in filter`; it has no false negatives.

    With n distinct values the probability of a false positive is about
    `(1 - exp(-hashes * n / bits)) ** hashes`. Commutative. State: 8 bytes per value for few values,
    then `bits / 8` bytes. At most 2**30 bits and 64 hashes.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.bloom(dtype="str"), sf.rows(2))
    >>> filters = [w.push(x) for x in ("ann", "bob", "cat")]
    >>> "ann" in filters[1], "ann" in filters[2]
    (True, False)
    """
    params = (
        ("bits", whole_of(bits, 1, "bloom", "bits", most=MOST_BITS)),
        ("hashes", whole_of(hashes, 1, "bloom", "hashes", most=MOST_HASHES)),
    )
    return Operator("bloom", columns_of(column), dtype_of(dtype, "bloom"), params=params)


@recorded(replace(_ASKED, result_bytes=_counters))
def count_min(
    column: Input | None = None,
    *,
    epsilon: float = 0.001,
    confidence: float = 0.99,
    dtype: str = "float64",
) -> Operator:
    """Build a count-min sketch; `sketch.estimate(value)` estimates how often a value occurs.

    An estimate is never too low. The probability that it is too high by more than `epsilon` times
    the number of values is below `1 - confidence`. Commutative and invertible. State: 16 bytes per
    distinct value for few values, then a table of `e / epsilon` by `ln(1 / (1 - confidence))`
    counters of 8 bytes, at most 2**26 counters. In a column, results are always that table.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.count_min(dtype="str"), sf.rows(3))
    >>> sketches = [w.push(x) for x in "abaa"]
    >>> [sketch.estimate("a") for sketch in sketches], sketches[3].total
    ([1, 1, 2, 2], 3)
    """
    params = (
        ("epsilon", share_of(epsilon, "count_min", "epsilon")),
        ("confidence", share_of(confidence, "count_min", "confidence")),
    )
    depth = math.ceil(-math.log1p(-confidence))
    if math.e / epsilon > MOST_COUNTERS // depth:
        raise OperatorError(
            f"count_min with epsilon={epsilon!r} and confidence={confidence!r} needs a table of "
            f"{math.e / epsilon * depth:.3g} counters, more than {MOST_COUNTERS:,}: use a larger "
            "epsilon"
        )
    checked = dtype_of(dtype, "count_min")
    return Operator("count_min", columns_of(column), checked, params=params)


@recorded(
    Record(
        types=KEYS,
        travel=as_counted,
        reads="hashed",
        algorithm="register_queues",
        because="each register keeps a queue of the rows that may become its maximum",
    )
)
def approx_distinct(
    column: Input | None = None, *, precision: int = 12, dtype: str = "float64"
) -> Operator:
    """Estimate the number of distinct values with HyperLogLog; the result is an integer.

    The standard error is `1.04 / sqrt(2 ** precision)`, or 1.6% at 12; small counts are nearly
    exact. All NaN are one value, and -0.0 equals 0.0. Commutative. State: 24 bytes for one value, 4
    bytes per distinct value for few values, then `2 ** precision` bytes. Equal states share these
    bytes: a window of a million values takes about 100 MB, not 4 GB.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.approx_distinct(dtype="str"), sf.rows(3))
    >>> [w.push(x) for x in "abaac"]
    [1, 2, 2, 2, 2]
    """
    precision = whole_of(precision, 4, "approx_distinct", "precision", most=18)
    checked = dtype_of(dtype, "approx_distinct")
    params = (("precision", precision),)
    return Operator("approx_distinct", columns_of(column), checked, params=params)


@recorded(Record(travel=Numbers(), column="moments"))
def moments(column: Input | None = None, *, k: int = 10, dtype: str = "float64") -> Operator:
    """Build a moment sketch; `result.quantile(q)` estimates quantiles from k moments.

    Quantiles are estimated by maximum entropy. The error of the rank is below 0.01 at k = 10 for
    smooth data such as uniform, normal or exponential values, and about `1 / k` for data with
    several modes. It may be 0.4 for heavy tails over many orders of magnitude or few distinct
    values: use `approx_quantile` for those. The result also has `count`, `min`, `max` and `mean`.
    If a value is not finite or beyond 1e300, all but `count` are NaN. States are combined by the
    pairwise formula, in units of the range, so large values and values far from zero keep their
    digits. Commutative. State: 64 bytes for one value, then 8 bytes per moment more; k * k
    multiplications per combine.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.moments(), sf.rows(1000))
    >>> for x in range(2000):
    ...     result = w.push(x)
    >>> result.count, result.min, result.max, round(result.quantile(0.5), -1)
    (1000, 1000.0, 1999.0, 1500.0)
    """
    k = whole_of(k, 2, "moments", "k", most=15)
    return Operator("moments", columns_of(column), dtype_of(dtype, "moments"), params=(("k", k),))


@recorded(
    Record(
        types=("int64", "str"),
        key_types=("int64", "str"),
        travel=as_labels,
        column="naive_bayes",
        reads="labels",
    )
)
def naive_bayes(
    label: Input | None = None,
    *features: str,
    dtype: str = "str",
    key_dtype: str = "str",
) -> Operator:
    """Train a naive Bayes classifier on the window; `model.predict(features)` gives a label.

    Labels (`dtype`) and features (`key_dtype`) are integers or strings; live windows also take any
    other type without fractions. Live windows take tuples `(label, feature, ...)`; columns are a
    tuple of columns. Every count is increased by one (Laplace smoothing); of equally likely labels
    the smallest wins. A row with a None is skipped. Commutative and invertible. State: the count of
    each label, and of each feature value per label.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.naive_bayes(), sf.rows(4))
    >>> rows = [("spam", "win"), ("ham", "hi"), ("spam", "win"), ("ham", "hi")]
    >>> model = [w.push(row) for row in rows][-1]
    >>> model.predict(("win",)), model.predict(("hi",)), model.labels
    ('spam', 'ham', {'ham': 2, 'spam': 2})
    """
    if label is not None and not features:
        raise OperatorError(
            "naive_bayes needs a label and at least one feature, such as "
            f"naive_bayes({label!r}, 'word'), got only a label"
        )
    columns = columns_of(label, *features)
    checked = dtype_of(dtype, "naive_bayes")
    seen = dtype_of(key_dtype, "naive_bayes", second=True)
    return Classifier("naive_bayes", columns, checked, seen)


@dataclass(frozen=True, repr=False)
class Classifier(Operator):
    """A classifier; its results hold converted labels and values."""

    def _coded_result(self, codings: tuple[Coding, ...]) -> str:
        return f"classes({codings[0].codec}|{codings[-1].codec})"
