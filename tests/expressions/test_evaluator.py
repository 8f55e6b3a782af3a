"""The native evaluator against the rules in plain Python, and against pyarrow."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.definition.expressions import Node, compile_expressions, parse
from slidefold.errors import ResultOverflowError, ValueTypeError
from tests.expressions.oracle import Oracle, Values, WrongTypeError
from tests.expressions.trees import (
    BYTES,
    INTEGERS,
    KINDS,
    REALS,
    TEXTS,
    TRUTHS,
    array,
    fitting,
    random_columns,
    raws,
    same,
    wild,
)
from tests.support.for_each import for_each

BLOCK = 2048
PLAIN = {
    "whole": {name: kind for name, kind in INTEGERS.items() if name != "dict_i"},
    "real": {name: kind for name, kind in REALS.items() if name != "f16"},
    "text": {name: TEXTS[name] for name in ("s", "ls")},
    "bytes": {name: BYTES[name] for name in ("b", "lb")},
    "truth": TRUTHS,
}


def evaluated(node: Node | str, table: Any) -> Any:
    """Return what native code gives over a table."""
    tree = parse(node) if isinstance(node, str) else node
    kinds = dict(zip(table.schema.names, table.schema.types, strict=True))
    found = compile_expressions([("found", tree)], kinds).columns(table)["found"]
    found.validate(full=True)
    return found


def check(node: Node, table: Any, expected: Values, failed: set[int]) -> None:
    """Compare with what the rules give: type, values, and the row of an error."""
    if failed:
        with pytest.raises(ResultOverflowError) as caught:
            evaluated(node, table)
        assert caught.value.row in failed, node.text()
        assert str(caught.value).endswith(f" at row {caught.value.row}")
        assert "\n" not in str(caught.value)
        return
    found = evaluated(node, table)
    assert found.type == expected.kind, node.text()
    for row, (got, due) in enumerate(zip(raws(found), expected.values, strict=True)):
        assert same(got, due), f"{node.text()} at row {row}: {got!r} and not {due!r}"


def check_seed(seed: int, trees: int, depth: int = 4) -> None:
    rng = random.Random(seed)
    rows = rng.choice([0, 1, 7, 20])
    columns = random_columns(rng, rows)
    table = pa.table({name: array(column) for name, column in columns.items()})
    for _ in range(trees):
        check_one(rng, columns, table, depth)


def check_one(rng: random.Random, columns: dict[str, Values], table: Any, depth: int) -> None:
    node, expected, failed = fitting(rng, columns, len(table), rng.randint(0, depth))
    check(node, table, expected, failed)


@given(st.integers(0, 2**32))
def test_random_expressions_follow_the_rules(seed: int) -> None:
    check_seed(seed, 12)


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(0, 4000, 500))
def test_many_random_expressions_follow_the_rules(start: int) -> None:
    for seed in range(start, start + 500):
        check_seed(seed, 20, 6)


def check_types(seed: int) -> None:
    """Expressions whose types do not fit are refused, all others have the type of the rules."""
    rng = random.Random(seed)
    node = wild(rng, rng.randint(1, 3))
    oracle = Oracle({name: Values(kind, []) for name, kind in KINDS.items()}, 0)
    try:
        expected = oracle.output(node).kind
    except WrongTypeError:
        with pytest.raises(ValueTypeError) as caught:
            compile_expressions([("found", node)], KINDS)
        assert "\n" not in str(caught.value)
        assert node.text()[:20] in str(caught.value) or "'" in str(caught.value)
        return
    compiled = compile_expressions([("found", node)], KINDS)
    assert compiled.types["found"] == expected, node.text()
    compiled.columns(pa.table({name: pa.array([], kind) for name, kind in KINDS.items()}))


@given(st.integers(0, 2**32))
def test_types_fit_or_are_refused(seed: int) -> None:
    for more in range(20):
        check_types(seed + more)


@pytest.mark.exhaustive
def test_many_types_fit_or_are_refused() -> None:
    for seed in range(40_000):
        check_types(seed)


# ---- blocks, slices and chunks -------------------------------------------------------------------


@for_each("rows", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 1])
def test_blocks_of_rows(rows: int) -> None:
    rng = random.Random(rows)
    columns = random_columns(rng, rows, wild=0.0)
    table = pa.table({name: array(column) for name, column in columns.items()})
    for _ in range(6):
        check_one(rng, columns, table, 3)


@for_each("row", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK - 1])
def test_an_error_names_its_row_in_any_block(row: int) -> None:
    values: list[int | None] = [2**62 if i != row else None for i in range(3 * BLOCK)]
    table = pa.table({"x": pa.array([None if v else 2**62 for v in values], pa.int64())})
    with pytest.raises(ResultOverflowError, match=rf"^x \+ x does not fit .* at row {row}$"):
        evaluated("x + x", table)
    assert evaluated("x + 1", table).null_count == 3 * BLOCK - 1


@for_each("node", ["x * 2 + y", "fill_null(s, t)", "s < t", "cast(x, 'string')", "d + x", "p | q"])
def test_slices_and_chunks_are_read_where_they_begin(node: str) -> None:
    rng = random.Random(7)
    rows = 2 * BLOCK + 100
    table = pa.table(
        {
            "x": pa.array([rng.choice([None, 1, 2, 3]) for _ in range(rows)], pa.int32()),
            "y": pa.array([rng.choice([None, 0.5, -1.0]) for _ in range(rows)]),
            "s": pa.array(
                [rng.choice([None, "a", "a long text of more bytes"]) for _ in range(rows)]
            ),
            "t": pa.array([rng.choice([None, "b", ""]) for _ in range(rows)]).dictionary_encode(),
            "d": pa.array([rng.choice([None, Decimal("1.5")]) for _ in range(rows)]),
            "p": pa.array([rng.choice([None, True, False]) for _ in range(rows)]),
            "q": pa.array([rng.choice([None, True, False]) for _ in range(rows)]),
        }
    )
    whole = evaluated(node, table).to_pylist()
    for first, count in ((1, rows - 1), (7, BLOCK), (BLOCK - 1, 2), (rows, 0)):
        assert (
            evaluated(node, table.slice(first, count)).to_pylist() == whole[first : first + count]
        )
    cut = pa.concat_tables([table.slice(0, 5), table.slice(5, BLOCK), table.slice(BLOCK + 5)])
    assert evaluated(node, cut).to_pylist() == whole


def test_many_texts_made_in_many_blocks() -> None:
    rows = 5 * BLOCK + 3
    table = pa.table({"x": pa.array(range(10**15, 10**15 + rows))})
    found = evaluated("cast(x, 'string')", table).to_pylist()
    assert found == [str(10**15 + i) for i in range(rows)]
    assert pc.all(evaluated("cast(x, 'string') >= '1000000000000000'", table)).as_py()


# ---- one row -------------------------------------------------------------------------------------


def check_rows(seed: int, trees: int) -> None:
    """One row given as a dict gives what the columns give."""
    rng = random.Random(seed)
    rows = 8
    columns = random_columns(rng, rows)
    table = pa.table({name: array(column) for name, column in columns.items()})
    for _ in range(trees):
        node, _, _ = fitting(rng, columns, rows, rng.randint(0, 4), groups=PLAIN)
        compiled = compile_expressions([("found", node)], KINDS)
        for row in range(rows):
            values = {name: column.values[row] for name, column in columns.items()}
            values = {name: value for name, value in values.items() if name in node.columns()}
            if rng.random() < 0.5:  # what is missing is null
                values = {name: value for name, value in values.items() if value is not None}
            due = _or_error(compiled.columns, table.slice(row, 1))
            due = due.to_pylist()[0] if isinstance(due, pa.Array) else due
            got = _or_error(compiled.evaluator.row, values)
            assert same(got, due), f"{node.text()} of {values}: {got!r} and not {due!r}"


def _or_error(evaluate: Callable[[Any], Any], given: Any) -> Any:
    try:
        return evaluate(given)["found"]
    except ResultOverflowError as error:
        return ("does not fit", error.sentence)


@given(st.integers(0, 2**32))
def test_one_row_gives_what_columns_give(seed: int) -> None:
    check_rows(seed, 6)


@pytest.mark.exhaustive
def test_one_row_gives_what_columns_give_at_length() -> None:
    for seed in range(600):
        check_rows(seed, 12)


def test_many_rows_one_by_one_do_not_keep_their_texts() -> None:
    kinds = {"x": pa.int64(), "s": pa.string()}
    nodes = [("text", parse("cast(x, 'string')")), ("later", parse("s > cast(x, 'string')"))]
    compiled = compile_expressions(nodes, kinds)
    for i in range(20_000):
        found = compiled.evaluator.row({"x": i, "s": f"a text that is made anew {i}"})
        assert found == {"text": str(i), "later": True}


@for_each(
    "kind, value",
    [
        (pa.int64(), "text"),
        (pa.int64(), 1.5),
        (pa.int64(), 2**63),
        (pa.int8(), 128),
        (pa.uint8(), -1),
        (pa.float64(), "1"),
        (pa.string(), b"bytes"),
        (pa.string(), 3),
        (pa.bool_(), "true"),
    ],
)
def test_a_row_with_a_wrong_value_is_refused(kind: Any, value: Any) -> None:
    compiled = compile_expressions([("found", parse("is_null(x)"))], {"x": kind})
    with pytest.raises((TypeError, ValueError, OverflowError)) as caught:
        compiled.evaluator.row({"x": value})
    assert "\n" not in str(caught.value)
    assert compiled.evaluator.row({"x": None}) == {"found": True}


# ---- against pyarrow -----------------------------------------------------------------------------


def numbers(seed: int, rows: int = 300) -> Any:
    """Return columns of numbers and texts with nulls, NaN and infinities."""
    rng = np.random.default_rng(seed)

    def holes() -> Any:
        return rng.random(rows) < 0.1

    odd = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -2.5, 1e300, 1e-300])
    words = np.array(["", "a", "b", "ab", "é", "zz"], dtype=object)
    return pa.table(
        {
            "i": pa.array(rng.integers(-1000, 1000, rows), mask=holes()),
            "j": pa.array(rng.integers(1, 9, rows).astype(np.int16), mask=holes()),
            "f": pa.array(rng.choice(odd, rows), mask=holes()),
            "g": pa.array(rng.normal(size=rows), mask=holes()),
            "s": pa.array(rng.choice(words, rows), pa.string(), mask=holes()),
            "u": pa.array(rng.choice(words, rows), pa.string(), mask=holes()),
            "p": pa.array(rng.random(rows) < 0.5, mask=holes()),
            "q": pa.array(rng.random(rows) < 0.5, mask=holes()),
            "t": pa.array(rng.integers(-(10**9), 10**9, rows), mask=holes()).cast(
                pa.timestamp("ms")
            ),
            "v": pa.array(rng.integers(-(10**6), 10**6, rows), mask=holes()).cast(
                pa.timestamp("s")
            ),
        }
    )


PYARROW: dict[str, Any] = {
    "i + j": lambda t: pc.add_checked(t["i"], t["j"]),
    "i - j": lambda t: pc.subtract_checked(t["i"], t["j"]),
    "i * j": lambda t: pc.multiply_checked(t["i"], t["j"]),
    "f + g": lambda t: pc.add(t["f"], t["g"]),
    "f - i": lambda t: pc.subtract(t["f"], t["i"]),
    "f * g": lambda t: pc.multiply(t["f"], t["g"]),
    "f / g": lambda t: pc.divide(t["f"], t["g"]),
    "g / f": lambda t: pc.divide(t["g"], t["f"]),
    "i / j": lambda t: pc.divide(t["i"].cast(pa.float64()), t["j"].cast(pa.float64())),
    "-i": lambda t: pc.negate_checked(t["i"]),
    "-f": lambda t: pc.negate(t["f"]),
    "abs(i)": lambda t: pc.abs_checked(t["i"]),
    "abs(f)": lambda t: pc.abs(t["f"]),
    "log(f)": lambda t: pc.ln(t["f"]),
    "log(j)": lambda t: pc.ln(t["j"].cast(pa.float64())),
    "f == g": lambda t: pc.equal(t["f"], t["g"]),
    "f != f": lambda t: pc.not_equal(t["f"], t["f"]),
    "f < 0.0": lambda t: pc.less(t["f"], 0.0),
    "f <= g": lambda t: pc.less_equal(t["f"], t["g"]),
    "i > j": lambda t: pc.greater(t["i"], t["j"]),
    "i >= f": lambda t: pc.greater_equal(t["i"], t["f"]),
    "s == u": lambda t: pc.equal(t["s"], t["u"]),
    "s < u": lambda t: pc.less(t["s"], t["u"]),
    "s >= 'b'": lambda t: pc.greater_equal(t["s"], "b"),
    "t < v": lambda t: pc.less(t["t"], t["v"]),
    "t - v": lambda t: pc.subtract(t["t"], t["v"]),
    "p and q": lambda t: pc.and_kleene(t["p"], t["q"]),
    "p or q": lambda t: pc.or_kleene(t["p"], t["q"]),
    "not p": lambda t: pc.invert(t["p"]),
    "p == q": lambda t: pc.equal(t["p"], t["q"]),
    "is_null(f)": lambda t: pc.is_null(t["f"]),
    "fill_null(i, 7)": lambda t: pc.fill_null(t["i"], 7),
    "fill_null(s, u)": lambda t: pc.coalesce(t["s"], t["u"]),
    "fill_null(f, g)": lambda t: pc.coalesce(t["f"], t["g"]),
    "cast(i, 'float64')": lambda t: t["i"].cast(pa.float64()),
    "cast(i, 'string')": lambda t: t["i"].cast(pa.string()),
    "cast(p, 'string')": lambda t: t["p"].cast(pa.string()),
    "cast(p, 'int64')": lambda t: t["p"].cast(pa.int64()),
    "cast(i, 'bool')": lambda t: t["i"].cast(pa.bool_()),
    "cast(t, 'int64')": lambda t: t["t"].cast(pa.int64()),
}


@for_each("text, function", PYARROW.items())
def test_pyarrow_gives_the_same(text: str, function: Any) -> None:
    table = numbers(3)
    found, expected = evaluated(text, table), function(table).combine_chunks()
    if pa.types.is_integer(expected.type):
        expected = expected.cast(pa.int64())
    assert found.type == expected.type
    for got, due in zip(raws(found), raws(expected), strict=True):
        near = isinstance(due, float) and text.startswith("log") and got == pytest.approx(due)
        assert near or same(got, due), f"{text}: {got!r} and not {due!r}"


@for_each("text, values", [("i", [1, 2, -7]), ("s", ["a", "zz", "no"]), ("f", [0.0, 1.5])])
def test_is_in_is_that_of_pyarrow(text: str, values: list[Any]) -> None:
    table = numbers(5)
    found = evaluated(sf.col(text).is_in(values).node, table)
    expected = pc.is_in(table[text], value_set=pa.array(values))
    missing = pc.is_null(table[text])
    expected = pc.if_else(missing, pa.scalar(None, pa.bool_()), expected).combine_chunks()
    # -0.0 equals 0.0 here; pyarrow compares bits.
    zero = pc.equal(table[text], 0.0).combine_chunks() if text == "f" else None
    if zero is not None:
        expected = pc.or_kleene(expected, zero)
    assert found.to_pylist() == expected.to_pylist()


def test_registers_grow_with_the_rows() -> None:
    """One evaluator takes single rows, then ever larger tables, and single rows again."""
    kinds = {"x": pa.float64(), "d": pa.decimal128(30, 2)}
    ten = sf.col("d") + Decimal("10.5")
    made = [("r", sf.col("x") / 4 - 1), ("ten", ten), ("one", sf.col("x").fill_null(2.5))]
    compiled = compile_expressions([(name, each.node) for name, each in made], kinds)
    for rows in (1, 3, 1, 2_047, 2_049, 10_000, 2):
        xs = [None if i % 7 == 3 else float(i) for i in range(rows)]
        ds = [Decimal(i) for i in range(rows)]
        table = pa.table({"x": pa.array(xs, kinds["x"]), "d": pa.array(ds, kinds["d"])})
        found = compiled.columns(table)
        assert found["r"].to_pylist() == [None if x is None else x / 4 - 1 for x in xs]
        assert found["ten"].to_pylist() == [d + Decimal("10.5") for d in ds]
        assert found["one"].to_pylist() == [2.5 if x is None else x for x in xs]
        row = compiled.evaluator.row({"x": 8.0})
        assert row == {"r": 1.0, "ten": None, "one": 8.0}
