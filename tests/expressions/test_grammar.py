"""Expressions in files: texts, trees and source code, and texts that nobody should write."""

from __future__ import annotations

import datetime as datetimes
import math
import random
import zoneinfo
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from operator import add, and_, eq, floordiv, ge, gt, le, lt, mod, mul, ne, or_, sub, truediv
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.definition.expressions import Call, Column, Expression, Literal, Node, parse
from slidefold.definition.expressions.nodes import DEEPEST, LONGEST, SYMBOLS
from slidefold.errors import DefinitionError, ValueTypeError
from tests.support.for_each import for_each

NAMES = (
    "x", "amount", "_", "é", "col", "abs", "class", "None", "import", "await", "match", "lambda",
    "two words", "a.b", "a'b", 'a"b', "a\\b", "a\nb", "a\0b", "", " x", "1x", "ﬁ", "µ", "x²", "sf",
    "__class__", "日本", "\U0001f600", "is_null(x)", "x + 1", "in", "True",
)  # fmt: skip
VALUES = (
    True, False, None, 0, 1, -1, 7, 2**63 - 1, -(2**63), 0.0, -0.0, 1.5, -2.5, 1e300, 5e-324,
    math.inf, -math.inf, math.nan, "", "a", "it's", 'a "b"', "a\nb", "\0", "\\", "{x}",
    "\U0001f600",
    b"", b"\xff\x00'", Decimal("0.10"), Decimal("-1E+5"), Decimal("NaN"), Decimal("-0"),
    Decimal("12345678901234567890.123456789012345678"),
    date(1, 1, 1), date(9999, 12, 31), datetime(2020, 2, 29, 1, 2, 3, 4), datetime(1, 1, 1),
    datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=-3.5))),
    datetime(2020, 7, 1, tzinfo=ZoneInfo("Europe/Berlin")), datetime(2020, 1, 1, fold=1),
    datetime(2020, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
    timedelta(0), timedelta(microseconds=-1), timedelta(days=3, microseconds=1),
    timedelta(days=200_000), timedelta(microseconds=2**63 - 1),
)  # fmt: skip
SUM: Any = sf.sum
ANY: Any = sf.any
TWO = tuple(SYMBOLS)
COMPARED = ("equal", "not_equal", "less", "at_most", "greater", "at_least")
ONE = ("negate", "not", "abs", "log", "is_null")
CASTS = ("int64", "float64", "bool", "string")


def random_tree(rng: random.Random, depth: int) -> Node:
    """Return a tree that some text may give."""
    if depth == 0:
        if rng.random() < 0.5:
            return Column(rng.choice(NAMES))
        return Literal(rng.choice(VALUES))
    kind = rng.random()
    if kind < 0.55:
        function = rng.choice(TWO)
        left, right = random_tree(rng, depth - 1), random_tree(rng, depth - 1)
        if function in COMPARED and _none(left, right):
            return Call("is_null", (left,))
        return Call(function, (left, right))
    if kind < 0.75:
        function = rng.choice(ONE)
        inner = random_tree(rng, depth - 1)
        if function == "negate" and _number(inner):
            return inner  # a text with a sign is a negative number
        return Call(function, (inner,))
    if kind < 0.83:
        return Call("fill_null", (random_tree(rng, depth - 1), random_tree(rng, depth - 1)))
    if kind < 0.9:
        return Call("cast", (random_tree(rng, depth - 1),), rng.choice(CASTS))
    some = [value for value in VALUES if value is not None]
    values = [Literal(rng.choice(some)) for _ in range(rng.randint(0, 4))]
    return Call("is_in", (random_tree(rng, depth - 1), *values))


def _none(*nodes: Node) -> bool:
    return any(isinstance(node, Literal) and node.value is None for node in nodes)


def _number(node: Node) -> bool:
    value = node.value if isinstance(node, Literal) else None
    return isinstance(value, int | float) and not isinstance(value, bool)


# ---- texts ---------------------------------------------------------------------------------------


