"""Users' operators with declared fields, in plain Python: every call is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from slidefold.errors import OperatorError, StateError, ValueTypeError
from slidefold.operators.fields import Layout, MisfitError, fitted, read_columns

if TYPE_CHECKING:
    from slidefold.operators.definition import Definition

Function = Callable[..., Any]


def checked_functions(definition: Definition) -> dict[str, Any]:
    """The functions of an operator, with named tuples in and out, for the native core to call."""
    assert definition.state is not None
    functions = {
        name: _checked(definition, name, function)
        for name, function in definition.functions.items()
    }
    functions["lift"] = _lifting(definition, functions["lift"])
    return {
        **functions,
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
    """A function whose errors and results are looked at."""
    where = f"{name} of operator {definition.name}"
    present = _presenter(definition, name)

    def checked(*arguments: Any) -> Any:
        try:
            result = function(*arguments)
        except Exception as error:
            said = f": {error}" if str(error) else ""
            raise OperatorError(f"{where} raised {type(error).__name__}{said}") from error
        try:
            return present(result)
        except MisfitError as error:
            raise OperatorError(f"{where} returned something else: {error}") from None

    return checked


def _presenter(definition: Definition, name: str) -> Function:
    """How the result of a function is checked and handed on."""
    results, state, make = definition.results, definition.state, definition.state_type
    assert state is not None
    if name == "newer_wins":
        return lambda result: fitted("b1", result)
    if name != "lower":
        return lambda result: make(*state.values(result))
    if isinstance(results, Layout):
        return lambda result: dict(zip(results.names, results.values(result), strict=True))
    return lambda result: fitted(results, result)


def _lifting(definition: Definition, lift: Function) -> Function:
    """`lift` of the value or the tuple of values that an event brings."""
    names, codes = definition.inputs.names, definition.inputs.codes

    def one(value: Any) -> Any:
        try:
            argument = fitted(codes[0], value)
        except MisfitError as error:
            raise ValueTypeError(str(error)) from None
        return lift(argument)

    def several(values: Any) -> Any:
        if not isinstance(values, tuple) or len(values) != len(codes):
            raise ValueTypeError(f"a tuple ({', '.join(names)}) is due, got {values!r}")
        try:
            arguments = [fitted(*pair) for pair in zip(codes, values, strict=True)]
        except MisfitError as error:
            raise ValueTypeError(str(error)) from None
        return lift(*arguments)

    return one if len(codes) == 1 else several


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
