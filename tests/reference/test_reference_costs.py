"""The bounds of the papers, asserted by counting calls of combine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from slidefold.reference import (
    Daba,
    DabaLite,
    Pba,
    Sba,
)
from slidefold.reference import operators as ops


class Meter:
    """A window whose operations report how many combines they took."""

    def __init__(self, make: Any) -> None:
        self.op: Any = ops.Counting(ops.Count())
        self.window = make(self.op)

    def cost(self, action: Callable[[], object]) -> int:
        before = self.op.combines
        action()
        return int(self.op.combines - before)

    def insert(self) -> int:
        return self.cost(lambda: self.window.insert(0))

    def evict(self) -> int:
        return self.cost(self.window.evict)

    def query(self) -> int:
        return self.cost(self.window.query)


@pytest.mark.parametrize(("make", "insert_and_evict"), [(Daba, 4), (DabaLite, 3)])
@pytest.mark.parametrize("n", [3, 8, 100, 1000])
def test_daba_average_over_whole_flip_cycles(make: Any, insert_and_evict: int, n: int) -> None:
    """A cycle of 2m fixups takes m shrinks, so fixups cost 3/2 (Lite: 1) and inserts one more."""
    meter = Meter(make)
    for _ in range(n):
        meter.insert()
    cycles: list[tuple[int, int, int]] = []  # inserts, evicts and combines since the last flip
    inserts = evicts = combines = 0
    boundary = meter.window.at.B
    for turn in range(8 * n):
        cost = meter.insert() if turn % 2 else meter.evict()
        if boundary != meter.window.at.B:  # this operation flipped: it opens a cycle
            boundary = meter.window.at.B
            cycles.append((inserts, evicts, combines))
            inserts = evicts = combines = 0
        inserts, evicts, combines = inserts + turn % 2, evicts + (turn + 1) % 2, combines + cost
    assert len(cycles) >= 3
    fixup = (insert_and_evict - 1) / 2
    for some_inserts, some_evicts, some_combines in cycles[1:]:
        assert some_combines == some_inserts * (1 + fixup) + some_evicts * fixup


@pytest.mark.parametrize("n", [2, 3, 4, 7, 64, 100, 1000, 1024])
@pytest.mark.parametrize("make", [Sba, Pba])
def test_boundary_of_one_row_slides(make: Any, n: int) -> None:
    op: Any = ops.Counting(ops.Count())
    window = make(op, n)
    b = window.chunk
    costs = []
    for seen in range(1, 6 * n):
        before = op.combines
        window.push(0)
        cost = op.combines - before
        closes = seen % b == 0
        assert cost <= 3 + (b - 2 if make is Sba and closes and b > 2 else 0)
        costs.append(cost)
        assert window.states_kept() <= (3 * n + 13) / 2
    if make is Pba:
        assert sum(costs) < 3 * len(costs)
        for chunk in window.core.chunks:
            chunk.wait()
        assert op.elsewhere == max(b - 2, 0) * ((6 * n - 1) // b)
    else:
        assert op.elsewhere == 0


@pytest.mark.parametrize(
    ("range_", "slide"), [(10, 3), (100, 7), (64, 5), (1000, 3), (15, 2), (9, 5)]
)
def test_boundary_with_a_rest_takes_one_more(range_: int, slide: int) -> None:
    op: Any = ops.Counting(ops.Count())
    window = Pba(op, range_, slide)
    rest = range_ % slide
    for seen in range(1, 5 * range_):
        before = op.combines
        window.push(0)
        cost = op.combines - before
        slicing = int((seen - 1) % slide > 0) + int((seen - 1) % slide > slide - rest)
        merging = 4 if seen % slide == 0 else 0
        assert cost <= slicing + merging
