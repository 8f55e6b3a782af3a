"""Compiled operators: the same results as plain Python, in every algorithm."""

from __future__ import annotations

import copy
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from tests.support.algorithms import PUSHING, STEPPING, fitting, make
from tests.support.declared_operators import DECLARED, Declared, Spread, built

pytest.importorskip("numba")

EXACT = [declared for declared in DECLARED if declared.cls is not Spread]


def values_of(declared: Declared, count: int, seed: int = 0) -> list[Any]:
    chance = random.Random(seed)
    return [declared.value(chance.randrange(100_000)) for _ in range(count)]


def expected(declared: Declared, values: list[Any]) -> Any:
    """The fold by the class itself, without slidefold's machinery."""
    operator = declared.built("never")
    assert isinstance(operator, sf.definition.operators.UserOperator)
    plain = operator.definition.plain
    if not values:
        return None
    state = plain["lift"](values[0])
    for value in values[1:]:
        state = plain["combine"](state, plain["lift"](value))
    return plain["lower"](state)


def same(found: Any, due: Any) -> bool:
    """Spread has floats, whose sums depend on the grouping; the inputs make them nearly exact."""
    if isinstance(due, dict):
        return found.keys() == due.keys() and all(same(found[name], due[name]) for name in due)
    if isinstance(due, float) and isinstance(found, float):
        return found == pytest.approx(due, rel=1e-12, abs=1e-12)
    return type(found) is type(due) and bool(found == due)


@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_both_builds_are_what_they_should_be(declared: Declared) -> None:
    compiled, plain = declared.built("require"), declared.built("never")
    assert compiled.native_name == "compiled"
    assert plain.native_name == "object"
    for word in ("invertible", "selective", "commutative"):
        assert getattr(compiled.traits, word) == getattr(plain.traits, word)
    assert plain.traits.fallible
    assert not compiled.traits.fallible
    assert compiled != plain


def test_traits() -> None:
    found = {str(d): d.built("require").traits for d in DECLARED}
    assert [name for name, t in found.items() if t.invertible] == ["Chain"]
    assert [name for name, t in found.items() if t.selective] == ["Latest"]
    assert [name for name, t in found.items() if t.commutative] == ["Spread"]
    # The marker that stands for a missing identity is a byte, and its padding.
    assert {name: t.state_bytes for name, t in found.items()} == {
        "LongestRise": 48,
        "Spread": 32,
        "Chain": 16,
        "Latest": 24,
        "Narrow": 20,
        "Hands": 96,
    }


PAIRS = [
    pytest.param(name, declared, build, id=f"{name}-{declared}-{build}")
    for declared in DECLARED
    for name in fitting(declared.built("never"), STEPPING)
    for build in ("require", "never")
]


@pytest.mark.parametrize(("name", "declared", "build"), PAIRS)
def test_lockstep(name: str, declared: Declared, build: str) -> None:
    """Inserts and evicts at random, checked after each, against the class itself."""
    chance = random.Random(name + str(declared))
    window = make(name, declared.built(build), checked=True)
    held: list[Any] = []
    for step in range(150):
        if held and chance.random() < (0.3 if step < 60 else 0.55):
            window.evict()
            held.pop(0)
        else:
            value = declared.value(chance.randrange(100_000))
            window.insert(value)
            held.append(value)
        window.check()
        assert len(window) == len(held)
        assert same(window.query(), expected(declared, held)), (held, step)
    twin = copy.copy(window)
    while len(window):
        window.evict()
    assert window.query() is None
    assert same(twin.query(), expected(declared, held))


