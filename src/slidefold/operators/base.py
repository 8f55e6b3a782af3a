"""An operator on the Python side: a frozen description that the native core turns into code."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from slidefold import _native
from slidefold.errors import OperatorError, ValueTypeError

NUMBERS = ("float64", "int64")
VALUES = ("float64", "int64", "str", "object")


@dataclass(frozen=True)
class Traits:
    """The algebra of an operator: what algorithms may rely on."""

    invertible: bool
    selective: bool
    commutative: bool
    fallible: bool
    state_bytes: int


@dataclass(frozen=True)
class Operator:
    """An operator: how to fold. Made by functions such as `slidefold.sum`, never directly."""

    name: str
    columns: tuple[str, ...] = ()
    dtype: str = "float64"
    key_dtype: str = "float64"
    params: tuple[tuple[str, int], ...] = ()

    @property
    def native_name(self) -> str:
        """The name under which the native registry knows the operator."""
        return self.name

    @property
    def native_params(self) -> dict[str, Any]:
        """What the native registry needs beyond name and types."""
        return dict(self.params)

    @cached_property
    def traits(self) -> Traits:
        """The operator's algebra, as its native code declares it."""
        return Traits(**_native.operator_traits(self))

    def __str__(self) -> str:
        if self.name in ("count", "concat"):
            return self.name
        return f"{self.name} of {self.dtype}"


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
    near = get_close_matches(str(dtype), allowed, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueTypeError(f"{operator} takes dtype {' or '.join(allowed)}, got {dtype!r}{hint}")
