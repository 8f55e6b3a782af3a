"""An operator on the Python side: a frozen description that the native core turns into code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from difflib import get_close_matches
from functools import cached_property
from inspect import signature
from typing import Any, overload

import numpy as np

from slidefold import _native
from slidefold.errors import OperatorError, ValueTypeError
from slidefold.operators.over import Over, over, over_each
from slidefold.operators.types import (
    Coding,
    coding,
    has_two_columns,
    known_types,
    native_text,
    spelled,
    unit_of,
    variant_of,
)
from slidefold.windows import WindowKind
from slidefold.windows.calls import call

NUMBERS = ("float64", "int64")
KEYS = ("float64", "int64", "str")
VALUES = ("float64", "int64", "str", "object")
Param = int | float | str | tuple[float, ...]


@dataclass(frozen=True)
class Traits:
    """The algebra of an operator: what algorithms may rely on."""

    invertible: bool
    selective: bool
    commutative: bool
    fallible: bool
    state_bytes: int


@dataclass(frozen=True, repr=False)
class Operator:
    """An operator: how to fold. Made by functions such as `slidefold.sum`, never directly."""

    name: str
    columns: tuple[str, ...] = ()
    dtype: str = "float64"
    key_dtype: str = "float64"
    params: tuple[tuple[str, Param], ...] = ()
    variant: str = ""

    @property
    def native_name(self) -> str:
        """The name under which the native registry knows the operator."""
        if self.codings:
            return "coded"
        compared = self.key_dtype if has_two_columns(self.name) else self.dtype
        if compared == "str" and native_text(self.name):
            return f"text_{self.name}"
        return self.variant or self.name

    @property
    def codings(self) -> tuple[Coding, ...]:
        """How values travel to native code: of each column of a pair; none if they go as they are.

        >>> import slidefold as sf
        >>> [coding.base for coding in sf.max(dtype="date").codings]
        ['int64']
        """
        two = has_two_columns(self.name)
        dtypes = (self.dtype, self.key_dtype) if two else (self.dtype,)
        found = [
            None if dtype in self._plain else coding(self.name, dtype, second=place > 0)
            for place, dtype in enumerate(dtypes)
        ]
        if not any(found):
            return ()
        return tuple(
            code or Coding(dtype, "plain", "plain")
            for code, dtype in zip(found, dtypes, strict=True)
        )

    @property
    def _plain(self) -> tuple[str, ...]:
        """The types that native code takes as they are."""
        return ("bool",) if self.name in ("any", "all") else ()

    @property
    def keeps_nulls(self) -> bool:
        """Whether None is a value to fold; else it only takes its place in a rows window."""
        counts_rows = self.name == "count" and not self.columns
        return counts_rows or ("nulls", "keep") in self.params

    @property
    def native_params(self) -> dict[str, Any]:
        """What the native registry needs beyond name and types."""
        codings = self.codings
        if not codings:
            return dict(self.params)
        first, last = codings[0], codings[-1]
        result = last.result if self.name in ("covariance", "trend") else first.result
        if self.name == "naive_bayes":
            result = f"classes({first.codec}|{last.codec})"
        key_dtype = last.base if has_two_columns(self.name) else self.key_dtype
        inner = replace(self, dtype=first.base, key_dtype=key_dtype)
        variant = variant_of(self.name, self.dtype)
        if variant == "decimal_mean":
            inner = replace(inner, params=(("unit", unit_of(self.dtype)),))
        return {
            "inner": replace(inner, variant=variant or inner.variant),
            "codecs": tuple(each.codec for each in codings),
            "result": result,
        }

    @property
    def state_version(self) -> int:
        """The version of its saved state, which changed where uint64 and decimals became exact."""
        times = self.key_dtype if self.name == "decayed_mean" else ""
        return 2 if variant_of(self.name, self.dtype) or times == "uint64" else 1

    @property
    def monoid(self) -> bool:
        """Whether it folds: the states of two parts give that of the whole."""
        return True

    @cached_property
    def traits(self) -> Traits:
        """The operator's algebra, as its native code declares it."""
        return Traits(**_native.operator_traits(self))

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
        """Fold over a window, as a column of `slidefold.rolling`.

        A string or a timedelta is a time window, an integer a rows window; windows such as
        `sf.session("30m")` are taken as they are. A list of durations and numbers of rows stands
        for a column over each: `total=sf.sum("x").over(["1h", "24h"])` gives `total_1h` and
        `total_24h`. Where fewer than `min_count` values are not null,
        the result is null. `algorithm` overrides the planner.

        >>> import slidefold as sf
        >>> sf.sum("amount").over("1h", closed="left")
        sf.sum('amount').over('1h', closed='left')
        """
        if isinstance(window, list | tuple):
            return over_each(self, window, closed, min_count, algorithm)
        return over(self, window, closed, min_count, algorithm)

    def __repr__(self) -> str:
        return call(f"sf.{self.name}", *self.columns, **self._said())

    def _said(self) -> dict[str, Any]:
        """The parameters and types that differ from the defaults of the operator's function."""
        from slidefold.operators import NAMED  # which imports this module

        said = {**dict(self.params), "dtype": self.dtype, "key_dtype": self.key_dtype}
        taken = signature(NAMED[self.name]).parameters
        return {
            name: value
            for name, value in said.items()
            if name in taken and taken[name].default != value
        }


def columns_of(*columns: str | None) -> tuple[str, ...]:
    """Check the column names that an operator was given; none at all is fine for live windows."""
    given = tuple(column for column in columns if column is not None)
    for column in given:
        if not isinstance(column, str):
            raise ValueTypeError(f"a column is named by a string, got {column!r}")
    if given and len(given) != len(columns):
        raise OperatorError(f"{len(columns)} columns are due, got {len(given)}: {given}")
    return given


def dtype_of(dtype: str, allowed: tuple[str, ...], operator: str) -> str:
    """Check a dtype, naming the nearest valid one."""
    if dtype in allowed:
        return dtype
    more = known_types(operator)
    if isinstance(dtype, str) and (dtype in more or coding(operator, dtype) is not None):
        return spelled(dtype)
    near = [near for types in (allowed, more) for near in get_close_matches(str(dtype), types, n=1)]
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueTypeError(f"{operator} takes dtype {' or '.join(allowed)}, got {dtype!r}{hint}")


def nulls_of(nulls: str, operator: str) -> tuple[tuple[str, Param], ...]:
    """Check what an operator is to do with None; the parameter that says so, unless it skips."""
    if nulls not in ("skip", "keep"):
        raise OperatorError(f"{operator} takes nulls='skip' or nulls='keep', got {nulls!r}")
    return (("nulls", nulls),) if nulls == "keep" else ()


def whole_of(value: int, least: int, operator: str, name: str, most: int = 2**31 - 1) -> int:
    """Check a parameter that is a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise OperatorError(f"{operator} needs an integer {name} >= {least}, got {_cut(value)}")
    if value > most:
        raise OperatorError(f"{operator} takes {name} up to {most:,}, got {_cut(value)}")
    return value


def _cut(value: object) -> str:
    """Return a value for a message; an integer may have more digits than Python prints."""
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


def share_of(value: float, operator: str, name: str) -> float:
    """Check a parameter that is a probability or a relative error."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise OperatorError(f"{operator} needs a {name} between 0 and 1, got {value!r}")
    return float(value)
