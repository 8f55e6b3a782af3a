"""Few rows that stand for many: whatever is folded around them, the result is the same.

Some operators only look at some rows: those are *picked*. Others fold to one value that can be
folded again: those are *folded*. Others merge by formula (merging.py), users' own by their states
(states.py). The rest keeps all its rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.columns.decayed import merge_decayed
from slidefold.columns.exact import decimal_pieces
from slidefold.columns.folds import fold, present_rows
from slidefold.columns.merging import mergeable
from slidefold.columns.states import combine_states, keeps_states
from slidefold.columns.values import Array, comparable, plain, real_numbers, whole_numbers
from slidefold.definition.operators import Operator, UserOperator
from slidefold.definition.windows import Rows
from slidefold.definition.windows.sorted_rows import Ints

_BITS = {
    "bit_and": lambda a, b: a & b,
    "bit_or": lambda a, b: a | b,
    "bit_xor": lambda a, b: a ^ b,
}
_EXACT = Context(prec=76)
_ANY = Rows(1)  # frames are given, so that the window does not matter


def mode_of(operator: Operator) -> str:
    """Say how a middle is stood for: "picked", "folded", "merged", "state", "decayed" or "whole".

    >>> import slidefold as sf
    >>> [mode_of(op) for op in (sf.max("x"), sf.sum("x"), sf.var("x"), sf.collect("x"))]
    ['picked', 'folded', 'merged', 'whole']
    """
    if isinstance(operator, UserOperator):  # whatever it is called
        return "state" if keeps_states(operator) else "whole"
    if mergeable(operator):
        return "merged"
    if operator.name in _PICKS:
        return "picked"
    if operator.name in _BITS or operator.name == "sum":
        return "folded"
    return "decayed" if operator.name == "decayed_mean" else "whole"


# ---- rows that are picked -----------------------------------------------------------------------


def picked(operator: Operator, columns: tuple[Any, ...], lo: Ints, hi: Ints) -> list[Ints]:
    """Return the rows that stand for each range of rows in order; columns may have nulls."""
    valid = present_rows(columns)
    if valid is None or operator.keeps_nulls:
        kept = np.arange(len(columns[0]))
    else:
        kept = np.flatnonzero(valid)
        before = np.concatenate(([0], np.cumsum(valid)))
        lo, hi = before[lo], before[hi]
        columns = tuple(column.filter(pa.array(valid)) for column in columns)
    if operator.name in ("max_by", "min_by"):
        # Ties and NaN are for the kernel to decide.
        rows = pa.array(np.arange(len(kept)))
        found = fold(operator, _ANY, (rows, columns[1]), (lo, hi), None, None)
        return [kept[[] if row is None else [row]] for row in found.to_pylist()]
    key = _PICKS[operator.name]
    numbers = _KEYS[key](columns[0]) if key in _KEYS else None
    picks = _CHOICES[operator.name]
    ranges = zip(lo.tolist(), hi.tolist(), strict=True)
    return [
        kept[a + np.unique(picks(operator, b - a, None if numbers is None else numbers[a:b]))]
        if b > a
        else kept[:0]
        for a, b in ranges
    ]


def _compared(values: Any) -> Array:
    return comparable(plain(values))[0]


def _codes(values: Any) -> Array:
    return plain(values).dictionary_encode().indices.to_numpy()  # type: ignore[no-any-return]


def _truths(values: Any) -> Array:
    values = plain(values)
    numbers = real_numbers(values) if pa.types.is_decimal(values.type) else comparable(values)[0]
    return numbers != 0  # type: ignore[no-any-return]


def _most(numbers: Array) -> int:
    missing = np.isnan(numbers) if numbers.dtype.kind == "f" else None
    if missing is not None and missing.any():  # the largest of all
        return int(np.argmax(missing))
    return int(np.argmax(numbers))


def _least(numbers: Array) -> int:
    missing = np.isnan(numbers) if numbers.dtype.kind == "f" else None
    if missing is not None and missing.any():
        return 0 if missing.all() else int(np.nanargmin(numbers))
    return int(np.argmin(numbers))


def _equal_to(numbers: Array, row: int) -> Array:
    best = numbers[row]
    same = np.isnan(numbers) if best != best else numbers == best
    return np.flatnonzero(same)


def _both(truths: Array) -> list[int]:
    """Return a row of each kind that there is."""
    return [int(np.argmax(truths)), int(np.argmin(truths))]


def _youngest(operator: Operator, rows: int, _: Any) -> Array:
    n: Any = dict(operator.params)["n"]
    return np.arange(max(0, rows - n), rows)


def _top(operator: Operator, rows: int, numbers: Array) -> Array:
    k: Any = dict(operator.params)["k"]
    return np.argsort(numbers, kind="stable")[max(0, rows - k) :]  # NaN is last, the largest


# What each looks at, and which rows of a range it picks by that.
_KEYS: dict[str, Callable[[Any], Array]] = {
    "order": _compared,
    "codes": _codes,
    "truth": _truths,
}
_CHOICES: dict[str, Callable[[Operator, int, Any], Any]] = {
    "first": lambda _, rows, __: [0],
    "last": lambda _, rows, __: [rows - 1],
    "nth": _youngest,
    "min": lambda _, rows, x: [_least(x)],
    "max": lambda _, rows, x: [_most(x)],
    "range": lambda _, rows, x: [_least(x), _most(x)],
    "m4": lambda _, rows, x: [0, rows - 1, _least(x), _most(x)],
    "top_k": _top,
    "min_count": lambda _, rows, x: _equal_to(x, _least(x)),
    "max_count": lambda _, rows, x: _equal_to(x, _most(x)),
    "any": lambda _, rows, x: _both(x),
    "all": lambda _, rows, x: _both(x),
    "collect_distinct": lambda _, rows, x: np.unique(x, return_index=True)[1],
    "approx_distinct": lambda _, rows, x: np.unique(x, return_index=True)[1],
    "bloom": lambda _, rows, x: np.unique(x, return_index=True)[1],
}
_PICKS = {
    **dict.fromkeys(("first", "last", "nth", "max_by", "min_by"), ""),
    **dict.fromkeys(("min", "max", "range", "m4", "top_k", "min_count", "max_count"), "order"),
    **dict.fromkeys(("any", "all"), "truth"),
    **dict.fromkeys(("collect_distinct", "approx_distinct", "bloom"), "codes"),
}


# ---- values that are folded ---------------------------------------------------------------------


def widened(values: Any) -> Any:
    """Return a column in a type that holds the values of many rows folded."""
    values = plain(values)
    kind = values.type
    if pa.types.is_decimal(kind):
        return values.cast(pa.decimal128(38, kind.scale))
    if pa.types.is_floating(kind):
        return values.cast(pa.float64())
    if pa.types.is_duration(kind) or pa.types.is_null(kind):
        return values
    mask = None if values.null_count == 0 else ~values.is_valid().to_numpy(zero_copy_only=False)
    filled = values.fill_null(False if pa.types.is_boolean(kind) else 0)
    return pa.array(whole_numbers(filled), mask=mask)


def folded(operator: Operator, column: Any, lo: Ints, hi: Ints) -> list[Any]:
    """Return the values of ranges of rows: integers of any size, floats; None for no values."""
    wide = widened(column)
    kind = wide.type
    if operator.name == "sum" and not pa.types.is_floating(kind) and not pa.types.is_null(kind):
        return _exact_sums(wide, lo, hi)
    if operator.variant:
        return _compensated_sums(wide, lo, hi)
    return fold(operator, _ANY, (wide,), (lo, hi), None, None).to_pylist()  # type: ignore[no-any-return]


def _exact_sums(wide: Any, lo: Ints, hi: Ints) -> list[Any]:
    """Return sums as Python's integers, those of decimals in units of their last digit."""
    valid = present_rows((wide,))
    counted = np.concatenate(([0], np.cumsum(np.ones(len(wide)) if valid is None else valid)))
    if pa.types.is_decimal(wide.type):
        pieces = decimal_pieces(wide.fill_null(Decimal(0)))
    else:
        whole = wide.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        pieces = [whole & 0xFFFFFFFF, whole >> 32]
    # 32 bits each: 2**31 of them fit the sum.
    before = [np.concatenate(([0], np.cumsum(piece))) for piece in pieces]
    found: list[Any] = []
    for a, b in zip(lo.tolist(), hi.tolist(), strict=True):
        total = sum(int(sums[b] - sums[a]) << (32 * i) for i, sums in enumerate(before))
        found.append(total if counted[b] > counted[a] else None)
    return found


