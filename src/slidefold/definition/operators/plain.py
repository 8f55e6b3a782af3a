"""Run users' operators with declared fields in plain Python, and check every call.

A native function does the quick checks and calls this module for all other values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from slidefold import _native
from slidefold.definition.operators.fields import Layout, MisfitError, fitted, read_columns
from slidefold.errors import OperatorError, StateError, ValueTypeError

if TYPE_CHECKING:
    from slidefold.definition.operators.definition import Definition

Function = Callable[..., Any]


def checked_functions(definition: Definition) -> dict[str, Any]:
    """Return an operator's functions for the native core; states are named tuples."""
    assert definition.state is not None
    return {
        **{name: _checked(definition, name, f) for name, f in definition.functions.items()},
        **_saving(definition.state.dtype, definition.state_type),
        "open": lambda values: open_rows(definition.inputs, values),
        "close": lambda results: close_rows(definition.results, results),
    }


def _saving(dtype: np.dtype[Any], make: type[Any]) -> dict[str, Function]:
    """Return `dump` and `load` for states, with the memory layout of the compiled operator."""

    def dump(state: Any) -> bytes:
        return np.array(tuple(state), dtype).tobytes()

    def load(saved: bytes) -> Any:
        if len(saved) != dtype.itemsize:
            raise StateError(f"expected a state of {dtype.itemsize} bytes, got {len(saved)}")
        return make(*np.frombuffer(saved, dtype)[0].item())

    return {"dump": dump, "load": load}


def _checked(definition: Definition, name: str, function: Function) -> Function:
    """Wrap a function so that its arguments, errors and results are checked."""
    where = f"{name} of operator {definition.name}"
    codes, make, convert = _presented(definition, name)

    def present(result: Any) -> Any:
        try:
            return convert(result)
        except MisfitError as error:
            raise OperatorError(f"{where} returned a wrong value: {error}") from None

    def failed(error: Exception) -> Any:
        message = f": {error}" if str(error) else ""
        raise OperatorError(f"{where} raised {type(error).__name__}{message}") from error

    inputs = definition.inputs if name == "lift" else None
    read = None if inputs is None else partial(_read, inputs)
    input_codes = None if inputs is None else inputs.codes
    return _native.CheckedFunction(function, input_codes, codes, make, read, present, failed)


def _presented(definition: Definition, name: str) -> tuple[tuple[str, ...], Any, Function]:
    """Return a function's result types, the container for them, and a Python converter."""
    results, state, make = definition.results, definition.state, definition.state_type
    assert state is not None
    if name == "newer_wins":
        return ("b1",), None, lambda result: fitted("b1", result)
    if name != "lower":
        return state.codes, make, lambda result: make(*state.values(result))
    if isinstance(results, Layout):
        names = results.names
        return results.codes, names, lambda r: dict(zip(names, results.values(r), strict=True))
    return (results,), None, lambda result: fitted(results, result)


def _read(inputs: Layout, given: Any) -> tuple[Any, ...]:
    """Return the arguments of `lift`: the value or the tuple of values of an event."""
    names, codes = inputs.names, inputs.codes
    values = (given,) if len(codes) == 1 else given
    if not isinstance(values, tuple) or len(values) != len(codes):
        raise ValueTypeError(f"expected a tuple ({', '.join(names)}), got {given!r}")
    try:
        return tuple(fitted(*pair) for pair in zip(codes, values, strict=True))
    except MisfitError as error:
        raise ValueTypeError(str(error)) from None


def open_rows(inputs: Layout, values: Any) -> list[Any]:
    """Return columns as a list of the arguments of `lift` for each row."""
    columns = [column.tolist() for column in read_columns(inputs, values)]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def close_rows(results: str | Layout, rows: list[Any]) -> np.ndarray[Any, Any]:
    """Return results as an array of numbers, or of structs if `returns` is a dict; None as 0."""
    if isinstance(results, Layout):
        zeros = (0,) * len(results.names)
        tuples = [zeros if row is None else tuple(row.values()) for row in rows]
        return np.array(tuples, dtype=results.dtype)
    return np.array([0 if row is None else row for row in rows], dtype=results)
