"""The plan of a round, and its random operations.

An operation is a tuple of a name and its arguments. Each is valid for any content of the window, so
a history stays valid when operations are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tools.fuzz.operators import KINDS
from tools.fuzz.oracle import Oracle

Operation = tuple[Any, ...]

ARITIES = range(2, 17)
ARRIVALS = ("in order", "nearly in order", "steadily late", "random", "reversed")
TIMES = ("int64", "float64", "mixed")
# The size that a window grows to, and the number of steps in a round.
SIZES = {"small": (48, 4000), "medium": (500, 4000), "large": (20_000, 6000)}
FAR = 10**6
OFTEN = ["concat"] * 3 + ["sum"] * 3 + ["max"] * 2 + ["user"]  # "user" is five times slower


@dataclass(frozen=True)
class Plan:
    """The choices for a whole round."""

    tree: str
    min_arity: int
    max_arity: int | None
    operator: str
    arrival: str
    times: str
    size: str

    @property
    def source(self) -> str:
        """The code that creates the tree."""
        most = "" if self.max_arity is None else f", max_arity={self.max_arity}"
        call = f"{self.tree}({KINDS[self.operator].source}, min_arity={self.min_arity}{most})"
        return f"tree = {call}  # {self.arrival}, {self.times}"


def plan_of(rng: Random) -> Plan:
    """Draw the choices of a round."""
    tree = rng.choice(["Fiba", "Fiba", "Fiba", "BTree"])
    least = rng.choice(ARITIES)
    most = rng.choice([None, 2 * least, 2 * least + 1, 3 * least]) if tree == "Fiba" else None
    size = rng.choice(["small"] * 6 + ["medium"] * 3 + ["large"])
    return Plan(tree, least, most, rng.choice(OFTEN), rng.choice(ARRIVALS), rng.choice(TIMES), size)


class Source:
    """Draws the operations of a round one by one, based on the content of the oracle."""

    def __init__(self, plan: Plan, rng: Random, oracle: Oracle) -> None:
        self.plan = plan
        self.rng = rng
        self.held = oracle.times
        self.kind = KINDS[plan.operator]
        self.target, self.steps = SIZES[plan.size]
        self.now = 0

    def operations(self) -> Iterator[Operation]:
        """Yield the operations of a round; apply each one before drawing the next."""
        grows = True
        for step in range(self.steps):
            size = len(self.held)
            if grows and size >= self.target:
                grows = False
            elif not grows and size <= self.target * self.rng.choice([0, 0.1, 0.5, 0.9]):
                grows = True
            mixing = self.plan.times == "mixed" and step > self.steps // 2
            operation = self._operation(grows, mixing)
            if self.kind.raises and self.rng.random() < 0.05:
                operation = ("armed", 1 + int(40 * self.rng.random() ** 3), operation)
            yield operation

    def _operation(self, grows: bool, mixing: bool) -> Operation:
        chance = self.rng.random()
        if chance < (0.62 if grows else 0.27):
            return "insert", self._arrival(mixing), self.kind.draw(self.rng)
        if chance < 0.86:
            return "evict", self._victim()
        if chance < 0.95:
            return "query", *sorted((self._bound(), self._bound()))
        if chance < (0.985 if grows else 0.96):
            most = self.rng.choice([0, 1, 2, 5, 17, 60, self.target // 8])
            times = [self._arrival(mixing) for _ in range(int(most * self.rng.random()) + 1)]
            if self.rng.random() < 0.5:
                self.rng.shuffle(times)
            return "bulk_insert", times, [self.kind.draw(self.rng) for _ in times]
        if chance < 0.999:
            return "bulk_evict", self._cut()
        return ("copy",)

    def _arrival(self, mixing: bool) -> int | float:
        rng, arrival = self.rng, self.plan.arrival
        self.now += rng.getrandbits(1) + (rng.random() < 0.1)
        when = self.now
        if arrival == "nearly in order":
            when -= int(20 * rng.random() ** 4)
        elif arrival == "steadily late":
            when -= self.target // 3 if rng.random() < 0.6 else 0
        elif arrival == "random":
            when = int(rng.random() * 2 * self.target)
        elif arrival == "reversed":
            when = -when
        return self._time(when, mixing)

    def _time(self, when: int, mixing: bool) -> int | float:
        if self.plan.times == "float64":
            return when / 4
        return when + 0.5 if mixing and self.rng.getrandbits(1) else when

    def _victim(self) -> int | float:
        """Return a time to evict: either end, the middle, any other, or one not in the window."""
        held, chance = self.held, self.rng.random()
        if not held or chance < 0.08:
            return self._time(int(self.rng.random() * 2 * self.target) - self.target // 2, False)
        if chance < 0.4:
            return held[0]
        if chance < 0.55:
            return held[-1]
        if chance < 0.65:
            return held[len(held) // 2]
        return held[int(self.rng.random() * len(held))]

    def _bound(self) -> int | float:
        """Return an end of a range: a time in the window, one beside it, or one far outside."""
        chance = self.rng.random()
        if not self.held or chance < 0.05:
            return FAR if self.rng.getrandbits(1) else -FAR
        near = self.held[-1 - int(self.rng.random() ** 2 * len(self.held))]
        return near + self.rng.choice([-1, -0.25, 0.25, 1]) if chance > 0.7 else near

    def _cut(self) -> int | float:
        """Return a time up to which to evict: usually few entries, rarely all."""
        if not self.held or self.rng.random() < 0.04:
            return FAR if self.rng.getrandbits(1) else -FAR
        last = int(self.rng.random() ** 3 * len(self.held))
        return self.held[last] + self.rng.choice([0, 0, -0.25, 0.25])
