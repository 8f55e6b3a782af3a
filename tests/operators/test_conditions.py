"""Every operator takes a condition: it folds what it would fold if the other rows were null."""

from __future__ import annotations

import inspect
import math
import random
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.definition.operators import BUILT_IN
from slidefold.errors import ValueTypeError
from slidefold.live import Live
from tests.support.for_each import for_each
from tests.support.more_cases import REQUIRED

ROWS = 40
REQUIRED = {**REQUIRED, "histogram": {"edges": (0, 5, 10)}}
WINDOWS = (sf.rows(7), sf.time(9, closed="left"), sf.session(1))


@sf.operator(state={"n": "i8", "total": "f8"}, returns="f8", compile="never", commutative=True)
class UserMean(sf.Fold):
    identity = staticmethod(lambda: (0, 0.0))
    lift = staticmethod(lambda x: (1, x))
    combine = staticmethod(lambda a, b: (a.n + b.n, a.total + b.total))
    lower = staticmethod(lambda s: s.total / s.n if s.n else 0.0)


def table_of(*, filtered: bool) -> Any:
    """Return rows; if they are filtered, values where `p` is not true are null."""
    rng = random.Random(3)
    t, p = 0, []
    columns: dict[str, list[Any]] = {"t": [], "x": [], "y": [], "s": [], "b": []}
    for _ in range(ROWS):
        t += rng.choice([0, 1, 1, 3])
        p.append(rng.choice([True, True, False, None]))
        passes = p[-1] is True or not filtered
        columns["t"].append(t)
        x, y = (None if rng.random() < 0.1 else rng.randint(1, 9) for _ in range(2))
        columns["x"].append(x if passes else None)
        columns["y"].append(None if y is None else float(y))
        s, b = rng.choice("abc"), rng.random() < 0.5
        columns["s"].append(s if passes else None)
        columns["b"].append(b if passes else None)
    return pa.table({**columns, "p": p})


def given_columns(name: str) -> list[tuple[str, ...]]:
    parameters = inspect.signature(BUILT_IN[name]).parameters.values()
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return [("s", "x")]
    several = sum(one.default is None for one in parameters)
    return [("x",), ("s",), ("b",)] if several == 1 else [("x", "y"), ("s", "y")]


def alike(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) or (a != a and b != b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[name], b[name]) for name in a)
    return bool(a == b)


def check(operator: Any) -> None:
    given, nulls = table_of(filtered=False), table_of(filtered=True)
    plain = {f"a{i}": operator.over(window) for i, window in enumerate(WINDOWS)}
    filtered = {f"a{i}": operator.where("p").over(window) for i, window in enumerate(WINDOWS)}
    expected = sf.rolling(on="t", order="input", columns=plain).run(nulls)
    definition = sf.rolling(on="t", order="input", columns=filtered)
    live = definition.live(lateness=3)
    parts = []
    for i in range(0, ROWS, 9):
        parts.append(live.feed(given.slice(i, 9)))
        live = Live.from_bytes(live.to_bytes(), definition)
    parts.append(live.finish())
    for found in (definition.run(given), pa.concat_tables(parts)):
        for name in plain:
            assert found[name].type == expected[name].type
            for a, b in zip(found[name].to_pylist(), expected[name].to_pylist(), strict=True):
                assert alike(a, b), f"{operator} {name}: {a} and not {b}"


@for_each("name", [name for name in BUILT_IN if name not in ("count", "struct", "longest_gap")])
def test_every_operator_takes_a_condition(name: str) -> None:
    ran = 0
    for columns in given_columns(name):
        operator = BUILT_IN[name](*columns, **REQUIRED.get(name, {}))
        try:
            sf.rolling(on="t", a=operator.over(3)).run(table_of(filtered=True))
        except ValueTypeError:
            continue
        check(operator)
        ran += 1
    assert ran


@for_each("operator", [UserMean("x"), sf.struct(n=sf.sum("x"), m=sf.max("s"), u=UserMean("x"))])
def test_users_operators_and_structs_take_a_condition(operator: Any) -> None:
    check(operator)


def test_a_condition_of_a_part_of_a_struct() -> None:
    table = pa.table({"t": [1, 2, 3], "x": [1, 2, 4], "p": [True, False, True]})
    both = sf.struct(all=sf.sum("x"), some=sf.sum("x").where("p"), n=sf.count().where("p"))
    found = sf.rolling(on="t", a=both.over(3)).run(table)["a"].to_pylist()
    assert found[-1] == {"all": 7, "some": 5, "n": 2}
    whole = sf.rolling(on="t", a=both.where(sf.col("x") > 1).over(3)).run(table)["a"].to_pylist()
    assert whole[-1] == {"all": 6, "some": 4, "n": 1}


@pytest.mark.parametrize("nulls", ["skip", "keep"])
def test_nulls_that_are_kept_pass_a_condition(nulls: str) -> None:
    table = pa.table({"t": [1, 2, 3], "x": [1, None, None], "p": [True, True, False]})
    columns = {
        "last": sf.last("x", nulls=nulls).where("p").over(3),
        "all": sf.collect("x", nulls=nulls).where("p").over(3),
        "least": sf.last("x", nulls=nulls).where("p").over(3, min_count=2),
    }
    definition = sf.rolling(on="t", columns=columns)
    live = definition.live(lateness=0)
    kept = nulls == "keep"
    for found in (definition.run(table), pa.concat_tables([live.feed(table), live.finish()])):
        assert found["last"].to_pylist() == ([1, None, None] if kept else [1, 1, 1])
        assert found["all"].to_pylist()[-1] == ([1, None] if kept else [1])
        assert found["least"].to_pylist() == [None, None, None]
