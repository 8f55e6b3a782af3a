"""Operators in Python: frozen descriptions that the native core implements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from inspect import signature
from typing import Any, Self, overload

import numpy as np

from slidefold import _native
from slidefold.definition.expressions.face import Expression, node_of
from slidefold.definition.expressions.nodes import (
    Call,
    Column,
    Literal,
    Node,
    Result,
    require_short,
)
from slidefold.definition.operators.over_window import Over, over, over_each
from slidefold.definition.operators.record import NAMED, RECORDS, Record
from slidefold.definition.operators.travel import Coding, known_types, spelled, unit_of
from slidefold.definition.windows import WindowKind
from slidefold.definition.windows.calls import call
from slidefold.errors import DefinitionError, OperatorError, ValueTypeError, nearest

Input = str | Expression  # a column of an operator: its name, or an expression
Param = int | float | str | tuple[float, ...]


@dataclass(frozen=True)
class Traits:
    """The algebraic properties of an operator that algorithms rely on."""

    invertible: bool
    selective: bool
    commutative: bool
    fallible: bool
    state_bytes: int


@dataclass(frozen=True, repr=False)
class Operator:
    """An operator: how to fold values. Create one with a function such as `slidefold.sum`."""

    name: str
    columns: tuple[Any, ...] = ()  # names; expressions until the definition is lowered
    dtype: str = "float64"
    key_dtype: str = "float64"
    params: tuple[tuple[str, Param], ...] = ()
    variant: str = ""
    condition: Node | None = None  # which rows are folded

    @property
    def calls_python(self) -> bool:
        """Whether it runs Python functions for each value; reading this may compile it."""
        return False

    @property
    def record(self) -> Record:
        """The record of this operator."""
        return RECORDS[self.name]

    def leaves(self) -> Iterator[tuple[tuple[str, ...], Operator]]:
        """Yield the operators to fold, each with its path; a struct yields its parts."""
        yield (), self

    @property
    def native_name(self) -> str:
        """The name of the operator in the native registry."""
        if self.codings:
            return "coded"
        record = self.record
        compared = self.key_dtype if record.pair else self.dtype
        if compared == "str" and record.text:
            return f"text_{self.name}"
        return self.variant or self.name

    @property
    def codings(self) -> tuple[Coding, ...]:
        """How each column is converted for native code; empty if no column is converted.

        >>> import slidefold as sf
        >>> [coding.base for coding in sf.max(dtype="date").codings]
        ['int64']
        """
        record = self.record
        dtypes = (self.dtype, self.key_dtype) if record.pair else (self.dtype,)
        codings = [
            None if dtype in record.plain else record.travel(dtype, place > 0)
            for place, dtype in enumerate(dtypes)
        ]
        if not any(codings):
            return ()
        return tuple(
            coding or Coding(dtype, "plain", "plain")
            for coding, dtype in zip(codings, dtypes, strict=True)
        )

    @property
    def keeps_nulls(self) -> bool:
        """Whether None is folded as a value; if not, it only counts as a row of a rows window."""
        counts_rows = self.record.rows and self.record.never_null and not self.columns
        return counts_rows or ("nulls", "keep") in self.params

    @property
    def native_params(self) -> dict[str, Any]:
        """The parameters of the native operator, besides its name and types."""
        codings = self.codings
        if not codings:
            return dict(self.params)
        first, last = codings[0], codings[-1]
        key_dtype = last.base if self.record.pair else self.key_dtype
        inner = replace(self, dtype=first.base, key_dtype=key_dtype)
        if first.variant.startswith("decimal_"):
            inner = replace(inner, params=(("unit", unit_of(self.dtype)),))
        return {
            "inner": replace(inner, variant=first.variant or inner.variant),
            "codecs": tuple(coding.codec for coding in codings),
            "result": self._coded_result(codings),
        }

    def _coded_result(self, codings: tuple[Coding, ...]) -> str:
        """Return how the results of converted values are converted back."""
        return codings[0].result

    @property
    def state_version(self) -> int:
        """The version of the saved state: 2 for exact uint64 and decimals, otherwise 1."""
        return 2 if self.codings and self.codings[0].variant else 1

    @property
    def monoid(self) -> bool:
        """Whether it has an associative combine: two states combine to the state of the whole."""
        return True

    @cached_property
    def traits(self) -> Traits:
        """The algebraic properties, as the native code declares them."""
        return Traits(**_native.operator_traits(self))

    @property
    def commutes(self) -> bool:
        """Whether the order of values does not matter."""
        return self.traits.commutative

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns of a row that it reads, those of expressions and conditions included."""
        nodes = [column if isinstance(column, Node) else Column(column) for column in self.columns]
        if self.condition is not None:
            nodes.append(self.condition)
        return tuple(dict.fromkeys(name for node in nodes for name in node.columns()))

    own = ""  # the column whose value at the row itself is read; most operators read none

    @property
    def flag(self) -> str | None:
        """The column that has a value in the rows to fold; None if nulls tell which they are."""
        return self.condition.name if isinstance(self.condition, Column) else None

    def where(self, condition: Expression | str) -> Self:
        """Fold only the rows that fulfil a condition; where it is null, a row is left out.

        A string is the name of a boolean column. The condition never moves a window: rows that do
        not fulfil it still count for rows windows and sessions. `min_count` counts the others.

        >>> import slidefold as sf
        >>> sf.count().where(sf.col("amount") > 100).over("1h")
        sf.count().where(sf.col('amount') > 100).over('1h')
        """
        node = Column(condition) if isinstance(condition, str) else node_of(condition)
        _require_row(node, "where")
        if isinstance(node, Literal):
            raise ValueTypeError(
                f"where takes a condition such as sf.col('x') > 0, or the name of a boolean "
                f"column, got {condition!r}"
            )
        if self.condition is not None:
            node = Call("and", (self.condition, node))
        return replace(self, condition=node)

    def per(self, column: Input, *, limit: int = 1000) -> Operator:
        """Fold each category of a column apart: the result is a map from category to result.

        Keys are sorted, and rows without a category are left out. Categories are strings, bytes,
        integers, bools, dates or times. A window with more than `limit` categories is an error.

        >>> import slidefold as sf
        >>> sf.sum("amount").per("merchant").over("1h")
        sf.sum('amount').per('merchant').over('1h')
        """
        from slidefold.definition.operators.per import per

        return per(self, column, limit)

    @overload
    def over(
        self,
        window: list[Any] | tuple[Any, ...],
        *,
        closed: str | None = None,
        min_count: int | None = None,
        algorithm: str | None = None,
    ) -> tuple[Over, ...]: ...

    @overload
    def over(
        self,
        window: WindowKind | str | timedelta | int | np.timedelta64,
        *,
        closed: str | None = None,
        min_count: int | None = None,
        algorithm: str | None = None,
    ) -> Over: ...

    def over(
        self,
        window: Any,
        *,
        closed: str | None = None,
        min_count: int | None = None,
        algorithm: str | None = None,
    ) -> Over | tuple[Over, ...]:
        """Fold over a window; the result is a column for `slidefold.rolling`.

        `window` is a duration for a time window, an integer for a rows window, or a window such as
        `sf.session("30m")`. A list of durations and numbers of rows gives one column per window:
        `total=sf.sum("x").over(["1h", "24h"])` gives `total_1h` and `total_24h`. If a window has
        fewer than `min_count` values that are not null, the result is null. `algorithm` overrides
        the planner.

        >>> import slidefold as sf
        >>> sf.sum("amount").over("1h", closed="left")
        sf.sum('amount').over('1h', closed='left')
        """
        if isinstance(window, list | tuple):
            return over_each(self, window, closed, min_count, algorithm)
        return over(self, window, closed, min_count, algorithm)

    def __repr__(self) -> str:
        return self._with_condition(
            call(f"sf.{self.name}", *self._shown_columns(), **self._non_defaults())
        )

    def _shown_columns(self) -> list[Any]:
        """Return the columns as `call` writes them: expressions as source code."""
        return [Expression(c) if isinstance(c, Node) else c for c in self.columns]

    def _with_condition(self, text: str) -> str:
        if self.condition is None:
            return text
        plain = isinstance(self.condition, Column)
        written = repr(self.condition.name) if plain else self.condition.code()  # type: ignore[attr-defined]
        return f"{text}.where({written})"

    def _non_defaults(self) -> dict[str, Any]:
        """Return the parameters and types that differ from the defaults of the function."""
        arguments = {**dict(self.params), "dtype": self.dtype, "key_dtype": self.key_dtype}
        parameters = signature(NAMED[self.name]).parameters
        return {
            name: value
            for name, value in arguments.items()
            if name in parameters and parameters[name].default != value
        }