def check_text(seed: int) -> None:
    rng = random.Random(seed)
    node = random_tree(rng, rng.randint(0, 5))
    text = node.text()
    assert "\n" not in text
    again = parse(text)
    assert again == node, text
    assert again.text() == text


@given(st.integers(0, 2**32))
def test_texts_give_the_tree_that_wrote_them(seed: int) -> None:
    for more in range(30):
        check_text(seed + more)


@pytest.mark.exhaustive
def test_many_texts_give_the_tree_that_wrote_them() -> None:
    for seed in range(50_000):
        check_text(seed)


@for_each("name", NAMES)
def test_any_name_can_be_written(name: str) -> None:
    assert parse(Column(name).text()) == Column(name)
    saved = sf.rolling(on="t", s=SUM(sf.col(name) * 2).over("1h")).to_dict()
    assert sf.Rolling.from_dict(saved).inputs == (name,)


@for_each("value", VALUES)
def test_any_constant_can_be_written(value: Any) -> None:
    assert parse(Literal(value).text()) == Literal(value)
    found = parse(Literal(value).text())
    assert isinstance(found, Literal)
    assert type(found.value) is type(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        assert found.value.timestamp() == value.timestamp()
    else:
        assert found.value == value or (found.value != found.value and value != value)


@for_each(
    "text, tree",
    [
        ("a+b*c", "a + b * c"),
        ("(a+b)*c", "(a + b) * c"),
        ("a-(b-c)", "a - (b - c)"),
        ("a-b-c", "a - b - c"),
        ("a/(b*c)", "a / (b * c)"),
        ("-a*b", "-a * b"),
        ("-(a*b)", "-(a * b)"),
        ("a and b or c", "a and b or c"),
        ("a and (b or c)", "a and (b or c)"),
        ("a & b | ~c", "a and b or not c"),
        ("not (a and b)", "not (a and b)"),
        ("not a == b", "not a == b"),
        ("(not a) == b", "(not a) == b"),
        ("a < b < c", "a < b and b < c"),
        ("(a < b) < c", "(a < b) < c"),
        ("x is not None", "not is_null(x)"),
        ("x not in (1, 'a')", "not x in [1, 'a']"),
        ("x in ()", "x in []"),
        ("+x", "x"),
        ("- - 3", "3"),
        ("-(3)", "-3"),
        ("a * -1", "a * (-1)"),
        ("a - -1", "a - -1"),
        ("  x\n", "x"),
        ("(x\n+ 1)", "x + 1"),
        ("x + 1  # note", "x + 1"),
        ("1_000 * 0x10", "1000 * 16"),
        ("'a' 'b' == s", "'ab' == s"),
        ("col('class') > 1", "col('class') > 1"),
        ("duration('1h30m')", "duration('5400000000us')"),
        ("duration('-1s')", "duration('-1000000us')"),
    ],
)
def test_texts_bind_as_in_python(text: str, tree: str) -> None:
    assert parse(text).text() == tree
    assert parse(tree) == parse(text)


# ---- source code ---------------------------------------------------------------------------------

SOURCE = {"sf": sf, "datetime": datetimes, "Decimal": Decimal, "zoneinfo": zoneinfo}
PYTHON: dict[str, Any] = {
    "add": add, "subtract": sub, "multiply": mul, "divide": truediv, "floor_divide": floordiv,
    "modulo": mod, "equal": eq, "not_equal": ne, "less": lt, "at_most": le, "greater": gt,
    "at_least": ge, "and": and_, "or": or_,
}  # fmt: skip


def random_expression(rng: random.Random, depth: int) -> Expression:
    """Return an expression that a user may write."""
    if depth == 0:
        return sf.col(rng.choice(NAMES))
    inner: Any = random_expression(rng, depth - 1)
    kind = rng.random()
    if kind < 0.55:
        some = [value for value in VALUES if value is not None]
        more: Any = rng.choice(some)
        if rng.random() < 0.6:
            more = random_expression(rng, depth - 1)
        both = (inner, more) if rng.random() < 0.5 else (more, inner)
        function = rng.choice(TWO)
        try:
            return PYTHON[function](*both)  # type: ignore[no-any-return]
        except TypeError:  # "text" % expression formats
            return inner  # type: ignore[no-any-return]
    if kind < 0.75:
        one: Any = {
            "negate": lambda: -inner,
            "not": lambda: ~inner,
            "abs": inner.abs,
            "log": inner.log,
            "is_null": inner.is_null,
        }[rng.choice(ONE)]
        return one()  # type: ignore[no-any-return]
    if kind < 0.83:
        return inner.fill_null(rng.choice(VALUES))  # type: ignore[no-any-return]
    if kind < 0.9:
        return inner.cast(rng.choice(CASTS))  # type: ignore[no-any-return]
    values = [value for value in rng.sample(VALUES, rng.randint(0, 4)) if value is not None]
    return inner.is_in(values)  # type: ignore[no-any-return]


def check_source(seed: int) -> None:
    rng = random.Random(seed)
    found = random_expression(rng, rng.randint(0, 5))
    if not isinstance(found, Expression):
        return
    again = eval(repr(found), dict(SOURCE))
    assert again.node == found.node, repr(found)
    assert parse(found.node.text()) == found.node


@given(st.integers(0, 2**32))
def test_source_gives_the_expression_that_wrote_it(seed: int) -> None:
    for more in range(30):
        check_source(seed + more)


@pytest.mark.exhaustive
def test_much_source_gives_the_expression_that_wrote_it() -> None:
    for seed in range(50_000):
        check_source(seed)


@for_each(
    "expr",
    ["x + (1 + 2)", "5 < x", "x > 24 * 3600", "w == 3", "w != 'a'", "3 == w", "w == v", "v != w",
     "(w - v) == 0", "not w", "x == w", "w == x", "-w", "w in [1]", "fill_null(w, 0)", "w < v"],
)  # fmt: skip
def test_source_of_an_expression_from_a_file_can_be_read(expr: str) -> None:
    windows = {
        "w": {"operator": "max", "columns": "x", "over": "1h"},
        "v": {"operator": "min", "columns": "x", "over": "1h"},
    }
    column = {"expr": expr, "windows": windows}
    definition = sf.Rolling.from_dict({"on": "t", "columns": {"a": column}})
    again = eval(repr(definition), dict(SOURCE))
    assert isinstance(again, sf.Rolling)
    assert set(again.windows) == set(definition.windows)
    assert sf.Rolling.from_dict(definition.to_dict()) == definition


def test_long_lists_of_constants_survive() -> None:
    many = sf.count().where(sf.col("id").is_in(range(5000))).over("1h")
    definition = sf.rolling(on="t", n=many)
    assert sf.Rolling.from_dict(definition.to_dict()) == definition
    assert eval(repr(definition), dict(SOURCE)) == definition


def test_what_a_file_could_not_hold_is_refused_at_once() -> None:
    huge = sf.col("id").is_in(range(LONGEST))
    for make in (
        lambda: sf.count().where(huge),
        lambda: ANY(huge),
        lambda: sf.rolling(on="t", n=sf.count().over("1h"), is_one=huge),
        lambda: parse(huge.node.text()),
    ):
        with pytest.raises(DefinitionError, match="more than 100,000 characters"):
            make()


# ---- limits -------------------------------------------------------------------------------------


@for_each("symbol", ["==", "!=", "<", "<=", ">", ">="])
def test_a_comparison_with_none_is_refused(symbol: str) -> None:
    for text in (f"x {symbol} None", f"None {symbol} x"):
        with pytest.raises(DefinitionError, match="compares with None, which is always null"):
            parse(text)
        with pytest.raises(ValueTypeError, match=r"use is_null\(\)"):
            eval(text, {"x": sf.col("x")})


def test_depth_is_the_same_in_python_and_in_files() -> None:
    found = sf.col("x")
    for _ in range(DEEPEST - 1):
        found = found + 1
    assert parse(found.node.text()) == found.node
    with pytest.raises(DefinitionError, match=f"more than {DEEPEST} deep"):
        found + 1
    inner = sf.col("x")
    for _ in range(DEEPEST - 1):
        inner = ~inner
    assert parse(inner.node.text()) == inner.node
