"""Which operators of users a header may name: those given, and those of imported modules.

Bytes come from anywhere, and an import runs code. So a header never causes one: a user's operator
is taken from the list that the caller gives, or from a module that is imported already. Unpickling
imports, as it does for every class.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

from slidefold.definition.operators import Operator, OperatorFactory, StructOperator, UserOperator
from slidefold.errors import OperatorError, StateError
from slidefold.state.envelope import readable

Operators = Iterable[Operator | OperatorFactory]


class Known:
    """The operators of users that bytes may be made with.

    >>> Known().find("no.such.module", "Longest")
    Traceback (most recent call last):
    slidefold.errors.StateError: the bytes were written with the operator no.such.module.Longest, \
and its module is not imported: import no.such.module first, or give operators=[Longest]
    """

    def __init__(self, operators: Operators = (), *, pickled: bool = False) -> None:
        """Take operators, as classes or as made from them; with `pickled`, import modules too."""
        self._given: dict[tuple[str, str], OperatorFactory] = {}
        self._pickled = pickled
        if isinstance(operators, str | Operator | OperatorFactory) or not isinstance(
            operators, Iterable
        ):
            raise OperatorError(f"operators is a list of operators, got {operators!r}")
        for operator in operators:
            self._take(operator)

    def _take(self, operator: object) -> None:
        if isinstance(operator, StructOperator):
            for _, part in operator.parts:
                self._take(part)
        elif isinstance(operator, UserOperator | OperatorFactory):
            definition = operator.definition
            self._given[definition.module, definition.qualname] = OperatorFactory.of(definition)
        elif not isinstance(operator, Operator):
            raise OperatorError(
                f"operators is a list of operators, such as [Longest], got {operator!r} in it"
            )

    def find(self, module: str, name: str) -> OperatorFactory:
        """Return the operator of a user that has this name in this module."""
        given = self._given.get((module, name))
        if given is not None:
            return given
        shown = readable(f"{module}.{name}", 80)
        said = f"the bytes were written with the operator {shown}"
        way = f"give operators=[{readable(name.rpartition('.')[2], 60)}]"
        if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
            raise StateError(f"{said}, which cannot be looked up by its name: {way}")
        if self._pickled:
            found = _imported(module, name)
        elif module == "__main__":  # of another program: it may well have another one of that name
            raise StateError(f"{said}, which is of a main module: {way}")
        elif module not in sys.modules:
            raise StateError(
                f"{said}, and its module is not imported: import {readable(module, 80)} first, "
                f"or {way}"
            )
        else:
            found = _held(sys.modules[module], name)
        if not isinstance(found, OperatorFactory):
            raise StateError(f"{said}, which its module does not have: {way}")
        return found


def _held(found: Any, name: str) -> Any:
    """Return what a module holds under a name; no code of the module runs to find it."""
    for part in name.split("."):
        if not isinstance(found, ModuleType | type):
            return None
        found = object.__getattribute__(found, "__dict__").get(part)
    return found


def _imported(module: str, name: str) -> Any:
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found
