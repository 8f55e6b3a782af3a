"""Products: each part gives what it gives alone."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import slidefold as sf
from slidefold.errors import OperatorError, ResultOverflowError, ValueTypeError
from tests.support import user_operators as user
from tests.support.algorithms import STEPPING, make, takes

SMALL = sf.struct(total=sf.sum("x"), top=sf.max("y", dtype="int64"))
WIDE = sf.struct(
    rows=sf.count(),
    n=sf.count("x"),
    total=sf.sum("y", dtype="int64"),
    spread=sf.std("x"),
    tie=sf.covariance("x", "y", key_dtype="int64"),
    quarter=sf.m4("y", dtype="int64"),
)
OWNING = sf.struct(
    words=sf.concat("w"),
    place=sf.max_by("w", "x", dtype="str"),
    own=user.made(user.Longest, "w"),
    some=sf.collect("y", dtype="int64", nulls="keep"),
    n=sf.count("w"),
)
INVERTIBLE = sf.struct(n=sf.count("x"), odd=sf.bit_xor("y"), total=sf.sum("y", dtype="int64"))
ALL = {"small": SMALL, "wide": WIDE, "owning": OWNING, "invertible": INVERTIBLE}


def events(length: int, seed: int = 1) -> list[dict[str, Any]]:
    rng = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.4 else value

    return [
        {
            "x": maybe(rng.uniform(-5, 5)),
            "y": maybe(rng.randint(-9, 9)),
            "w": maybe(rng.choice("abc")),
        }
        for _ in range(length)
    ]


def value_of(part: Any, event: dict[str, Any]) -> Any:
    values = tuple(event[column] for column in part.columns)
    return values if len(values) > 1 else values[0] if values else None


def alone(part: Any, held: list[dict[str, Any]]) -> Any:
    window = make("recalc", part)
    for event in held:
        window.insert(value_of(part, event))
    return window.query()


def same(got: Any, expected: Any) -> bool:
    if isinstance(expected, float):
        return isinstance(got, float) and got == pytest.approx(expected, rel=1e-9, abs=1e-9)
    return type(got) is type(expected) and bool(got == expected)


@pytest.mark.parametrize("kind", ALL)
def test_like_its_parts(kind: str) -> None:
    operator = ALL[kind]
    stream = events(40)
    for name in STEPPING:
        if not takes(name, operator):
            continue
        for counted in (False, True):
            algorithm = make(name, operator, checked=True, counted=counted)
            for at, event in enumerate(stream):
                if at % 2:
                    algorithm.insert(event)
                else:
                    algorithm.insert(tuple(value_of(part, event) for _, part in operator.parts))
                if len(algorithm) > 4:
                    algorithm.evict()
                algorithm.check()
                got = algorithm.query()
                held = stream[max(0, at - 3) : at + 1]
                for part_name, part in operator.parts:
                    assert same(got[part_name], alone(part, held)), (name, part_name, held)
            twin = algorithm.copy()
            while len(twin):
                twin.evict()
            nothing = dict.fromkeys(name for name, _ in operator.parts)
            counts = {name: 0 for name, part in operator.parts if part.name == "count"}
            assert twin.query() == nothing | counts


@pytest.mark.parametrize("kind", ALL)
def test_columns(kind: str) -> None:
    operator = ALL[kind]
    stream = events(30, seed=2)
    columns = {name: [event[name] for event in stream] for name in ("x", "y", "w")}
    window = sf.Window(operator, sf.rows(4))
    expected = [window.push(event) for event in stream]
    for name in STEPPING:
        if not takes(name, operator):
            continue
        result = make(name, operator).slide(columns, 4)
        assert list(result) == [part_name for part_name, _ in operator.parts]
        for part_name, _ in operator.parts:
            for row, got in enumerate(list(result[part_name])):
                plain = got.item() if isinstance(got, np.generic) else got
                truth = expected[row][part_name]
                missing = truth is None and isinstance(plain, float) and plain != plain
                assert missing or same(plain, truth), (name, part_name, row)


def test_arrays_in_a_tuple() -> None:
    x, y = np.arange(5.0), np.arange(5)
    result = make("two_stacks_lite", SMALL).slide((x, y), 2)
    assert result["total"].tolist() == [0.0, 1.0, 3.0, 5.0, 7.0]
    assert result["top"].tolist() == [0, 1, 2, 3, 4]


def test_traits() -> None:
    assert INVERTIBLE.traits.invertible
    assert INVERTIBLE.traits.commutative
    assert not SMALL.traits.invertible
    assert SMALL.traits.commutative
    assert not OWNING.traits.commutative
    assert WIDE.traits.fallible
    assert not SMALL.traits.fallible
    assert SMALL.traits.state_bytes == 32
    assert SMALL.columns == ("x", "y")
    assert sf.struct(a=sf.sum("x")) == sf.struct(a=sf.sum("x"))
    assert sf.struct(a=sf.sum("x")) != sf.struct(b=sf.sum("x"))


def test_a_struct_of_structs() -> None:
    window = sf.Window(sf.struct(inner=SMALL, n=sf.count()), sf.rows(2))
    window.push(((1.0, 2), None))
    assert window.push(((2.0, None), None)) == {"inner": {"total": 3.0, "top": 2}, "n": 2}


def test_other_windows() -> None:
    late = sf.Window(SMALL, sf.time(10), lateness=5)
    assert late.push(3, (1.0, 1)) == {"total": 1.0, "top": 1}
    assert late.push(1, (2.0, None)) == {"total": 2.0, "top": None}
    assert late.query() == {"total": 3.0, "top": 1}
    sba = make("sba", SMALL, range=2)
    assert sba.push((1.0, 1)) is None
    assert sba.push((2.0, None)) == {"total": 3.0, "top": 1}


def test_wrong_events() -> None:
    window = sf.Window(SMALL, sf.rows(2))
    window.push((1.0, 2))
    for wrong in (
        1.0,
        "xy",
        [1.0, 2],
        (1.0,),
        (1.0, 2, 3),
        {"x": 1.0},
        ("x", 2),
        {"x": 1, "y": 2.5},
    ):
        with pytest.raises(ValueTypeError, match=r"expected .*, got"):
            window.push(wrong)
        assert window.query() == {"total": 1.0, "top": 2}
    no_column = sf.Window(sf.struct(total=sf.sum()), sf.rows(2))
    assert no_column.push((1.0,)) == {"total": 1.0}
    with pytest.raises(ValueTypeError, match="'total' names no column"):
        no_column.push({"x": 1.0})
    algorithm = make("daba_lite", SMALL)
    for columns in (np.arange(3.0), [np.arange(3.0), np.arange(3)], None, {"x": np.arange(3.0)}):
        with pytest.raises(ValueTypeError, match=r"expected .*, got"):
            algorithm.slide(columns, 2)
    with pytest.raises(ValueTypeError, match="3 and 2"):
        algorithm.slide((np.arange(3.0), np.arange(2)), 2)


def test_an_overflow_in_a_part() -> None:
    window = sf.Window(sf.struct(n=sf.count(), total=sf.sum(dtype="int64")), sf.rows(2))
    window.push((1, 2**63 - 1))
    with pytest.raises(ResultOverflowError):
        window.push((1, 1))
    assert window.query() == {"n": 1, "total": 2**63 - 1}


def test_what_is_no_operator() -> None:
    with pytest.raises(OperatorError, match="at least one operator"):
        sf.struct()
    with pytest.raises(OperatorError, match="a of struct must be an operator"):
        sf.struct(a=sf.sum)  # type: ignore[arg-type]
