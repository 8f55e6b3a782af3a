"""The checked contents of a class decorated with `@slidefold.operator`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any

from slidefold.definition.operators.fields import Layout, code_of, layout, state_type
from slidefold.definition.operators.plain import checked_functions
from slidefold.errors import OperatorError

REQUIRED = ("lift", "combine", "lower")
OPTIONAL = ("identity", "remove", "newer_wins", "dump", "load")
# The number of arguments of each function; lift takes one per input.
ARGUMENTS = {"combine": 2, "lower": 1, "identity": 0, "remove": 2, "newer_wins": 2}
MODES = ("require", "auto", "never")


class Definition:
    """A user's operator: its functions and, if it declares fields, its layouts.

    It is compared by identity: two classes are two operators, even with the same name.
    """

    def __init__(
        self,
        cls: type,
        *,
        state: object = None,
        returns: object = None,
        inputs: object = None,
        compile: str | None = None,
        commutative: bool = False,
        version: int = 1,
    ) -> None:
        self._arguments = (
            cls,
            {
                "state": state,
                "returns": returns,
                "inputs": inputs,
                "compile": compile,
                "commutative": commutative,
                "version": version,
            },
        )
        self.cls = cls
        self.name, self.module, self.doc = cls.__name__, cls.__module__, cls.__doc__
        self.qualname = cls.__qualname__
        self.functions = _functions_of(cls)
        self.commutative, self.version, self.compile = commutative, version, compile
        self.state: Layout | None = None
        self.inputs = Layout(("value",), ("f8",))
        self.results: str | Layout = "f8"
        self._lock = Lock()
        self._typed: dict[tuple[str, ...], Definition] = {}
        # Without inputs=, a column reaches lift in its own type.
        self.takes_any = state is not None and inputs is None
        if not isinstance(commutative, bool):
            raise OperatorError(f"commutative must be True or False, got {commutative!r}")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise OperatorError(f"version must be an integer >= 1, got {version!r}")
        if compile is not None and compile not in MODES:
            raise OperatorError(f"compile must be one of {', '.join(MODES)}, got {compile!r}")
        if state is None:
            for word, given in (("returns", returns), ("inputs", inputs), ("compile", compile)):
                if given is not None:
                    raise OperatorError(f"operator {self.name} has {word}= but no state=: add it")
            return
        self.state = layout("state", state)
        if "dump" in self.functions:
            raise OperatorError(
                f"operator {self.name} has state= and dump: remove dump and load, because the "
                "fields of state= are saved without them"
            )
        if returns is None:
            raise OperatorError(f"operator {self.name} has state= but no returns=: add it")
        self.results = (
            code_of("returns", "lower", returns)
            if isinstance(returns, str)
            else layout("returns", returns)
        )
        self.inputs = _inputs_of(self.name, self.functions["lift"], inputs)
        for name, count in ARGUMENTS.items():
            if name in self.functions:
                _require_arguments(self.name, name, self.functions[name], count)

    def typed(self, codes: tuple[str, ...]) -> Definition:
        """Return the operator for inputs of these types."""
        if codes == self.inputs.codes:
            return self
        with self._lock:
            if codes not in self._typed:
                cls, options = self._arguments
                self._typed[codes] = Definition(cls, **{**options, "inputs": codes})  # type: ignore[arg-type]
            return self._typed[codes]

    @property
    def expects_machine_code(self) -> bool:
        """Whether it runs as machine code; compiled for that only if it may fail to compile."""
        if self.state is None or self.compile == "never":
            return False
        if self.compile == "auto":
            return self.native[0] == "compiled"
        return find_spec("numba") is not None

    @cached_property
    def state_type(self) -> type[Any]:
        """The named tuple that the functions receive."""
        assert self.state is not None
        return state_type(self.name, self.state.names)

    @cached_property
    def plain(self) -> dict[str, Any]:
        """The parameters with which the native core runs the operator in plain Python."""
        if self.state is not None:
            return {**checked_functions(self), "commutative": self.commutative}
        return {**self.functions, "name": self.name, "commutative": self.commutative}

    @property
    def native(self) -> tuple[str, dict[str, Any]]:
        """The name and parameters of the native operator; compiled once, on first use."""
        with self._lock:
            return self._native

    @cached_property
    def _native(self) -> tuple[str, dict[str, Any]]:
        if self.state is not None and self.compile != "never":
            if find_spec("numba") is not None:
                # Importing numba takes a third of a second, so do it only to compile something.
                from slidefold.definition.operators.compiled import compile_operator

                try:
                    return "compiled", compile_operator(self)
                except OperatorError:
                    if self.compile != "auto":
                        raise
            elif self.compile == "require":
                raise OperatorError(
                    f"operator {self.name} has compile='require', but numba is not installed: "
                    "pip install slidefold[numba]"
                )
        return "object", self.plain

    def __copy__(self) -> Definition:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Definition:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name if an import finds this definition, otherwise pickle the class.

        `__main__` is a different module in another process, so its classes have no usable name.
        Only cloudpickle, which Spark uses, pickles such classes by value.
        """
        if find_definition(self.module, self.qualname) is self:
            return _imported, (self.module, self.qualname)
        return _made_again, self._arguments