def require_events(operator: object) -> None:
    """Raise unless this is an operator that folds single events, which have no columns."""
    if not isinstance(operator, Operator):
        raise OperatorError(f"expected an operator, such as slidefold.max(), got {operator!r}")
    for _, leaf in operator.leaves():
        if not leaf.record.events:
            raise OperatorError(
                f"{leaf.name} does not fold single events: use it in a definition with sf.rolling"
            )
        if leaf.condition is not None or any(isinstance(column, Node) for column in leaf.columns):
            raise OperatorError(
                f"where and expressions need rows with columns, got {leaf!r} for single events: "
                "use it in a definition with sf.rolling"
            )


def columns_of(*columns: Input | None) -> tuple[Any, ...]:
    """Check the columns of an operator, names or expressions; live windows need none."""
    given = tuple(_column_of(column) for column in columns if column is not None)
    if given and len(given) != len(columns):
        raise OperatorError(f"expected {len(columns)} columns, got {len(given)}: {given}")
    return given


def _column_of(column: object) -> str | Node:
    if isinstance(column, str):
        return column
    if isinstance(column, Over):
        raise DefinitionError(
            f"an operator folds columns of rows, got {column!r}: results cannot be folded again"
        )
    if not isinstance(column, Expression):
        raise ValueTypeError(
            f"a column must be a name or an expression such as sf.col('x') * 2, got {column!r}"
        )
    node = column.node
    _require_row(node, "an operator")
    return node.name if isinstance(node, Column) else node


