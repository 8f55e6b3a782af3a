"""Compile users' operators with declared fields: numba turns them into functions over raw states.

The user's functions take and return tuples. The glue around them loads a tuple from the bytes of a
state and stores a tuple there, field by field, without boxing. Arithmetic follows numpy: a division
by zero gives inf or NaN. An exception cannot leave compiled code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core import types
from numba.core.errors import NumbaError

from slidefold.definition.operators import glue
from slidefold.definition.operators.fields import LARGEST_STATE, Layout, read_columns
from slidefold.errors import OperatorError

if TYPE_CHECKING:
    from slidefold.definition.operators.definition import Definition

# Python never calls these functions, and a wrapper for it takes 10 ms to compile.
_OPTIONS = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compile_operator(definition: Definition) -> dict[str, Any]:
    """Compile an operator and return its description for the native core."""
    state = definition.state
    assert state is not None
    marked = "identity" not in definition.functions
    # Without an identity, a hidden byte marks states that are not empty.
    memory = Layout((*state.names, "_full"), (*state.codes, "u1")) if marked else state
    size = memory.dtype.itemsize
    if size > LARGEST_STATE:
        raise OperatorError(
            f"the state of operator {definition.name} has {size} bytes, but at most "
            f"{LARGEST_STATE} can be compiled: use fewer fields, or compile='never'"
        )
    compiler = _Compiler(definition, memory, marked)
    addresses = compiler.addresses()
    one = isinstance(definition.results, str)
    results = (
        Layout(("result",), (definition.results,))
        if isinstance(definition.results, str)
        else definition.results
    )
    empty = np.zeros(1, memory.dtype)
    if not marked:
        empty[0] = definition.plain["identity"]()

    def make_results(rows: int) -> tuple[Any, Any]:
        array = np.empty(rows, definition.results if one else results.dtype)
        return array, array.view("u1") if rows else np.empty(0, "u1")

    return {
        **addresses,
        "state": memory.described,
        "state_bytes": size,
        "inputs": definition.inputs.described,
        "input_bytes": definition.inputs.dtype.itemsize,
        "results": results.described,
        "result_bytes": results.dtype.itemsize,
        "one_result": one,
        "identity": empty.tobytes(),
        "commutative": definition.commutative,
        "open": lambda values: read_columns(definition.inputs, values),
        "make_results": make_results,
        "slide": compiler.slide_address,
        "keep": compiler,
    }


class _Compiler:
    """The machine code of one operator; it exists as long as this object."""

    def __init__(self, definition: Definition, memory: Layout, marked: bool) -> None:
        self.definition = definition
        self.glue = glue.Glue(definition, memory, marked)
        self.jitted = {
            name: numba.njit(**_OPTIONS)(function)
            for name, function in _with_helpers(definition.functions).items()
            if name != "identity"  # a constant: Python computes it
        }
        self.kept: list[Any] = []
        self._slide = 0
        state = self.glue.state
        arguments = {
            "lift": tuple(self.glue.inputs),
            "combine": (state, state),
            "lower": (state,),
            "remove": (state, state),
            "newer_wins": (state, state),
        }
        for name, jitted in self.jitted.items():
            self._compile(name, jitted, arguments[name])

    def _compile(self, name: str, jitted: Any, arguments: tuple[Any, ...]) -> None:
        where = f"{name} of operator {self.definition.name}"
        function = self.definition.functions[name]
        try:
            jitted.compile(arguments)
        except (NumbaError, NotImplementedError) as error:
            raise OperatorError(f"{where} does not compile, {_place(function, error)}") from error
        self.glue.compiled[name] = jitted.overloads[arguments]
        misfit = self._misfit(name, jitted.overloads[arguments].signature.return_type)
        if misfit:
            raise OperatorError(f"{where} returned a wrong value: {misfit}")

    def _misfit(self, name: str, result: Any) -> str:
        """Return what is wrong with the type that a function returns; "" if it is right."""
        if name == "newer_wins":
            return _misfit_of("b1", result)
        expected = self.definition.results if name == "lower" else self.definition.state
        assert expected is not None
        if isinstance(expected, str):
            return _misfit_of(expected, result)
        wanted = f"a tuple ({', '.join(expected.names)})"
        if not isinstance(result, types.BaseTuple):
            return f"expected {wanted}, got {types.unliteral(result)}"
        if len(result) != len(expected.names):
            return f"expected {wanted}, got a tuple of {len(result)}"
        for field, code, item in zip(expected.names, expected.codes, result, strict=True):
            misfit = _misfit_of(code, item)
            if misfit:
                return f"{field}: {misfit}"
        return ""

    def addresses(self) -> dict[str, int]:
        """Return the addresses of the functions with their glue; 0 for missing functions."""
        library, addresses = self.glue.link(list(self.jitted))
        self.kept.append(library)
        return {"remove": 0, "newer_wins": 0, **addresses}

    def slide_address(self) -> int:
        """Return the address of the loop over a whole column; compile it on first use."""
        if self._slide == 0:
            library, addresses = self.glue.link(["slide"])
            self.kept.append(library)
            self._slide = addresses["slide"]
        return self._slide


def _misfit_of(code: str, inferred: Any) -> str:
    """Return why the type that numba inferred does not fit a field; "" if it fits."""
    inferred = types.unliteral(inferred)
    fits: tuple[Any, ...] = (types.Boolean,)
    if code[0] in "iuf":
        fits += (types.Integer,)
    if code[0] == "f":
        fits += (types.Float,)
    if isinstance(inferred, fits):
        return ""
    expected = {"b": "a bool", "f": "a number"}.get(code[0], "an integer")
    return f"expected {expected} ({code}), got {inferred}"


_COLOURS = re.compile("\x1b\\[[0-9;]*m")  # numba's messages have terminal colours


def _place(function: Callable[..., Any], error: Exception) -> str:
    """Return where compiling failed, and numba's reason in one line."""
    code = getattr(function, "__code__", None)
    location = getattr(error, "loc", None)
    file = getattr(location, "filename", None) or getattr(code, "co_filename", "?")
    line = getattr(location, "line", None) or getattr(code, "co_firstlineno", 0)
    reasons = [text.strip() for text in _COLOURS.sub("", str(error)).splitlines()]
    skipped = ("Failed in nopython mode", "During: ", "File ", "^", "This error may")
    useful = [text for text in reasons if text and not text.startswith(skipped)]
    return f'"{file}", line {line}: {useful[0] if useful else type(error).__name__}'