def _compensated_sums(wide: Any, lo: Ints, hi: Ints) -> list[Any]:
    """Return sums as what they are rounded to and what is left."""
    ranges = zip(lo.tolist(), hi.tolist(), strict=True)
    parts = (wide.slice(a, b - a).drop_null().to_pylist() for a, b in ranges)
    return [_two_floats(part) if part else None for part in parts]


def _two_floats(values: Sequence[float]) -> tuple[float, ...]:
    """Return a sum as one or two floats that add up to it.

    >>> _two_floats([1e16, 1.0])
    (1e+16, 1.0)
    """
    try:
        total = math.fsum(values)
    except (OverflowError, ValueError):  # it is not finite, or both infinities are in it
        return (sum(values),)
    return (total, math.fsum([*values, -total])) if math.isfinite(total) else (total,)


def fold_values(operator: Operator, values: Sequence[Any]) -> Any:
    """Return the value of all together, None if there is none; values are in time order."""
    given = [value for value in values if value is not None]
    if len(given) < 2:
        return given[0] if given else None
    if isinstance(operator, UserOperator):
        return combine_states(operator, given)
    if operator.name == "decayed_mean":
        return merge_decayed(given)
    if isinstance(given[0], tuple):
        return _two_floats([item for value in given for item in value])
    return reduce(_BITS.get(operator.name, add), given)


def value_rows(value: Any, kind: Any) -> Any:
    """Return a folded value as rows of a widened column: one, or a few if it is too large for one.

    >>> value_rows(2**63, pa.int64()).to_pylist()
    [9223372036854775807, 1]
    """
    if value is None:
        return pa.array([], kind)
    if isinstance(value, tuple):
        return pa.array(value, kind)
    if not isinstance(value, int) or pa.types.is_floating(kind):
        return pa.array([value], kind)
    most = 10**38 - 1 if pa.types.is_decimal(kind) else 2**63 - 1
    sign, rest, rows = -1 if value < 0 else 1, abs(value), []
    while rest > most:
        rows.append(sign * most)
        rest -= most
    rows.append(sign * rest)
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(row).scaleb(-kind.scale, _EXACT) for row in rows], kind)
    return pa.array(rows, pa.int64()).cast(kind)
