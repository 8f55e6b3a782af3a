"""Nulls: they take their place in a window, and add nothing to the fold."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.algorithms import BTree, Fiba, FlatFat
from tests.support.algorithms import PUSHING, fitting, make
from tests.support.cases import BY_ID, Case

IDS = [
    "sum-float64",
    "sum-int64",
    "max-int64",
    "min-float64",
    "mean-int64",
    "count",
    "first-str",
    "concat",
    "collect-int64",
    "top_k-int64",
    "max_by-str-float64",
    "user-longest",
    "user-product",
    "user-reversible",
]
NULL_CASES = [BY_ID[name] for name in IDS if name != "count"]


def truth_of(case: Case, values: list[Any]) -> Any:
    return case.truth([value for value in values if not is_null(value)])


def is_null(value: Any) -> bool:
    return value is None or (isinstance(value, tuple) and None in value)


def with_nulls(case: Case, length: int, share: float) -> list[Any]:
    rng = random.Random(length)
    values = case.stream(length, seed=4)
    nulls: list[Any] = [None]
    if isinstance(values[0], tuple):
        nulls += [(None, values[0][1]), (values[0][0], None)]
    return [rng.choice(nulls) if rng.random() < share else value for value in values]


def agrees(case: Case, got: Any, values: list[Any]) -> bool:
    kept = [value for value in values if not is_null(value)]
    return case.agrees(got, case.truth(kept), kept)


@pytest.mark.parametrize("share", [0.2, 0.8, 1.0])
@pytest.mark.parametrize("case", NULL_CASES, ids=str)
def test_steps(case: Case, share: float) -> None:
    values = with_nulls(case, 60, share)
    for name in fitting(case.operator):
        for counted in (False, True):
            algorithm = make(name, case.operator, checked=True, counted=counted)
            for at, value in enumerate(values):
                algorithm.insert(value)
                if len(algorithm) > 5:
                    algorithm.evict()
                algorithm.check()
                held = values[max(0, at - 4) : at + 1]
                assert agrees(case, algorithm.query(), held), (name, held)
            twin = algorithm.copy()
            while len(twin):
                twin.evict()
            assert twin.query() is None
            twin.insert(values[0])
            assert agrees(case, twin.query(), values[:1])


@pytest.mark.parametrize("closed", ["right", "left"])
@pytest.mark.parametrize("case", NULL_CASES, ids=str)
def test_windows(case: Case, closed: str) -> None:
    values = with_nulls(case, 60, 0.6)
    for name in fitting(case.operator, ["daba_lite", "two_stacks_lite", "slick_deque", "recalc"]):
        rows = sf.Window(case.operator, sf.rows(3, closed=closed), algorithm=name, checked=True)
        time = sf.Window(case.operator, sf.time(3, closed=closed), algorithm=name, checked=True)
        for at, value in enumerate(values):
            end = at + 1 if closed == "right" else at
            held = values[max(0, end - 3) : end]
            assert agrees(case, rows.push(value), held)
            assert agrees(case, time.push(at // 2, value), _of_time(values, at, closed))
            rows.check()
            time.check()


def _of_time(values: list[Any], at: int, closed: str) -> list[Any]:
    now = at // 2
    first, last = (now - 2, now) if closed == "right" else (now - 3, now - 1)
    return [value for i, value in enumerate(values[: at + 1]) if first <= i // 2 <= last]


@pytest.mark.parametrize("case", NULL_CASES, ids=str)
def test_columns(case: Case) -> None:
    for share in (0.3, 0.9, 1.0):
        values = with_nulls(case, 40, share)
        column: Any = values
        if isinstance(case.stream(1)[0], tuple):
            pairs = [(None, None) if value is None else value for value in values]
            column = ([a for a, _ in pairs], [b for _, b in pairs])
        for name in fitting(case.operator):
            for drain in (False, True):
                result = make(name, case.operator).slide(column, 4, drain=drain)
                for row, got in enumerate(list(result)):
                    first = row - row % 4 if drain else max(0, row - 3)
                    held = values[first : row + 1]
                    plain = got.item() if isinstance(got, np.generic) else got
                    if truth_of(case, held) is None and isinstance(plain, float):
                        assert plain != plain
                    else:
                        assert agrees(case, plain, held), (name, held, plain)
            make(name, case.operator).latencies(column, 4)


@pytest.mark.parametrize("name", PUSHING)
@pytest.mark.parametrize("case", NULL_CASES, ids=str)
def test_boundaries(name: str, case: Case) -> None:
    values = with_nulls(case, 40, 0.7)
    for rows, slide in ((3, 1), (4, 2), (5, 2)):
        algorithm = make(name, case.operator, range=rows, slide=slide, checked=True)
        for at, value in enumerate(values):
            got = algorithm.push(value)
            if at + 1 >= rows and (at + 1) % slide == 0:
                held = values[at + 1 - rows : at + 1]
                assert agrees(case, got, held)
                assert agrees(case, algorithm.query(), held)
            algorithm.check()


@pytest.mark.parametrize("cls", [Fiba, BTree])
@pytest.mark.parametrize("case", NULL_CASES, ids=str)
def test_trees(cls: Any, case: Case) -> None:
    rng = random.Random(8)
    values = with_nulls(case, 40, 0.7)
    tree = cls(case.operator)
    held: dict[int, list[Any]] = {}
    for value in values:
        at = rng.randrange(30)
        if rng.random() < 0.2:
            tree.evict(at)
            held.pop(at, None)
        tree.insert(at, value)
        held.setdefault(at, []).append(value)
        tree.check()
        assert agrees(case, tree.query(), _between(held, 0, 30))
        since = rng.randrange(30)
        until = rng.randrange(since, 31)
        assert agrees(case, tree.query(since, until), _between(held, since, until))
    tree.bulk_evict(14)
    held = {at: at_once for at, at_once in held.items() if at > 14}
    assert agrees(case, tree.query(), _between(held, 0, 30))


def _between(held: dict[int, list[Any]], since: int, until: int) -> list[Any]:
    return [value for at in sorted(held) if since <= at <= until for value in held[at]]


def test_late_windows() -> None:
    window = sf.Window(sf.sum(), sf.time(3), lateness=10)
    assert window.push(5, None) is None
    assert window.push(4, 1.0) == 1.0
    assert window.push(6, None) == 1.0
    assert window.push(9, None) is None
    assert window.push(7, 2.0) == 2.0
    assert window.query() == 2.0


def test_positions() -> None:
    tree = FlatFat(sf.sum(dtype="int64"), checked=True)
    a, b, c = (tree.insert(value) for value in (None, 5, None))
    assert tree.query() == 5
    assert (tree.prefix(a), tree.prefix(b), tree.suffix(b), tree.suffix(c)) == (None, 5, 5, None)
    tree.update([b, c], [None, 0])
    assert (tree.query(), tree.prefix(b), tree.suffix(c)) == (0, None, 0)
    tree.evict(c)
    assert tree.query() is None
    tree.evict()
    tree.evict()
    assert (len(tree), tree.query()) == (0, None)
    tree.check()


def test_a_failure_leaves_the_nulls_as_they_were() -> None:
    window = sf.Window(sf.sum(dtype="int64"), sf.rows(2), checked=True)
    window.push(None)
    window.push(2**63 - 1)
    for _ in range(3):
        with pytest.raises(OverflowError):
            window.push(1)
        assert window.query() == 2**63 - 1
        window.check()
    assert window.push(None) == 2**63 - 1
    assert window.push(None) is None


def test_count() -> None:
    assert [sf.Window(sf.count(), sf.rows(2)).push(x) for x in (None, 1)] == [1, 1]
    window = sf.Window(sf.count("x"), sf.rows(2))
    assert [window.push(x) for x in (None, 1, None, None)] == [0, 1, 1, 0]
    assert make("recalc", sf.count("x")).slide([None, 1, None, None], 2).tolist() == [0, 1, 1, 0]
    assert make("recalc", sf.count()).slide([None, 1, None], 2).tolist() == [1, 2, 2]


def test_nulls_are_skip_or_keep() -> None:
    for make_operator in (sf.first, sf.last, sf.nth, sf.collect):
        with pytest.raises(sf.errors.OperatorError, match="must be 'skip' or 'keep'"):
            make_operator(nulls="drop")


def test_an_array_of_integers_becomes_a_list() -> None:
    assert make("daba_lite", sf.max(dtype="int64")).slide([None, 1, None], 1) == [None, 1, None]
    assert make("daba_lite", sf.any()).slide([None, True, None], 1) == [None, True, None]
    floats = make("daba_lite", sf.max()).slide([None, 1.0], 1)
    assert np.isnan(floats[0])
    assert floats[1] == 1.0
