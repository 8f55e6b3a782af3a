"""Look up the user operators that a header may name.

Bytes may come from anywhere, and an import runs code. So a header never causes an import: a user
operator comes from the caller's list or from a module that is already imported. Unpickling imports
modules, as it does for every class.
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
    """The user operators that bytes may refer to.

    >>> Known().find("no.such.module", "Longest")
    Traceback (most recent call last):
    slidefold.errors.StateError: the bytes were saved with the operator no.such.module.Longest, \
whose module is not imported; import no.such.module first, or pass operators=[Longest]
    """

    def __init__(self, operators: Operators = (), *, pickled: bool = False) -> None:
        """Accept operators or their classes; with `pickled`, also import modules."""
        self._given: dict[tuple[str, str], OperatorFactory] = {}
        self._pickled = pickled
        if isinstance(operators, str | Operator | OperatorFactory) or not isinstance(
            operators, Iterable
        ):
            raise OperatorError(
                f"operators must be a list of operators, such as [Longest], got {operators!r}"
            )
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
                f"operators must be a list of operators, such as [Longest], got {operator!r} in it"
            )

    def find(self, module: str, name: str) -> OperatorFactory:
        """Return the user operator with this name in this module."""
        given = self._given.get((module, name))
        if given is not None:
            return given
        shown = readable(f"{module}.{name}", 80)
        problem = f"the bytes were saved with the operator {shown}"
        fix = f"pass operators=[{readable(name.rpartition('.')[2], 60)}]"
        if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
            raise StateError(f"{problem}, which cannot be looked up by its name; {fix}")
        if self._pickled:
            operator = _imported(module, name)
        elif module == "__main__":  # another program may have another operator of that name
            raise StateError(f"{problem}, which was defined in a main module; {fix}")
        elif module not in sys.modules:
            raise StateError(
                f"{problem}, whose module is not imported; import {readable(module, 80)} first, "
                f"or {fix}"
            )
        else:
            operator = _held(sys.modules[module], name)
        if not isinstance(operator, OperatorFactory):
            raise StateError(f"{problem}, which its module does not define; {fix}")
        return operator


def _held(holder: Any, name: str) -> Any:
    """Return the attribute of a module without running any of the module's code."""
    for part in name.split("."):
        if not isinstance(holder, ModuleType | type):
            return None
        holder = object.__getattribute__(holder, "__dict__").get(part)
    return holder


def _imported(module: str, name: str) -> Any:
    try:
        holder: Any = import_module(module)
        for part in name.split("."):
            holder = getattr(holder, part)
    except (ImportError, AttributeError):
        return None
    return holder
