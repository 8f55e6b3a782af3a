"""The fuzzer: a short run finds nothing, and whatever is broken is found, shortened and named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from slidefold import algorithms, reference
from slidefold.reference import operators as plain
from tools.fuzz import histories, operators, trees
from tools.fuzz.histories import Plan, Source, plan_of
from tools.fuzz.operators import KINDS
from tools.fuzz.oracle import Oracle
from tools.fuzz.rounds import Round
from tools.fuzz.shrink import shrunk
from tools.fuzz.workers import run_rounds

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        histories, "SIZES", {"small": (30, 300), "medium": (120, 300), "large": (2000, 300)}
    )


def test_a_short_run() -> None:
    command = [sys.executable, "-m", "tools.fuzz", "--seed", "7", "--operations", "9000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
    first, *_, last = done.stdout.splitlines()
    assert first == "fuzz: python -m tools.fuzz --seed 7"
    assert last == "fuzz: no failure"


def test_rounds_of_every_kind() -> None:
    """All trees, arities, operators, arrivals and times come up."""
    plans = [plan_of(Random(f"1/{number}")) for number in range(400)]
    assert {plan.tree for plan in plans} == {"Fiba", "BTree"}
    assert {plan.min_arity for plan in plans} == set(range(2, 17))
    assert {plan.operator for plan in plans} == set(KINDS)
    assert {plan.arrival for plan in plans} == set(histories.ARRIVALS)
    assert {plan.times for plan in plans} == set(histories.TIMES)


@pytest.mark.parametrize("number", range(40))
def test_native_trees(number: int) -> None:
    done = trees.run_round(2, number)
    assert done.failure is None
    assert done.count == 300


def plain_tree(plan: Plan) -> Any:
    """Make the tree of slidefold.reference for a plan."""
    user: Any = operators.Composed  # a factory, since it is decorated
    operator: Any = {
        "concat": plain.Concat(),
        "sum": plain.IntSum(),
        "max": plain.Max(),
        "user": user.cls,
    }[plan.operator]
    return getattr(reference, plan.tree)(operator, plan.min_arity, plan.max_arity)


@pytest.mark.parametrize("number", range(12))
def test_plain_trees(number: int) -> None:
    assert trees.run_round(3, number, plain_tree).failure is None


def test_a_round_is_a_function_of_seed_and_number() -> None:
    def history(seed: int) -> list[Any]:
        rng = Random(f"{seed}/5")
        plan = plan_of(rng)
        lockstep = trees.Lockstep(plan, trees.native)
        found: list[Any] = [plan]
        for operation in Source(plan, rng, lockstep.oracle).operations():
            lockstep.apply(operation)
            found.append(operation)
        return found

    assert history(4) == history(4)
    assert history(4) != history(5)


class Forgetful(algorithms.Fiba):
    """Does not evict when it has 13 entries."""

    def evict(self, time: float, /) -> bool:
        return len(self) == 13 or super().evict(time)


class Unordered(algorithms.Fiba):
    """Inserts a bulk from its end: equal times combine the wrong way round."""

    def bulk_insert(self, times: Any, values: Any) -> None:
        super().bulk_insert(times[::-1], values[::-1])


class Leaky(algorithms.Fiba):
    """Keeps half of a bulk when the operator raises."""

    def bulk_insert(self, times: Any, values: Any) -> None:
        for time, value in zip(times, values, strict=True):
            self.insert(time, value)


class Shared(algorithms.Fiba):
    """A copy that is none."""

    def copy(self) -> Shared:
        return self


def first_failure(tree: Any) -> list[str]:
    def make(plan: Plan) -> Any:
        return tree(KINDS[plan.operator].make(), min_arity=plan.min_arity)

    for number in range(200):
        failure = trees.run_round(1, number, make).failure
        if failure is not None:
            return failure.shown.splitlines()
    pytest.fail("nothing was found")


def test_a_lost_eviction_is_found_and_shortened() -> None:
    made, *steps, told = first_failure(Forgetful)
    assert made.startswith("tree = ")
    assert steps[-1].startswith("tree.evict(")
    rows = sum(step.count(",") + 1 for step in steps)
    assert len(steps) <= 14
    assert rows <= 80
    assert told.startswith("# Disagreement: ")


def test_a_wrong_order_is_found_and_shortened() -> None:
    """Two entries of one time are all it takes."""
    _, step, told = first_failure(Unordered)
    assert step.startswith("tree.bulk_insert([")
    assert step.count(",") <= 5
    assert told.startswith("# Disagreement: ")


def test_what_a_raising_operator_leaves_behind_is_found() -> None:
    _, *steps, told = first_failure(Leaky)
    assert steps[-1].startswith("Fuse.left = ")
    assert told.startswith("# Disagreement: ")


def test_a_copy_that_shares_is_found() -> None:
    _, *steps, _ = first_failure(Shared)
    assert "tree = tree.copy()" in steps


def test_shrinking_leaves_what_fails() -> None:
    history = [("insert", i) for i in range(100)]
    short = shrunk(history, lambda some: ("insert", 3) in some and ("insert", 77) in some)
    assert short == [("insert", 3), ("insert", 77)]
    assert shrunk(history, lambda some: False) == history
    bulks = [("evict", 1), ("bulk_insert", list(range(50)), list("ab" * 25)), ("evict", 2)]
    short = shrunk(bulks, lambda some: any(o[0] == "bulk_insert" and 9 in o[1] for o in some))
    assert short == [("bulk_insert", [9], ["b"])]


def test_the_oracle() -> None:
    oracle = Oracle(KINDS["concat"])
    oracle.bulk_insert([3, 1, 3.0, 2], ["c", "a", "C", "b"])
    oracle.insert(1, "A")
    assert oracle.items() == [(1, "aA"), (2, "b"), (3, "cC")]
    assert (oracle.query(), oracle.query(1.5, 9), oracle.query(4, 9)) == ("aAbcC", "bcC", None)
    assert (oracle.evict(2), oracle.evict(2)) == (True, False)
    oracle.bulk_evict(1)
    assert oracle.items() == [(3, "cC")]


def dies(seed: int, number: int) -> Round:
    """A round whose process ends, such as a crash of native code."""
    if number == 3:
        os._exit(21)
    return Round(10, {"parity": str(number % 2)})


def test_a_process_that_dies_is_named() -> None:
    total = run_rounds(dies, 1, workers=2, count=10**9, seconds=None, tell=lambda total: None)
    assert total.failed == 3
    assert total.failure is not None
    assert total.failure.message == "the process died with exit code 21"