@pytest.mark.parametrize("declared", DECLARED, ids=str)
@pytest.mark.parametrize("build", ["require", "never"])
def test_columns(declared: Declared, build: str) -> None:
    values = values_of(declared, 40)
    columns = declared.columns(values)
    operator = declared.built(build)
    for window in (1, 2, 7, 39, 40, 41):
        due = [expected(declared, values[max(0, i + 1 - window) : i + 1]) for i in range(40)]
        results = {name: make(name, operator).slide(columns, window) for name in fitting(operator)}
        for name in PUSHING:
            results[name] = make(name, operator, range=window).slide(columns)
        for name, found in results.items():
            assert isinstance(found, np.ndarray)
            assert found.dtype == results["recalc"].dtype
            assert all(map(same, rows_of(found), due)), (name, window)
    drained = make("two_stacks_lite", operator).slide(columns, 7, drain=True)
    assert same(rows_of(drained)[13], expected(declared, values[7:14]))


@pytest.mark.parametrize("declared", DECLARED, ids=str)
@pytest.mark.parametrize("build", ["require", "never"])
@pytest.mark.parametrize("tree", [sf.algorithms.Fiba, sf.algorithms.BTree])
def test_trees(tree: Any, declared: Declared, build: str) -> None:
    """Values that come late, one by one and in bulk, and ranges of time."""
    chance = random.Random(str(declared))
    held: dict[int, Any] = {}
    window = tree(declared.built(build), min_arity=2)
    for step in range(120):
        if held and chance.random() < 0.3:
            time = min(held) if step % 2 else chance.choice(list(held))
            window.evict(time)
            del held[time]
        else:
            time = chance.choice([t for t in range(300) if t not in held])
            held[time] = declared.value(chance.randrange(100_000))
            window.insert(time, held[time])
        window.check()
        assert same(window.query(), expected(declared, in_time(held)))
        since, until = sorted((chance.randrange(300), chance.randrange(300)))
        part = {time: value for time, value in held.items() if since <= time <= until}
        assert same(window.query(since, until), expected(declared, in_time(part)))
    late = {time: declared.value(time) for time in range(400, 440)}
    window.bulk_insert(np.array(list(late)), declared.columns(list(late.values())))
    window.bulk_evict(410)
    held = {time: value for time, value in late.items() if time > 410}
    assert same(window.query(), expected(declared, in_time(held)))


def in_time(held: dict[int, Any]) -> list[Any]:
    return [held[time] for time in sorted(held)]


def rows_of(found: Any) -> list[Any]:
    """The rows as single events would give them."""
    if found.dtype.names is None:
        rows: list[Any] = found.tolist()
        return rows
    return [dict(zip(found.dtype.names, row.item(), strict=True)) for row in found]


@pytest.mark.parametrize("declared", EXACT, ids=str)
def test_the_loop_over_a_column_at_every_small_size(declared: Declared) -> None:
    """Blocks that are whole, cut off, of one row; directions that turn."""
    operator = declared.built("require")
    values = values_of(declared, 23, seed=1)
    for rows in range(len(values) + 1):
        columns = declared.columns(values[:rows])
        for window in range(1, 10):
            found = make("two_stacks_lite", operator).slide(columns, window)
            due = make("recalc", operator).slide(columns, window)
            assert found.tobytes() == due.tobytes(), (rows, window)


@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_result_types(declared: Declared) -> None:
    """An event's result and a column's have the declared types, compiled or not."""
    for build in ("require", "never"):
        operator: Any = declared.built(build)
        results = operator.definition.results
        found = make("two_stacks_lite", operator).slide(declared.columns([]), 3)
        assert len(found) == 0
        assert found.dtype == np.dtype(results if isinstance(results, str) else results.dtype)


def test_lists_are_columns_too() -> None:
    for build in ("require", "never"):
        rise, latest = (d.built(build) for d in (DECLARED[0], DECLARED[3]))
        assert make("daba", rise).slide([1, 2.5, np.float64(3)], 2).tolist() == [1, 2, 2]
        assert make("daba", latest).slide(([1.0, 2.0], [5, 4]), 2).tolist() == [1.0, 1.0]


