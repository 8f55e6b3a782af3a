"""Users' operators with declared fields, in plain Python: every call is checked.

A native function checks, and comes here with what is not plainly right.
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
    """The functions of an operator, with named tuples in and out, for the native core to call."""
    assert definition.state is not None
    return {
        **{name: _checked(definition, name, f) for name, f in definition.functions.items()},
        **_saving(definition.state.dtype, definition.state_type),
        "open": lambda values: open_rows(definition.inputs, values),
        "close": lambda results: close_rows(definition.results, results),
    }


def _saving(dtype: np.dtype[Any], make: type[Any]) -> dict[str, Function]:
    """How a state is saved: its fields one after the other, as the compiled operator lays them."""

    def dump(state: Any) -> bytes:
        return np.array(tuple(state), dtype).tobytes()

    def load(saved: bytes) -> Any:
        if len(saved) != dtype.itemsize:
            raise StateError(f"a state of {dtype.itemsize} bytes is due, got {len(saved)}")
        return make(*np.frombuffer(saved, dtype)[0].item())

    return {"dump": dump, "load": load}


def _checked(definition: Definition, name: str, function: Function) -> Function:
    """A function whose arguments, errors and results are looked at, natively if they are right."""
    where = f"{name} of operator {definition.name}"
    codes, make, convert = _presented(definition, name)

    def present(result: Any) -> Any:
        try:
            return convert(result)
        except MisfitError as error:
            raise OperatorError(f"{where} returned something else: {error}") from None

    def failed(error: Exception) -> Any:
        said = f": {error}" if str(error) else ""
        raise OperatorError(f"{where} raised {type(error).__name__}{said}") from error

    inputs = definition.inputs if name == "lift" else None
    read = None if inputs is None else partial(_read, inputs)
    taken = None if inputs is None else inputs.codes
    return _native.CheckedFunction(function, taken, codes, make, read, present, failed)


def _presented(definition: Definition, name: str) -> tuple[tuple[str, ...], Any, Function]:
    """What a function returns: the types, what is made of them, and how Python converts them."""
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
    """The arguments of `lift`: the value or the tuple of values that an event brings."""
    names, codes = inputs.names, inputs.codes
    values = (given,) if len(codes) == 1 else given
    if not isinstance(values, tuple) or len(values) != len(codes):
        raise ValueTypeError(f"a tuple ({', '.join(names)}) is due, got {given!r}")
    try:
        return tuple(fitted(*pair) for pair in zip(codes, values, strict=True))
    except MisfitError as error:
        raise ValueTypeError(str(error)) from None


def open_rows(inputs: Layout, values: Any) -> list[Any]:
    """Columns as a list of what `lift` takes for each row."""
    columns = [column.tolist() for column in read_columns(inputs, values)]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def close_rows(results: str | Layout, rows: list[Any]) -> np.ndarray[Any, Any]:
    """Results as an array: of numbers, or of structs where `returns` is a dict; None as zeros."""
    if isinstance(results, Layout):
        nothing = (0,) * len(results.names)
        tuples = [nothing if row is None else tuple(row.values()) for row in rows]
        return np.array(tuples, dtype=results.dtype)
    return np.array([0 if row is None else row for row in rows], dtype=results)
