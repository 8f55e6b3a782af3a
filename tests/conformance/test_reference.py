"""Native code beside `slidefold.reference`: the same steps, the same answers, the same refusals."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from slidefold import reference
from slidefold.reference import operators as plain
from tests.support.algorithms import PUSHING, REGISTERED, STEPPING, make, takes
from tests.support.cases import BY_ID, Case

# The plain operators, under the names of the cases that they repeat.
PLAIN: dict[str, Any] = {
    "count": plain.Count(),
    "sum-float64": plain.Sum(),
    "sum-int64": plain.IntSum(),
    "mean-float64": plain.Mean(),
    "mean-int64": plain.IntMean(),
    "geomean-float64": plain.Geomean(),
    "var-float64-0": plain.Var(ddof=0),
    "var-int64-1": plain.Var(),
    "std-float64-1": plain.Std(),
    "std-int64-0": plain.Std(ddof=0),
    "max-float64": plain.Max(),
    "min-float64": plain.Min(),
    "max-int64": plain.Max(),
    "min-int64": plain.Min(),
    "max_by-str-float64": plain.MaxBy(),
    "min_by-object-int64": plain.MinBy(),
    "max_count-float64": plain.MaxCount(),
    "min_count-int64": plain.MinCount(),
    "first-str": plain.First(),
    "last-object": plain.Last(),
    "concat": plain.Concat(),
    "collect-int64": plain.Collect(),
}
PAIRS = [
    pytest.param(name, BY_ID[case_id], id=f"{name}-{case_id}")
    for name in STEPPING
    for case_id in PLAIN
    if takes(name, BY_ID[case_id].operator)
]


def interleaving(seed: int, steps: int) -> Iterator[bool]:
    """Yield True for insert and False for evict, in phases that grow, stay and shrink."""
    rng = random.Random(seed)
    while steps > 0:
        share = rng.choice([0.0, 0.2, 0.5, 0.8, 1.0])
        for _ in range(rng.randint(1, 25)):
            steps -= 1
            yield rng.random() < share


def test_every_algorithm_has_a_reference() -> None:
    for name, cls in REGISTERED.items():
        assert hasattr(reference, cls.__name__), f"slidefold.reference lacks {name}"


@pytest.mark.parametrize(("name", "case"), PAIRS)
def test_lockstep(name: str, case: Case) -> None:
    native = make(name, case.operator, checked=True)
    beside = getattr(reference, REGISTERED[name].__name__)(PLAIN[case.id])
    held: list[Any] = []
    values = iter(case.stream(400, seed=3))
    for insert in interleaving(seed=5, steps=150):
        if insert:
            held.append(next(values))
            native.insert(held[-1])
            beside.insert(held[-1])
        elif held:
            held.pop(0)
            native.evict()
            beside.evict()
        else:
            for each in (native, beside):
                with pytest.raises(IndexError, match="empty window"):
                    each.evict()
        native.check()
        assert len(native) == len(beside)
        assert case.agrees(native.query(), beside.query(), held)


@pytest.mark.parametrize("name", PUSHING)
@pytest.mark.parametrize("case_id", PLAIN)
def test_boundary_lockstep(name: str, case_id: str) -> None:
    case = BY_ID[case_id]
    values = case.stream(60, seed=3)
    for rows, slide in ((1, 1), (2, 1), (10, 2), (10, 3), (16, 1), (7, 7), (9, 5)):
        for chunk in (None, 1, 2, 5):
            if chunk is not None and chunk > rows // slide:
                continue
            native = make(name, case.operator, range=rows, slide=slide, chunk=chunk)
            beside = getattr(reference, REGISTERED[name].__name__)(
                PLAIN[case_id], range=rows, slide=slide, chunk=chunk
            )
            for at, value in enumerate(values):
                got, expected = native.push(value), beside.push(value)
                assert case.agrees(got, expected, values[max(0, at + 1 - rows) : at + 1])
