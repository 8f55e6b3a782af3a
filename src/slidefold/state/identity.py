"""Describe operators and windows in a header, and restore them from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields
from datetime import timedelta
from inspect import signature
from numbers import Integral, Real
from typing import Any

from slidefold.definition.operators import (
    NAMED,
    Operator,
    StructOperator,
    UserOperator,
    struct,
)
from slidefold.definition.windows import Rows, Time
from slidefold.errors import OperatorError, StateError
from slidefold.state.envelope import Header, field, readable
from slidefold.state.known import Known

_HERE = "slidefold"
_WINDOWS: dict[str, type[Rows] | type[Time]] = {"rows": Rows, "time": Time}


def operator_header(operator: Operator) -> Header:
    """Describe a built-in operator by name and parameters, a user's by module, name and version.

    >>> import slidefold as sf
    >>> operator_header(sf.var())["params"]
    {'ddof': 1}
    """
    header = {
        "columns": list(operator.columns),
        "dtype": operator.dtype,
        "key_dtype": operator.key_dtype,
        "module": _HERE,
        "name": operator.name,
        "params": {name: _plain(value) for name, value in operator.params},
        "version": operator.state_version,
    }
    if isinstance(operator, StructOperator):
        header["parts"] = [[name, operator_header(part)] for name, part in operator.parts]
    if isinstance(operator, UserOperator):
        own = {"module": operator.module, "name": operator.qualname, "version": operator.version}
        header.update(own)
        if operator.definition.expects_machine_code:
            header["params"] = {"compiled": True}
    return header


def operator_from(
    header: Header, given: Operator | None = None, known: Known | None = None
) -> Operator:
    """Return the operator that a header describes; `given`, if any, must match it.

    User operators are looked up in `known`.

    >>> import slidefold as sf
    >>> operator_from(operator_header(sf.sum("x", dtype="int64"))) == sf.sum("x", dtype="int64")
    True
    """
    module, name = field(header, "module", str), field(header, "name", str)
    if given is not None:
        if not isinstance(given, Operator):
            raise OperatorError(f"expected an operator, such as slidefold.max(), got {given!r}")
        operator = given
        described = {**operator_header(given), "columns": header.get("columns")}
    else:
        if module == _HERE and name == "struct":
            operator = _struct(header, known)
        elif module == _HERE:
            operator = _built_in(header, name)
        else:
            operator = (known or Known()).find(module, name)(*field(header, "columns", list))
        described = operator_header(operator)
    if described != header:
        if described == {**header, "version": described["version"]}:
            raise StateError(
                f"the bytes were saved with version {readable(header.get('version'), 20)} of the "
                f"operator {readable(f'{module}.{name}', 80)}, but version {described['version']} "
                "is in use; build the state again from the data"
            )
        raise StateError(
            f"expected bytes saved with {_shown(described)}, got bytes saved with {_shown(header)}"
        )
    return operator


def _built_in(header: Header, name: str) -> Operator:
    function: Callable[..., Operator] | None = NAMED.get(name)
    if function is None:
        raise StateError(
            f"the bytes were saved with {_shown(header)}, which this version does not know"
        )
    options = {**field(header, "params", dict), "dtype": header.get("dtype")}
    options["key_dtype"] = header.get("key_dtype")
    taken = {key: value for key, value in options.items() if key in signature(function).parameters}
    return function(*field(header, "columns", list), **taken)


def _struct(header: Header, known: Known | None) -> Operator:
    parts: dict[str, Operator] = {}
    for part in field(header, "parts", list):
        if not isinstance(part, list) or len(part) != 2 or not isinstance(part[1], dict):
            raise StateError("the bytes were saved with an invalid struct")
        parts[str(part[0])] = operator_from(part[1], known=known)
    return struct(**parts)


def _plain(value: Any) -> Any:
    """Return a parameter as it looks after a round trip through JSON."""
    return [_plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def _shown(header: Header) -> str:
    """Describe the operator of a header in a few words, even if it is invalid."""
    name = readable(header.get("name"), 60)
    if header.get("module") != _HERE:
        module, version = readable(header.get("module"), 60), readable(header.get("version"), 20)
        return f"version {version} of the operator {module}.{name}"
    types = readable(header.get("dtype"), 20)
    if name in ("max_by", "min_by"):
        types += f" by {readable(header.get('key_dtype'), 20)}"
    params = header.get("params")
    pairs = params.items() if isinstance(params, dict) else ()
    return readable(", ".join([f"{name} of {types}", *(f"{k}={v}" for k, v in pairs)]), 150)


def length_header(length: Any) -> Any:
    """Describe a length as a JSON value; a timedelta becomes a dict.

    >>> length_header(timedelta(hours=1)), length_header("1h"), length_header(5)
    ({'days': 0, 'seconds': 3600, 'microseconds': 0}, '1h', 5)
    """
    if isinstance(length, timedelta):
        return {name: getattr(length, name) for name in ("days", "seconds", "microseconds")}
    if isinstance(length, Integral):  # numpy's too
        return int(length)
    return float(length) if isinstance(length, Real) else length


def length_from(header: Any) -> Any:
    """Return the length that a header describes."""
    length = timedelta(**header) if isinstance(header, dict) else header
    if length_header(length) != header:
        raise StateError("the bytes were saved with an invalid duration")
    return length


def window_header(window: Rows | Time) -> Header:
    """Describe a window by the names and values of its fields.

    >>> import slidefold as sf
    >>> window_header(sf.rows(3))
    {'kind': 'rows', 'n': 3, 'closed': 'right'}
    """
    header: Header = {"kind": type(window).__name__.lower()}
    for part in _compared(window):
        header[part.name] = length_header(getattr(window, part.name))
    return header


# These windows exist in `sf.rolling` only.
_ROLLING_ONLY = ("delay", "ahead")


def _compared(window: Any) -> list[Field[Any]]:
    """Return the fields that distinguish one window of `sf.Window` from another."""
    return [part for part in fields(window) if part.compare and part.name not in _ROLLING_ONLY]


def window_from(header: Header) -> Rows | Time:
    """Return the window that a header describes.

    >>> import slidefold as sf
    >>> window_from(window_header(sf.time("1h", closed="left")))
    sf.time('1h', closed='left')
    """
    values = dict(header)
    cls = _WINDOWS.get(field(values, "kind", str))
    del values["kind"]
    if cls is None or {*values} != {part.name for part in _compared(cls)}:
        raise StateError("the bytes were saved with a window that this version does not know")
    window = cls(**{name: length_from(value) for name, value in values.items()})
    if window_header(window) != header:
        raise StateError("the bytes were saved with an invalid window")
    return window
