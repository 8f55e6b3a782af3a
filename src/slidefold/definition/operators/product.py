"""Structs: several operators in one state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Any, Self

from slidefold.definition.operators.base import Operator
from slidefold.definition.operators.record import Record
from slidefold.definition.windows.calls import call
from slidefold.errors import OperatorError

_STRUCT = Record(types=("any",))


@dataclass(frozen=True, repr=False)
class StructOperator(Operator):
    """Several operators that share one window."""

    parts: tuple[tuple[str, Operator], ...] = ()

    @property
    def record(self) -> Record:
        """The record of a struct; its parts have their own records."""
        return _STRUCT

    def leaves(self) -> Iterator[tuple[tuple[str, ...], Operator]]:
        """Yield the operators of the struct, each with its path."""
        for name, part in self.parts:
            for path, leaf in part.leaves():
                yield (name, *path), leaf

    def where(self, condition: Any) -> Self:
        """Fold only the rows that fulfil a condition, in all parts."""
        parts = tuple((name, part.where(condition)) for name, part in self.parts)
        return replace(self, parts=parts)

    @property
    def native_params(self) -> dict[str, Any]:
        """The operators by name."""
        return {
            "names": tuple(name for name, _ in self.parts),
            "parts": tuple(part for _, part in self.parts),
        }

    @property
    def keeps_nulls(self) -> bool:
        """True: each part handles None itself."""
        return True

    def __repr__(self) -> str:
        parts = dict(self.parts)
        if all(name.isidentifier() and not iskeyword(name) for name in parts):
            return call("sf.struct", **parts)
        return f"sf.struct(**{parts!r})"


def struct(**parts: Operator) -> StructOperator:
    """Combine several operators in one window: one state, one algorithm, a dict of results.

    An event is a dict by column name, or a tuple with one item per part, in order (a pair for a
    part with two columns). A whole column is a dict or a tuple of columns and gives a dict of
    results. Each part skips None independently: a part without values gives None, or 0 if it
    counts. Commutative if all parts are; invertible if all parts are. State: the states of the
    parts, plus 8 bytes per part.

    >>> import slidefold as sf
    >>> w = sf.Window(sf.struct(total=sf.sum("x"), top=sf.max("y")), sf.rows(2))
    >>> w.push({"x": 1.0, "y": 5.0})
    {'total': 1.0, 'top': 5.0}
    >>> w.push((2.0, None))
    {'total': 3.0, 'top': 5.0}
    >>> w.push((4.0, None))
    {'total': 6.0, 'top': None}
    """
    if not parts:
        raise OperatorError("struct needs at least one operator, such as total=slidefold.sum('x')")
    for name, part in parts.items():
        if not isinstance(part, Operator):
            raise OperatorError(
                f"{name} of struct must be an operator such as slidefold.max('x'), got {part!r}"
            )
        if any(leaf.record.expands is not None for _, leaf in part.leaves()):
            raise OperatorError(f"struct cannot hold {part!r}: give it a column of its own")
    columns = dict.fromkeys(column for part in parts.values() for column in part.columns)
    return StructOperator("struct", tuple(columns), dtype="any", parts=tuple(parts.items()))
