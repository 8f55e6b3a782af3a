"""The fields of a user's operator: named, typed, laid out as a C struct."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from keyword import iskeyword
from operator import index
from typing import Any

import numpy as np

from slidefold.errors import OperatorError, ValueTypeError

# The types that a field may have, in numpy's notation.
CODES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
_BITS = {"i": "integer", "u": "integer", "f": "number", "b": "bool"}
LARGEST_STATE = 4096


class MisfitError(Exception):
    """A value does not fit its field; the message says what was expected."""


def fitted(code: str, value: Any) -> Any:
    """Return a value converted to the type of its field, as a plain Python number.

    >>> fitted("f4", 1), fitted("u1", 255), fitted("b1", True)
    (1.0, 255, True)
    """
    kind = code[0]
    plain_bool = isinstance(value, (bool, np.bool_))
    if kind == "b":
        if plain_bool:
            return bool(value)
    elif kind == "f":
        if plain_bool or isinstance(value, (int, float, np.integer, np.floating)):
            try:
                return float(np.float32(value)) if code == "f4" else float(value)
            except OverflowError:
                pass
    elif plain_bool or isinstance(value, (int, np.integer)):
        whole = index(int(value))
        bits = 8 * int(code[1])
        low, high = (0, 2**bits) if kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
        if low <= whole < high:
            return whole
    article = "an" if kind in "iu" else "a"
    raise MisfitError(f"expected {article} {_BITS[kind]} ({code}), got {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '…'} ({type(value).__name__})"


@dataclass(frozen=True)
class Layout:
    """Field names and types, in order, with the offsets of a C struct."""

    names: tuple[str, ...]
    codes: tuple[str, ...]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The struct as a numpy dtype."""
        return np.dtype(list(zip(self.names, self.codes, strict=True)), align=True)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The offset of each field."""
        fields = self.dtype.fields
        assert fields is not None
        return tuple(fields[name][1] for name in self.names)

    @property
    def described(self) -> list[tuple[str, str, int]]:
        """The fields for the native core: name, type, offset."""
        return list(zip(self.names, self.codes, self.offsets, strict=True))

    def values(self, given: Any) -> tuple[Any, ...]:
        """Check the result of a user's function: a tuple in the order of the fields."""
        expected = f"expected a tuple ({', '.join(self.names)})"
        if not isinstance(given, tuple):
            raise MisfitError(f"{expected}, got {_shown(given)}")
        if len(given) != len(self.names):
            raise MisfitError(f"{expected}, got a tuple of {len(given)}")
        values = []
        for name, code, value in zip(self.names, self.codes, given, strict=True):
            try:
                values.append(fitted(code, value))
            except MisfitError as error:
                raise MisfitError(f"{name}: {error}") from None
        return tuple(values)


def layout(what: str, fields: object) -> Layout:
    """Check the `state` or the `returns` of an operator: a dict of names and types.

    >>> layout("state", {"n": "i8", "flag": "b1", "x": "f8"}).offsets
    (0, 8, 16)
    """
    if not isinstance(fields, Mapping) or not fields:
        raise OperatorError(
            f'{what} must be a dict such as {{"n": "i8", "sum": "f8"}}, got {fields!r}'
        )
    for name in fields:
        if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
            raise OperatorError(f"a field name of {what} must be an identifier, got {name!r}")
        if name.startswith("_"):
            raise OperatorError(f"a field name of {what} must not start with '_', got {name!r}")
    names, codes = tuple(fields), tuple(code_of(what, name, fields[name]) for name in fields)
    return Layout(names, codes)


def code_of(what: str, name: str, code: object) -> str:
    """Check one type; the error suggests the code for another spelling, such as int64."""
    if isinstance(code, str) and code in CODES:
        return code
    try:
        meant = np.dtype(code).str[1:] if isinstance(code, (str, type)) else ""
    except TypeError:
        meant = ""
    hint = f"; did you mean {meant!r}?" if meant in CODES else ""
    raise OperatorError(
        f"the type of {name} in {what} must be one of {', '.join(CODES)}, got {code!r}{hint}"
    )


def state_type(operator: str, names: Sequence[str]) -> type[Any]:
    """Return the named tuple type that a user's functions receive."""
    return namedtuple(f"{operator}State", names)


def read_columns(inputs: Layout, values: Any) -> list[np.ndarray[Any, Any]]:
    """Check a column, or a tuple of columns if `lift` takes several values.

    Arrays must already have the types of the inputs; lists are converted.
    """
    if len(inputs.names) == 1:
        return [_read(inputs.codes[0], values)]
    names = ", ".join(inputs.names)
    if not isinstance(values, tuple) or len(values) != len(inputs.names):
        got = f"a tuple of {len(values)}" if isinstance(values, tuple) else type(values).__name__
        raise ValueTypeError(f"expected a tuple of columns ({names}), got {got}")
    columns = [_read(code, column) for code, column in zip(inputs.codes, values, strict=True)]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueTypeError(
            f"the columns ({names}) must have equal lengths, got {' and '.join(map(str, lengths))}"
        )
    return columns


def _read(code: str, values: Any) -> np.ndarray[Any, Any]:
    dtype = np.dtype(code)
    if isinstance(values, (list, tuple)):
        try:
            return np.array([fitted(code, value) for value in values], dtype=dtype)
        except MisfitError as error:
            raise ValueTypeError(str(error)) from None
    got = type(values).__name__
    if hasattr(values, "dtype") and (hasattr(values, "__array__") or hasattr(values, "__dlpack__")):
        array = np.asarray(values)
        got = str(array.dtype)
        if array.ndim != 1:
            got += f" with {array.ndim} dimensions"
        elif array.dtype == dtype and not (array.flags.c_contiguous and array.flags.aligned):
            got += " that is not contiguous or not aligned"
        elif array.dtype == dtype:
            return array
    raise ValueTypeError(f"expected a one-dimensional contiguous array of {dtype.name}, got {got}")
