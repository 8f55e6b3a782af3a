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

# The types that a field may have, as numpy spells them.
CODES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
_BITS = {"i": "integer", "u": "integer", "f": "number", "b": "bool"}
LARGEST_STATE = 4096


class MisfitError(Exception):
    """A value does not fit its field; the message says what is due."""


def fitted(code: str, value: Any) -> Any:
    """Return a value as a field of this type holds it, as a plain Python number.

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
    raise MisfitError(f"{article} {_BITS[kind]} ({code}) is due, got {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '…'} ({type(value).__name__})"


@dataclass(frozen=True)
class Layout:
    """Names and types, in order, with the places that a C compiler would give them."""

    names: tuple[str, ...]
    codes: tuple[str, ...]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The struct as numpy knows it."""
        return np.dtype(list(zip(self.names, self.codes, strict=True)), align=True)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each field starts."""
        fields = self.dtype.fields
        assert fields is not None
        return tuple(fields[name][1] for name in self.names)

    @property
    def described(self) -> list[tuple[str, str, int]]:
        """The fields as the native core reads them."""
        return list(zip(self.names, self.codes, self.offsets, strict=True))

    def values(self, given: Any) -> tuple[Any, ...]:
        """Check what a user's function returned: a tuple in the order of the fields."""
        if not isinstance(given, tuple):
            raise MisfitError(f"a tuple ({', '.join(self.names)}) is due, got {_shown(given)}")
        if len(given) != len(self.names):
            raise MisfitError(
                f"a tuple ({', '.join(self.names)}) of {len(self.names)} is due, "
                f"got one of {len(given)}"
            )
        found = []
        for name, code, value in zip(self.names, self.codes, given, strict=True):
            try:
                found.append(fitted(code, value))
            except MisfitError as error:
                raise MisfitError(f"for {name} {error}") from None
        return tuple(found)


def layout(what: str, fields: object) -> Layout:
    """Check the `state` or the `returns` of an operator: a dict of names and types.

    >>> layout("state", {"n": "i8", "flag": "b1", "x": "f8"}).offsets
    (0, 8, 16)
    """
    if not isinstance(fields, Mapping) or not fields:
        raise OperatorError(f'{what} is a dict such as {{"n": "i8", "sum": "f8"}}, got {fields!r}')
    for name in fields:
        if not isinstance(name, str) or not name.isidentifier() or iskeyword(name):
            raise OperatorError(f"a field of {what} is named by an identifier, got {name!r}")
        if name.startswith("_"):
            raise OperatorError(f"a field of {what} may not start with '_', got {name!r}")
    names, codes = tuple(fields), tuple(code_of(what, name, fields[name]) for name in fields)
    return Layout(names, codes)


def code_of(what: str, name: str, code: object) -> str:
    """Check one type; of other spellings, such as int64, say the one that is meant."""
    if isinstance(code, str) and code in CODES:
        return code
    try:
        meant = np.dtype(code).str[1:] if isinstance(code, (str, type)) else ""
    except TypeError:
        meant = ""
    hint = f"; did you mean {meant!r}?" if meant in CODES else ""
    raise OperatorError(f"{what}: {name} has type {code!r}, not one of {', '.join(CODES)}{hint}")


def state_type(operator: str, names: Sequence[str]) -> type[Any]:
    """The named tuple that a user's functions get."""
    return namedtuple(f"{operator}State", names)


def read_columns(inputs: Layout, values: Any) -> list[np.ndarray[Any, Any]]:
    """Check a column, or a tuple of columns where `lift` takes several values.

    Arrays must have the types of the inputs already; lists are converted.
    """
    if len(inputs.names) == 1:
        return [_read(inputs.codes[0], values)]
    names = ", ".join(inputs.names)
    if not isinstance(values, tuple) or len(values) != len(inputs.names):
        got = f"{len(values)} of them" if isinstance(values, tuple) else type(values).__name__
        raise ValueTypeError(f"a tuple of columns ({names}) is due, got {got}")
    columns = [_read(code, column) for code, column in zip(inputs.codes, values, strict=True)]
    lengths = [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise ValueTypeError(
            f"the columns ({names}) differ in length: {' and '.join(map(str, lengths))}"
        )
    return columns


def _read(code: str, values: Any) -> np.ndarray[Any, Any]:
    due = np.dtype(code)
    if isinstance(values, (list, tuple)):
        try:
            return np.array([fitted(code, value) for value in values], dtype=due)
        except MisfitError as error:
            raise ValueTypeError(str(error)) from None
    got = type(values).__name__
    if hasattr(values, "dtype") and (hasattr(values, "__array__") or hasattr(values, "__dlpack__")):
        array = np.asarray(values)
        got = str(array.dtype)
        if array.ndim != 1:
            got += f" of {array.ndim} dimensions"
        elif array.dtype == due and not (array.flags.c_contiguous and array.flags.aligned):
            got += " that is not contiguous or not aligned"
        elif array.dtype == due:
            return array
    raise ValueTypeError(f"a one-dimensional contiguous array of {due.name} is due, got {got}")
