"""Results per category: a map from the values of a column to the results of an operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from slidefold.definition.operators.base import Operator, columns_of, whole_of
from slidefold.definition.operators.record import Record
from slidefold.errors import OperatorError

_PER = Record(types=("any",), column="per", middle="whole", grows=True, events=False)


@dataclass(frozen=True, repr=False)
class PerOperator(Operator):
    """An operator that is folded apart for each category: created by `Operator.per`."""

    inner: Any = None  # the operator that is folded
    limit: int = 1000

    @property
    def record(self) -> Record:
        """The record of a map; the operator inside has its own."""
        return _PER

    @property
    def category(self) -> Any:
        """The column of the categories."""
        return self.columns[0]

    @property
    def keeps_nulls(self) -> bool:
        """True: the operator inside handles None itself, and null categories are left out."""
        return True

    @property
    def traits(self) -> Any:
        """The algebraic properties of the operator inside, but for those that need one state."""
        return replace(self.inner.traits, invertible=False, selective=False)

    def leaves(self) -> Iterator[tuple[tuple[str, ...], Operator]]:
        """Yield the operator itself: its results are one column."""
        yield (), self

    def __repr__(self) -> str:
        more = "" if self.limit == 1000 else f", limit={self.limit}"
        shown = self._shown_columns()[0]
        return self._with_condition(f"{self.inner!r}.per({shown!r}{more})")


def per(operator: Operator, category: Any, limit: int) -> PerOperator:
    """Check the arguments of an operator's `per`."""
    inner, record = operator, operator.record
    several = record.types == ("any",) and not record.rows  # a struct, or a map already
    if record.expands is not None or record.reads_row or several:
        raise OperatorError(f"per cannot fold {operator!r} by category")
    if not inner.columns and not record.rows:
        raise OperatorError(f"{inner.name} needs a column, such as {inner.name}('x')")
    limit = whole_of(limit, 1, "per", "limit")
    condition = operator.condition
    inner = replace(operator, condition=None)
    columns = (*columns_of(category), *inner.columns)
    return PerOperator("per", columns, dtype="any", condition=condition, inner=inner, limit=limit)
