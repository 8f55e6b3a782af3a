"""What an expression must give, in plain Python, from the rules in the documentation alone.

A column is a list of raw values: integers for times and durations (in their unit) and for decimals
(of their last digit), otherwise what Python has. Rows with an error are collected, not raised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from slidefold.definition.expressions import Call, Column, Literal, Node

types = pa.types
STEPS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DAY = 86400
LARGEST = 10**38  # the first whole number that is too long for a decimal
DIGITS = {"int8": 3, "uint8": 3, "int16": 5, "uint16": 5, "int32": 10, "uint32": 10}


class WrongTypeError(Exception):
    """Raised for an expression that must be refused."""


@dataclass(frozen=True)
class Values:
    """A column: its Arrow type, and its raw values."""

    kind: Any
    values: list[Any]


@dataclass
class Oracle:
    """Evaluates expressions over columns of raw values."""

    columns: Mapping[str, Values]
    rows: int
    failed: set[int] = field(default_factory=set)  # the rows with an error

    def value(self, node: Node) -> Values:
        """Return the column that an expression gives."""
        if isinstance(node, Column):
            return self._column(self.columns[node.name])
        if isinstance(node, Literal):
            kind, raw = literal(node.value)
            return Values(kind, [raw] * self.rows)
        assert isinstance(node, Call)
        if node.function == "is_null" and isinstance(node.given[0], Column):
            return self._is_null(self.columns[node.given[0].name])  # whatever the value is
        given = [self.value(part) for part in node.given]
        function = node.function
        if function in ARITHMETIC:
            return self._arithmetic(function, *given)
        if function in COMPARED:
            return self._compared(function, *given)
        if function == "cast":
            return self._cast(given[0], node.option)
        return getattr(self, f"_{function}")(*given)  # type: ignore[no-any-return]

    def output(self, node: Node) -> Values:
        """Return the column as it comes out: floats and nulls are float64, integers int64."""
        found = self.value(node)
        if types.is_null(found.kind) or types.is_floating(found.kind):
            return Values(pa.float64(), found.values)
        if types.is_integer(found.kind):
            return Values(pa.int64(), found.values)
        views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
        return Values(views.get(found.kind, found.kind), found.values)

    def each(self, kind: Any, function: Any, *columns: Sequence[Any]) -> Values:
        """Apply a function to the rows that have all values; OverflowError marks a row."""
        found: list[Any] = []
        for row, values in enumerate(zip(*columns, strict=True)):
            if any(value is None for value in values):
                found.append(None)
                continue
            try:
                found.append(function(*values))
            except OverflowError:
                self.failed.add(row)
                found.append(None)
        return Values(kind, found)

    def _column(self, column: Values) -> Values:
        kind = column.kind.value_type if types.is_dictionary(column.kind) else column.kind
        if types.is_uint64(kind):
            return self.each(pa.int64(), whole, column.values)
        return Values(kind, column.values)

    # ---- arithmetic

    def _arithmetic(self, function: str, a: Values, b: Values) -> Values:
        if types.is_temporal(a.kind) or types.is_temporal(b.kind):
            return self._in_time(function, a, b)
        require(is_number(a.kind) and is_number(b.kind))
        loose = any(types.is_null(v.kind) or types.is_floating(v.kind) for v in (a, b))
        if function == "divide" or loose:
            x, y = self._real(a), self._real(b)
            return self.each(pa.float64(), REAL[function], x.values, y.values)
        if types.is_integer(a.kind) and types.is_integer(b.kind):
            return self.each(pa.int64(), WHOLE[function], a.values, b.values)
        require(function in ("add", "subtract", "multiply"))
        x, y = as_decimal(a), as_decimal(b)
        if function == "multiply":
            scale = x.kind.scale + y.kind.scale
            digits = x.kind.precision + y.kind.precision + 1
        else:
            scale = max(x.kind.scale, y.kind.scale)
            digits = max(v.kind.precision - v.kind.scale for v in (x, y)) + scale + 1
            x, y = self._scaled(x, scale), self._scaled(y, scale)
        require(scale <= 38 and digits - scale <= 39)
        kind = pa.decimal128(min(digits, 38), scale)
        fold = REAL[function]
        return self.each(kind, lambda p, q: short(fold(p, q)), x.values, y.values)

    def _in_time(self, function: str, a: Values, b: Values) -> Values:
        spans = [types.is_duration(v.kind) for v in (a, b)]
        moments = [types.is_timestamp(v.kind) or types.is_date(v.kind) for v in (a, b)]
        if function == "multiply" and any(spans) and any(types.is_integer(v.kind) for v in (a, b)):
            kind = a.kind if spans[0] else b.kind
            return self.each(kind, WHOLE["multiply"], a.values, b.values)
        unit = max((unit_of(v.kind) for v in (a, b)), key=lambda one: STEPS.get(one, 0))
        if function == "divide" and all(spans):
            x, y = self._in_unit(a, unit), self._in_unit(b, unit)
            real = [[None if v is None else float(v) for v in c.values] for c in (x, y)]
            return self.each(pa.float64(), REAL["divide"], *real)
        x, y = self._in_unit(a, unit), self._in_unit(b, unit)
        if function == "subtract" and all(moments):
            return self.each(pa.duration(unit), WHOLE["subtract"], x.values, y.values)
        if function in ("add", "subtract") and spans[1] and (moments[0] or spans[0]):
            return self.each(moved(a.kind, unit), WHOLE[function], x.values, y.values)
        require(function == "add" and spans[0] and moments[1])
        return self.each(moved(b.kind, unit), WHOLE["add"], x.values, y.values)

    def _in_unit(self, column: Values, unit: str) -> Values:
        if types.is_date32(column.kind):
            times = DAY * STEPS[unit]
        else:
            require(unit_of(column.kind) in STEPS)
            times = STEPS[unit] // STEPS[unit_of(column.kind)]
        return self.each(column.kind, lambda value: whole(value * times), column.values)

    def _real(self, column: Values) -> Values:
        if types.is_decimal(column.kind):
            unit = 10**column.kind.scale
            return self.each(pa.float64(), lambda v: float(Fraction(v, unit)), column.values)
        return self.each(pa.float64(), float, column.values)

    def _scaled(self, column: Values, scale: int) -> Values:
        more = scale - column.kind.scale
        if more == 0:
            return column
        kind = pa.decimal128(min(column.kind.precision + more, 38), scale)
        return self.each(kind, lambda value: short(value * 10**more), column.values)

    def _negate(self, a: Values) -> Values:
        return self._signed(a, lambda x: -x)

    def _abs(self, a: Values) -> Values:
        return self._signed(a, abs)

    def _signed(self, a: Values, function: Any) -> Values:
        require(is_number(a.kind) or types.is_duration(a.kind))
        if types.is_floating(a.kind) or types.is_null(a.kind):
            return self.each(pa.float64(), function, self._real(a).values)
        if types.is_decimal(a.kind):
            return self.each(a.kind, function, a.values)
        kind = a.kind if types.is_duration(a.kind) else pa.int64()
        return self.each(kind, lambda value: whole(function(value)), a.values)

    def _log(self, a: Values) -> Values:
        require(is_number(a.kind))
        return self.each(pa.float64(), logarithm, self._real(a).values)

    # ---- conditions

    def _compared(self, function: str, a: Values, b: Values) -> Values:
        x, y = self._common(a, b)
        return self.each(pa.bool_(), COMPARED[function], x.values, y.values)

    def _common(self, a: Values, b: Values) -> tuple[Values, Values]:
        """Return two columns in one form in which their values can be compared."""
        if types.is_null(a.kind) or types.is_null(b.kind):
            some = b if types.is_null(a.kind) else a
            return tuple(  # type: ignore[return-value]
                Values(some.kind, v.values) if types.is_null(v.kind) else v for v in (a, b)
            )
        if is_number(a.kind) and is_number(b.kind):
            if types.is_floating(a.kind) or types.is_floating(b.kind):
                return self._real(a), self._real(b)
            if types.is_integer(a.kind) and types.is_integer(b.kind):
                return a, b
            x, y = as_decimal(a), as_decimal(b)
            scale = max(x.kind.scale, y.kind.scale)
            return self._scaled(x, scale), self._scaled(y, scale)
        require(family(a.kind) == family(b.kind))
        if types.is_temporal(a.kind) and a.kind != b.kind:
            unit = max((unit_of(v.kind) for v in (a, b)), key=lambda one: STEPS[one])
            return self._in_unit(a, unit), self._in_unit(b, unit)
        return a, b

    def _and(self, a: Values, b: Values) -> Values:
        return self._joined(a, b, False)

    def _or(self, a: Values, b: Values) -> Values:
        return self._joined(a, b, True)

    def _joined(self, a: Values, b: Values, decides: bool) -> Values:
        require(all(types.is_boolean(v.kind) or types.is_null(v.kind) for v in (a, b)))
        found = []
        for x, y in zip(a.values, b.values, strict=True):
            if x is decides or y is decides:
                found.append(decides)
            else:
                found.append(None if x is None or y is None else not decides)
        return Values(pa.bool_(), found)

    def _not(self, a: Values) -> Values:
        require(types.is_boolean(a.kind) or types.is_null(a.kind))
        return self.each(pa.bool_(), lambda x: not x, a.values)

    def _is_in(self, a: Values, *given: Values) -> Values:
        found = self.each(pa.bool_(), lambda _: False, a.values)
        for one in given:
            equal = self._compared("equal", a, one)
            found = self._or(found, equal)
        return found

    # ---- nulls and types

    def _is_null(self, a: Values) -> Values:
        return Values(pa.bool_(), [value is None for value in a.values])

    def _fill_null(self, a: Values, b: Values) -> Values:
        x, y = self._common(a, b)
        values = [q if p is None else p for p, q in zip(x.values, y.values, strict=True)]
        return Values(filled_type(x.kind, y.kind), values)

    def _only(self, a: Values, truth: Values) -> Values:
        values = [v if t is True else None for v, t in zip(a.values, truth.values, strict=True)]
        return Values(a.kind, values)

    def _cast(self, a: Values, option: str) -> Values:
        kind = {"string": pa.string(), "bool": pa.bool_(), "int64": pa.int64()}.get(
            option, pa.float64()
        )
        if types.is_null(a.kind):
            return Values(kind, a.values)
        from_kind = family(a.kind)
        if types.is_temporal(a.kind):
            require(option == "int64")
            return Values(kind, a.values)
        function = CASTS.get((from_kind, option))
        if from_kind == "decimal" and option == "int64":
            unit = 10**a.kind.scale
            return self.each(kind, lambda value: whole(exactly(value, unit)), a.values)
        if option == "float64" and from_kind == "decimal":
            return self._real(a)
        require(function is not None)
        return self.each(kind, function, a.values)


# ---- types ---------------------------------------------------------------------------------------


def require(condition: object) -> None:
    """Raise if an expression has no meaning."""
    if not condition:
        raise WrongTypeError


def is_number(kind: Any) -> bool:
    """Tell whether a type is one of numbers; a null may be one."""
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def family(kind: Any) -> str:
    """Return a word for types that can be compared."""
    if types.is_duration(kind):
        return "duration"
    if types.is_time(kind):
        return "clock"
    if types.is_temporal(kind):
        return "moment"
    if types.is_boolean(kind):
        return "bool"
    if types.is_integer(kind):
        return "whole"
    if types.is_floating(kind):
        return "real"
    if types.is_decimal(kind):
        return "decimal"
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return "text" if text else "bytes"


def unit_of(kind: Any) -> str:
    """Return the unit of a time or a duration; a date counts seconds until it is in another."""
    if not types.is_temporal(kind):
        return ""
    if types.is_date32(kind):
        return "s"
    return "ms" if types.is_date64(kind) else str(kind.unit)


def moved(kind: Any, unit: str) -> Any:
    """Return the type of a time or a duration plus a duration."""
    if types.is_duration(kind):
        return pa.duration(unit)
    return pa.timestamp(unit, kind.tz if types.is_timestamp(kind) else None)


def filled_type(a: Any, b: Any) -> Any:
    """Return the type of values of which some come from another column."""
    if types.is_null(a):
        return b
    if types.is_floating(a):
        return pa.float64()
    if types.is_integer(a):
        return pa.int64()
    if types.is_decimal(a):
        return pa.decimal128(max(a.precision, b.precision), a.scale)
    if a == b or not types.is_temporal(a):
        return a
    unit = max(unit_of(a), unit_of(b), key=lambda one: STEPS[one])
    if types.is_duration(a):
        return pa.duration(unit)
    if types.is_time(a):
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    if types.is_date(a) and types.is_date(b):
        return pa.date64()
    return pa.timestamp(unit, next(kind.tz for kind in (a, b) if types.is_timestamp(kind)))


def as_decimal(column: Values) -> Values:
    """Return whole numbers as decimals."""
    if types.is_decimal(column.kind):
        return column
    return Values(pa.decimal128(DIGITS.get(str(column.kind), 19), 0), column.values)


def literal(value: Any) -> tuple[Any, Any]:
    """Return the type and the raw value of a constant."""
    if value is None:
        return pa.null(), None
    if isinstance(value, bool):
        return pa.bool_(), value
    if isinstance(value, int):
        return pa.int64(), value
    if isinstance(value, float):
        return pa.float64(), value
    if isinstance(value, str):
        return pa.string(), value
    if isinstance(value, bytes):
        return pa.binary(), value
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        number = int("".join(map(str, digits))) * (-1 if sign else 1)
        scale = max(0, -int(exponent))
        number *= 10 ** max(0, int(exponent))
        return pa.decimal128(max(len(str(abs(number))), scale, 1), scale), number
    if isinstance(value, datetime):
        zoned = value if value.tzinfo else value.replace(tzinfo=UTC)
        since = zoned - datetime(1970, 1, 1, tzinfo=UTC)
        kind = pa.timestamp("us", "UTC" if value.tzinfo else None)
        return kind, since // timedelta(microseconds=1)
    if isinstance(value, date):
        return pa.date32(), (value - date(1970, 1, 1)).days
    return pa.duration("us"), value // timedelta(microseconds=1)


# ---- numbers -------------------------------------------------------------------------------------


def whole(value: int) -> int:
    """Return a number that fits in 64 bits."""
    if not -(2**63) <= value < 2**63:
        raise OverflowError
    return value


def short(value: int) -> int:
    """Return a number of at most 38 digits."""
    if abs(value) >= LARGEST:
        raise OverflowError
    return value


def exactly(value: int, unit: int) -> int:
    """Return a decimal as the whole number that it must be."""
    if value % unit:
        raise OverflowError
    return value // unit


def logarithm(value: float) -> float:
    """Return the natural logarithm by IEEE rules."""
    if value == 0:
        return -math.inf
    return math.nan if value < 0 else math.log(value)


def divided(a: float, b: float) -> float:
    """Return a quotient by IEEE rules."""
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def floored(a: float, b: float) -> float:
    """Return a quotient rounded down, as numpy does."""
    with np.errstate(all="ignore"):
        return float(np.floor_divide(np.float64(a), np.float64(b)))


def rest(a: float, b: float) -> float:
    """Return what is left of a division that is rounded down."""
    with np.errstate(all="ignore"):
        return float(np.remainder(np.float64(a), np.float64(b)))


def truncated(value: float) -> int:
    """Return a float as the whole number that it must be."""
    if not math.isfinite(value) or value != math.trunc(value):
        raise OverflowError
    return whole(int(value))


ARITHMETIC = ("add", "subtract", "multiply", "divide", "floor_divide", "modulo")
REAL: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": divided,
    "floor_divide": floored,
    "modulo": rest,
}
WHOLE: dict[str, Any] = {
    "add": lambda a, b: whole(a + b),
    "subtract": lambda a, b: whole(a - b),
    "multiply": lambda a, b: whole(a * b),
    "floor_divide": lambda a, b: None if b == 0 else whole(a // b),
    "modulo": lambda a, b: None if b == 0 else a % b,
}
COMPARED: dict[str, Any] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "at_most": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "at_least": lambda a, b: a >= b,
}
CASTS: dict[tuple[str, str], Any] = {
    ("whole", "int64"): int,
    ("whole", "float64"): float,
    ("whole", "bool"): bool,
    ("whole", "string"): str,
    ("real", "int64"): truncated,
    ("real", "float64"): float,
    ("real", "bool"): bool,
    ("bool", "int64"): int,
    ("bool", "float64"): float,
    ("bool", "bool"): bool,
    ("bool", "string"): lambda value: "true" if value else "false",
    ("text", "string"): str,
}