def test_combines_are_counted() -> None:
    for build in ("require", "never"):
        operator = DECLARED[0].built(build)
        counted = make("two_stacks_lite", operator, counted=True)
        counted.slide(np.arange(1000.0), 10)
        # 1 an insert, 1 a query, 1 an evict on average.
        assert counted.combines is not None
        assert 2500 < counted.combines <= 3000
        removing = make("subtract_on_evict", DECLARED[2].built(build), counted=True)
        for value in ((1, 2), (3, 4), (5, 6)):
            removing.insert(value)
        removing.evict()
        assert removing.combines == 3
        selecting = make("slick_deque", DECLARED[3].built(build), counted=True)
        for ranked in ((1.0, 2), (3.0, 4)):
            selecting.insert(ranked)
        assert selecting.combines == 1


def test_live_windows() -> None:
    for build in ("require", "never"):
        rise = sf.Window(built(DECLARED[0].cls, build), sf.time(10))
        events = ((1, 5.0), (4, 6.0), (6, 7.0), (12, 1.0), (30, 1.0))
        assert [rise.push(t, x) for t, x in events] == [1, 2, 3, 2, 1]
        chain = sf.Window(built(DECLARED[2].cls, build), sf.rows(2))
        assert chain.plan.algorithm == "subtract_on_evict"
        rows = [(3, 1), (4, 2), (5, 3)]
        assert [chain.push(row) for row in rows] == [
            expected(DECLARED[2], rows[max(0, i - 1) : i + 1]) for i in range(3)
        ]


def test_threads_share_an_operator() -> None:
    """Columns run without the GIL, and nothing of a run is kept in the operator."""
    values = np.random.default_rng(0).random(20_000)
    operator = DECLARED[0].built("require")
    due = {w: make("recalc", operator).slide(values[:3000], w) for w in (3, 10, 50)}

    def run(window: int) -> Any:
        return [make(name, operator).slide(values, window) for name in ("two_stacks_lite", "daba")]

    with ThreadPoolExecutor(4) as threads:
        for window, found in zip([3, 10, 50] * 4, threads.map(run, [3, 10, 50] * 4), strict=True):
            for column in found:
                assert np.array_equal(column[:3000], due[window])


def test_nan_and_infinity_pass_through() -> None:
    values = [1.0, float("nan"), float("inf"), 2.0]
    for build in ("require", "never"):
        means = make("two_stacks_lite", built(Spread, build)).slide(np.array(values), 2)["mean"]
        assert np.array_equal(means, [1.0, np.nan, np.nan, np.inf], equal_nan=True)


def test_what_compiled_code_makes_of_errors() -> None:
    """In plain Python these are errors; machine code wraps, follows numpy, and returns zeros."""

    def refuse(state: Any) -> Any:
        if state.n > 2:
            raise ValueError
        return state.n

    def made(lower: Any, returns: str) -> Any:
        functions = {
            "lift": lambda x: (1, x),
            "combine": lambda older, newer: (older.n + newer.n, older.x),
            "lower": lower,
        }
        cls = type("Odd", (), {name: staticmethod(f) for name, f in functions.items()})
        decorated = sf.operator(state={"n": "i1", "x": "f8"}, returns=returns, compile="require")
        return make("two_stacks_lite", decorated(cls)())

    assert made(refuse, "i8").slide(np.ones(5), 3).tolist() == [1, 2, 0, 0, 0]
    assert made(lambda s: 1.0 / (s.n - 1), "f8").slide(np.ones(2), 2).tolist() == [np.inf, 1.0]
    assert made(lambda s: s.n, "i8").slide(np.ones(200), 130)[-1] == 130 - 256


def test_a_literal_becomes_a_bool() -> None:
    """numba's cast of a literal to a bool needed a library to add to, and ended in IndexError."""

    @sf.operator(state={"n": "i8", "any": "b1"}, returns="b1", compile="require")
    class Flagged:
        identity = staticmethod(lambda: (0, False))
        lift = staticmethod(lambda x: (1, True))
        combine = staticmethod(lambda a, b: (a.n + b.n, a.any or b.any))
        lower = staticmethod(lambda s: s.any)

    made: Any = Flagged
    window = sf.Window(made(), sf.rows(2))
    assert [window.push(x) for x in (1.0, 2.0, 3.0)] == [True, True, True]
