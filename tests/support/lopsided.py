"""An operator that the registry does not have: one record and one class, as ARCHITECTURE says."""

from __future__ import annotations

from typing import Any

import pytest

import slidefold as sf
from slidefold.definition.operators import record as registry

RECORD = registry.Record(types=("float64",), column="user")


@sf.operator(
    state={"n": "f8", "mean": "f8", "m2": "f8", "m3": "f8"},
    returns="f8",
    commutative=True,
    compile="never",
)
class Lopsidedness(sf.Fold):
    """Central moments that merge pairwise."""

    identity = staticmethod(lambda: (0.0, 0.0, 0.0, 0.0))
    lift = staticmethod(lambda x: (1.0, x, 0.0, 0.0))

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        n = a.n + b.n
        if n == 0.0:
            return (0.0, 0.0, 0.0, 0.0)
        apart, share = b.mean - a.mean, b.n / n
        m3 = a.m3 + b.m3 + apart**3 * a.n * share * (a.n - b.n) / n
        m3 += 3.0 * apart * (a.n * b.m2 - b.n * a.m2) / n
        return (n, a.mean + apart * share, a.m2 + b.m2 + apart**2 * a.n * share, m3)

    @staticmethod
    def lower(s: Any) -> float:
        return float(s.n**0.5 * s.m3 / s.m2**1.5) if s.m2 > 0.0 else 0.0


def lopsidedness(column: str | None = None) -> Any:
    """Return how lopsided the values are: the third standardized moment.

    >>> sf.Window(lopsidedness(), 3).push(1.0)
    0.0
    """
    return Lopsidedness() if column is None else Lopsidedness(column)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Add the operator to the registry for one test: nothing else knows of it."""
    for table in (registry.RECORDS, registry.NAMED, registry.BUILT_IN):
        monkeypatch.setitem(table, "lopsidedness", None)
    registry.recorded(RECORD)(lopsidedness)
    return lopsidedness


def expected(values: list[float]) -> float:
    """The population lopsidedness, as scipy defines it."""
    mean = sum(values) / len(values)
    m2, m3 = (sum((x - mean) ** k for x in values) / len(values) for k in (2, 3))
    return m3 / m2**1.5 if m2 > 0 else 0.0