def _with_helpers(functions: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Copy the functions, and compile the helper functions that they call by name."""
    compiled: dict[int, Any] = {}

    def helper(value: Any) -> Any:
        if not isinstance(value, FunctionType):
            return value
        if id(value) not in compiled:
            names: dict[str, Any] = {}
            compiled[id(value)] = numba.njit(**_OPTIONS)(copy(value, names))
        return compiled[id(value)]

    def copy(function: FunctionType, names: dict[str, Any]) -> FunctionType:
        cells = tuple(CellType() for _ in function.__closure__ or ())
        twin = FunctionType(function.__code__, names, function.__name__, None, cells)
        twin.__defaults__, twin.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        twin.__module__, twin.__qualname__ = function.__module__, function.__qualname__
        pending.append((function, names, cells))
        return twin

    # Names are filled in afterwards, because helpers may call each other.
    pending: list[tuple[FunctionType, dict[str, Any], tuple[CellType, ...]]] = []
    copies = {
        name: copy(function, {}) if isinstance(function, FunctionType) else function
        for name, function in functions.items()
    }
    while pending:
        function, names, cells = pending.pop()
        for name in _names_in(function.__code__):
            if name in function.__globals__:
                names[name] = helper(function.__globals__[name])
        for old, new in zip(function.__closure__ or (), cells, strict=True):
            try:
                new.cell_contents = helper(old.cell_contents)
            except ValueError:  # an empty cell stays empty
                continue
    return copies


def _names_in(code: Any) -> set[str]:
    inner = (const for const in code.co_consts if isinstance(const, type(code)))
    return set(code.co_names).union(*map(_names_in, inner))