def find_definition(module: str, qualname: str) -> Definition | None:
    """Import a user's operator by name; return None if that is not possible."""
    if module == "__main__":
        return None
    try:
        factory: Any = import_module(module)
        for part in qualname.split("."):
            factory = getattr(factory, part)
    except (ImportError, AttributeError, ValueError):
        return None
    definition = getattr(factory, "definition", None)
    return definition if isinstance(definition, Definition) else None


def _imported(module: str, qualname: str) -> Definition:
    definition = find_definition(module, qualname)
    if definition is None:
        raise OperatorError(
            f"the operator {qualname} is in the module {module}, which the Python of this process, "
            f"{sys.executable}, cannot import: install the module there, or send it with addPyFile"
        )
    return definition


def _made_again(cls: type, options: dict[str, Any]) -> Definition:
    return Definition(cls, **options)


def _functions_of(cls: type) -> dict[str, Callable[..., Any]]:
    functions: dict[str, Callable[..., Any]] = {}
    for name in REQUIRED + OPTIONAL:
        function = getattr(cls, name, None)
        if function is None:
            if name in REQUIRED:
                raise OperatorError(
                    f"operator {cls.__name__} has no {name}: add it as a @staticmethod"
                )
            continue
        if not isinstance(inspect.getattr_static(cls, name), staticmethod):
            raise OperatorError(f"{name} of operator {cls.__name__} must be a @staticmethod")
        functions[name] = function
    if ("dump" in functions) != ("load" in functions):
        raise OperatorError(f"operator {cls.__name__} must have both dump and load, or neither")
    return functions


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-ins have no signature
        return None


def _require_arguments(operator: str, name: str, function: Callable[..., Any], count: int) -> None:
    try:
        inspect.signature(function).bind(*range(count))
    except ValueError:
        return
    except TypeError:
        raise OperatorError(
            f"{name} of operator {operator} must take {count} "
            f"{'argument' if count == 1 else 'arguments'}"
        ) from None


def _inputs_of(operator: str, lift: Callable[..., Any], inputs: object) -> Layout:
    """Return one input per argument of lift, with the types in `inputs` or f8."""
    if isinstance(inputs, str):
        inputs = (inputs,)
    if inputs is not None and (not isinstance(inputs, (tuple, list)) or not inputs):
        raise OperatorError(f'inputs must be a tuple of types such as ("f8", "i8"), got {inputs!r}')
    parameters = _parameters(lift)
    if parameters is None or any(p.kind not in _POSITIONAL for p in parameters):
        count = 1 if inputs is None else len(inputs)
        names: tuple[str, ...] = tuple(f"value{i}" for i in range(count))
    else:
        needed = [p.name for p in parameters if p.default is p.empty]
        count = len(needed) if inputs is None else len(inputs)
        names = tuple(p.name for p in parameters[:count])
        if count == 0 or not len(needed) <= count <= len(parameters):
            raise OperatorError(
                f"lift of operator {operator} takes {len(parameters)} values, but inputs= has "
                f"{count}"
                if inputs is not None
                else f"lift of operator {operator} must take at least one value, but takes none"
            )
    codes = ("f8",) * count if inputs is None else tuple(inputs)
    return Layout(names, tuple(code_of("inputs", *pair) for pair in zip(names, codes, strict=True)))


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