def _require_row(node: Node, what: str) -> None:
    require_short(node)
    window = next((one for one in node.walk() if isinstance(one, Result)), None)
    if window is not None:
        raise DefinitionError(
            f"{what} takes columns of rows, got {window.code()}: results cannot be folded again"
        )


def dtype_of(dtype: str, operator: str, *, second: bool = False) -> str:
    """Check the dtype of an operator's column; the error suggests the nearest valid one."""
    record = RECORDS[operator]
    allowed = record.key_types if second else record.types
    if dtype in allowed:
        return dtype
    more = known_types(record.travel, text=record.text)
    if isinstance(dtype, str) and (dtype in more or record.travel(dtype, False) is not None):
        return spelled(dtype)
    hint = nearest(dtype, allowed) or nearest(dtype, more)
    raise ValueTypeError(f"dtype of {operator} must be {' or '.join(allowed)}, got {dtype!r}{hint}")


def nulls_of(nulls: str, operator: str) -> tuple[tuple[str, Param], ...]:
    """Check `nulls`; return it as a parameter if it is "keep"."""
    if nulls not in ("skip", "keep"):
        raise OperatorError(f"nulls of {operator} must be 'skip' or 'keep', got {nulls!r}")
    return (("nulls", nulls),) if nulls == "keep" else ()


def whole_of(value: int, least: int, operator: str, name: str, most: int = 2**31 - 1) -> int:
    """Check a parameter that is a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise OperatorError(f"{operator} needs an integer {name} >= {least}, got {_cut(value)}")
    if value > most:
        raise OperatorError(f"{operator} needs an integer {name} <= {most:,}, got {_cut(value)}")
    return value


def _cut(value: object) -> str:
    """Return a value for a message; Python cannot print integers with too many digits."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


def share_of(value: float, operator: str, name: str) -> float:
    """Check a parameter that is a probability or a relative error."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise OperatorError(f"{operator} needs a {name} between 0 and 1, got {value!r}")
    return float(value)
