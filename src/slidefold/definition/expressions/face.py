"""What users write: `sf.col("amount") / sf.mean("amount").over("30d")`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from slidefold.definition.expressions.nodes import (
    COMPARISONS,
    LITERALS,
    Call,
    Column,
    Literal,
    Node,
)
from slidefold.errors import DefinitionError, ValueTypeError, nearest

# The types that `cast` takes.
CASTS = ("int64", "float64", "bool", "string")


class Combined:
    """Arithmetic, comparisons and conditions; each returns an expression."""

    def __add__(self, other: object) -> Expression:
        return _call("add", self, other)

    def __radd__(self, other: object) -> Expression:
        return _call("add", other, self)

    def __sub__(self, other: object) -> Expression:
        return _call("subtract", self, other)

    def __rsub__(self, other: object) -> Expression:
        return _call("subtract", other, self)

    def __mul__(self, other: object) -> Expression:
        return _call("multiply", self, other)

    def __rmul__(self, other: object) -> Expression:
        return _call("multiply", other, self)

    def __truediv__(self, other: object) -> Expression:
        return _call("divide", self, other)

    def __rtruediv__(self, other: object) -> Expression:
        return _call("divide", other, self)

    def __floordiv__(self, other: object) -> Expression:
        return _call("floor_divide", self, other)

    def __rfloordiv__(self, other: object) -> Expression:
        return _call("floor_divide", other, self)

    def __mod__(self, other: object) -> Expression:
        return _call("modulo", self, other)

    def __rmod__(self, other: object) -> Expression:
        return _call("modulo", other, self)

    def __lt__(self, other: object) -> Expression:
        return _call("less", self, other)

    def __le__(self, other: object) -> Expression:
        return _call("at_most", self, other)

    def __gt__(self, other: object) -> Expression:
        return _call("greater", self, other)

    def __ge__(self, other: object) -> Expression:
        return _call("at_least", self, other)

    def __and__(self, other: object) -> Expression:
        return _call("and", self, other)

    def __rand__(self, other: object) -> Expression:
        return _call("and", other, self)

    def __or__(self, other: object) -> Expression:
        return _call("or", self, other)

    def __ror__(self, other: object) -> Expression:
        return _call("or", other, self)

    def __invert__(self) -> Expression:
        return _call("not", self)

    def __neg__(self) -> Expression:
        return _call("negate", self)

    def __abs__(self) -> Expression:
        return self.abs()

    def is_in(self, values: Iterable[Any]) -> Expression:
        """Tell whether the value is one of some constants; null gives null.

        >>> import slidefold as sf
        >>> sf.col("status").is_in(["declined", "failed"])
        sf.col('status').is_in(['declined', 'failed'])
        """
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise ValueTypeError(f"is_in takes a list of values, got {values!r}")
        given = [node_of(value) for value in values]
        wrong = next((node for node in given if not isinstance(node, Literal)), None)
        if wrong is not None or any(node.value is None for node in given):  # type: ignore[attr-defined]
            raise ValueTypeError("is_in takes a list of constants that are not None")
        return Expression(Call("is_in", (node_of(self), *given)))

    def is_null(self) -> Expression:
        """Tell whether there is no value."""
        return _call("is_null", self)

    def fill_null(self, value: object) -> Expression:
        """Replace nulls by a constant, or by the value of another expression."""
        return _call("fill_null", self, value)

    def abs(self) -> Expression:
        """Return the absolute value."""
        return _call("abs", self)

    def log(self) -> Expression:
        """Return the natural logarithm, a float."""
        return _call("log", self)

    def cast(self, kind: str) -> Expression:
        """Return the value in another type: "int64", "float64", "bool" or "string"."""
        if kind not in CASTS:
            hint = nearest(kind, CASTS) or f"; choose one of {', '.join(CASTS)}"
            raise ValueTypeError(f"cast takes the name of a type, got {kind!r}{hint}")
        return Expression(Call("cast", (node_of(self),), kind))


class Expression(Combined):
    """A small expression of one row. Create one with `slidefold.col`.

    >>> import slidefold as sf
    >>> sf.col("price") * sf.col("qty") > 100
    (sf.col('price') * sf.col('qty')) > 100
    """

    __slots__ = ("node",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: Node) -> None:
        """Wrap a tree."""
        self.node = node

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return _call("equal", self, other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return _call("not_equal", self, other)

    def __bool__(self) -> bool:
        raise ValueTypeError(
            "an expression has no truth value before it runs: combine conditions with & | ~ "
            "instead of and, or, not"
        )

    def __repr__(self) -> str:
        return self.node.code()


def col(name: str) -> Expression:
    """Refer to a column of the row, for an expression.

    An expression may be what an operator folds, the condition of `where`, or a new column made of
    results.

    >>> import slidefold as sf
    >>> sf.rolling(
    ...     on="ts",
    ...     declined=sf.count().where(sf.col("status") == "declined").over("1h"),
    ...     ratio=sf.col("amount") / sf.mean("amount").over("30d"),
    ... )
    sf.rolling(
        on='ts',
        declined=sf.count().where(sf.col('status') == 'declined').over('1h'),
        ratio=sf.col('amount') / sf.mean('amount').over('30d'),
    )
    """
    if not isinstance(name, str):
        raise ValueTypeError(f"a column name must be a string, got {name!r}")
    return Expression(Column(name))


class Compared(int):
    """Whether two windows are equal as values; an expression refuses it.

    Else `sf.col("p") & (a == b)` would hold a constant instead of a comparison of results.
    """

    def __repr__(self) -> str:
        return repr(bool(self))


def node_of(given: object) -> Node:
    """Return the tree of an expression, a window or a constant."""
    if isinstance(given, Node):
        return given
    if isinstance(given, Compared):
        raise DefinitionError(
            "== and != compare two windows as definitions: to compare their results, write "
            "(a - b) == 0"
        )
    if isinstance(given, Expression):
        return given.node
    if isinstance(given, Combined):  # an operator over a window
        return given.result()  # type: ignore[attr-defined, no-any-return]
    if isinstance(given, np.generic):
        given = given.item()
    if given is None or isinstance(given, LITERALS):
        return Literal(_plain(given))
    over = getattr(given, "over", None)
    if callable(over):
        raise DefinitionError(f"{given!r} needs a window: add .over(...)")
    raise ValueTypeError(f"an expression cannot hold {given!r}")


def _plain(value: Any) -> Any:
    """Return a constant as a value of Python's own types; an enum becomes its value."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueTypeError("an integer in an expression must fit in 64 bits")
        return int.__int__(value)
    if isinstance(value, str):
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise ValueTypeError(f"a text in an expression must be valid Unicode, got {value!r}")
        return str.__str__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, bytes):
        return bytes(memoryview(value))
    if isinstance(value, datetime | date | timedelta):
        return _plain_time(value)
    return Decimal(value)


def _plain_time(value: Any) -> datetime | date | timedelta:
    """Return a time, a date or a duration; those of pandas may be finer than microseconds."""
    if value != value or getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
        raise ValueTypeError(f"a time in an expression must be in microseconds, got {value!r}")
    if isinstance(value, timedelta):
        steps = value // timedelta(microseconds=1)
        if not -(2**63) <= steps < 2**63:
            raise ValueTypeError("a duration in an expression must fit in 64 bits")
        return timedelta(microseconds=int(steps))
    if not isinstance(value, datetime):
        return date(value.year, value.month, value.day)
    return datetime.combine(value.date(), value.timetz())


def _call(function: str, *given: object) -> Expression:
    nodes = tuple(node_of(one) for one in given)
    if function in COMPARISONS and any(
        isinstance(node, Literal) and node.value is None for node in nodes
    ):
        raise ValueTypeError("a comparison with None is always null: use is_null()")
    return Expression(Call(function, nodes))
