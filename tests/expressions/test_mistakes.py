"""Wrong names, types and operators in expressions, and values that do not fit."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.algorithms import DabaLite, Fiba, KeyedWindows
from slidefold.columns.streaming import run_reader
from slidefold.errors import (
    ColumnError,
    DataError,
    DefinitionError,
    OperatorError,
    ResultOverflowError,
    SlidefoldError,
    ValueTypeError,
    WindowError,
)
from slidefold.live import Live
from tests.expressions.brute import exact
from tests.expressions.definitions import random_rows, random_window, table_of
from tests.support.for_each import for_each

W = sf.time(10)
COL: Any = sf.col
SUM: Any = sf.sum
MAX: Any = sf.max
RANK: Any = sf.rank
TABLE = pa.table(
    {
        "id": [0, 1, 2],
        "t": [1, 2, 3],
        "k": ["a", "b", "a"],
        "x": [1, 2, 3],
        "y": [1.0, None, 3.0],
        "s": ["a", "b", None],
        "p": [True, False, None],
        "list": [[1], [2], [3]],
    }
)


def rolling(**columns: Any) -> sf.Rolling:
    return sf.rolling(on="t", by="k", **columns)


WRONG_DATA: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a folded name": (
        lambda: rolling(a=SUM(sf.col("ammount") * 2).over(W)), ColumnError, "no column 'ammount'"),
    "a name in a condition": (
        lambda: rolling(a=sf.sum("x").where(sf.col("xx") > 2).over(W)), ColumnError,
        "no column 'xx'; did you mean 'x'?"),
    "a name in a formula": (
        lambda: rolling(a=sf.col("yy") / sf.sum("x").over(W)), ColumnError, "no column 'yy'"),
    "a name of a flag": (
        lambda: rolling(a=sf.count().where("q").over(W)), ColumnError, "no column 'q'"),
    "a text that is multiplied": (
        lambda: rolling(a=SUM(sf.col("s") * 2).over(W)), ValueTypeError, "'s * 2' takes numbers"),
    "a number as a condition": (
        lambda: rolling(a=sf.sum("x").where(sf.col("x") + 1).over(W)), ValueTypeError,
        "where takes a condition"),
    "a text as a flag": (
        lambda: rolling(a=sf.sum("x").where("s").over(W)), ValueTypeError, "takes a condition"),
    "a text against a number": (
        lambda: rolling(a=sf.count().where(sf.col("s") > 3).over(W)), ValueTypeError,
        "'s > 3' compares string and int64"),
    "a list in a formula": (
        lambda: rolling(a=sf.collect("x").over(W).is_null()), ValueTypeError, "of type list<"),
    "a struct in a formula": (
        lambda: rolling(a=sf.struct(n=sf.sum("x")).over(W) + 1), ValueTypeError, "struct<"),
    "an operator for numbers": (
        lambda: rolling(a=SUM(sf.col("x").cast("string")).over(W)), ValueTypeError, "sum"),
    "results of two types": (
        lambda: rolling(a=sf.max("s").over(W) - sf.max("x").over(W)), ValueTypeError, "numbers"),
    "a column of a clashing name": (
        lambda: rolling(x=sf.sum("y").over(W)), ColumnError, "has a column 'x' already"),
}  # fmt: skip


@for_each("case, wrong", WRONG_DATA.items())
def test_data_that_does_not_fit_gives_one_sentence(case: str, wrong: Any) -> None:
    make, error, words = wrong
    definition = make()
    live = definition.live(lateness=5)
    for run, data in (
        (definition.run, TABLE),
        (definition.run, TABLE.to_reader()),
        (definition.run, TABLE.slice(0, 0)),
        (live.feed, TABLE),
    ):
        with pytest.raises(error) as caught:
            run(data)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
    assert live.pending == 0


WRONG_DEFINITIONS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a condition behind a window": (
        lambda: sf.count().over(W).where("p"), OperatorError,
        "sf.count().over(sf.time(10)) has a window already: use .where before .over"),
    "a category behind a window": (
        lambda: sf.count().over(W).per("s"), OperatorError, "use .per before .over"),
    "two windows": (
        lambda: sf.count().over(W).over(W), OperatorError, "already, so it takes no .over"),
    "a window of lag": (
        lambda: sf.lag("x").over(W), OperatorError, "lag('x') has a window already"),
    "a constant condition": (lambda: SUM("x").where(True), ValueTypeError, "got True"),
    "a number as a name": (lambda: COL(3), ValueTypeError, "must be a string, got 3"),
    "a result as a condition": (
        lambda: sf.sum("x").where(sf.sum("x").over(W) > 1), DefinitionError, "folded again"),
    "a result that is folded": (
        lambda: SUM(sf.sum("x").over(W)), DefinitionError, "cannot be folded again"),
    "a formula that is folded": (
        lambda: SUM(sf.sum("x").over(W) + 1), DefinitionError, "cannot be folded again"),
    "an operator without a window": (
        lambda: sf.col("x") + sf.sum("x"), DefinitionError, "needs a window: add .over"),
    "a column that refers to itself": (
        lambda: rolling(a=sf.col("a") + sf.sum("x").over(W)), DefinitionError, "a -> a"),
    "two columns that refer to one another": (
        lambda: rolling(a=sf.col("b") + 1, b=sf.col("a") + 1), DefinitionError, "a -> b -> a"),
    "an expression as a truth": (
        lambda: (sf.col("x") > 1) and (sf.col("y") > 1), ValueTypeError, "& | ~"),
    "an expression in a list": (
        lambda: sf.col("x") in [1, 2], ValueTypeError, "no truth value"),
    "a chain": (lambda: 0 < sf.col("x") < 3, ValueTypeError, "no truth value"),
    "a wrong cast": (lambda: sf.col("x").cast("int"), ValueTypeError, "did you mean 'int64'"),
    "is_in of a text": (lambda: sf.col("s").is_in("abc"), ValueTypeError, "list of values"),
    "is_in of a column": (lambda: sf.col("s").is_in([sf.col("x")]), ValueTypeError, "constants"),
    "is_in of None": (lambda: sf.col("s").is_in([None]), ValueTypeError, "not None"),
    "a comparison with None": (lambda: sf.col("s") == None, ValueTypeError, "is_null"),  # noqa: E711
    "a bare column with every": (
        lambda: rolling(every=sf.time(5), a=sf.col("x") + sf.sum("x").over(W)),
        DefinitionError, "reads 'x' of a row, but with every= there is no row"),
    "a rank with every": (
        lambda: rolling(every=sf.time(5), a=sf.rank("x").over(W)), DefinitionError, "needs a row"),
    "a lag with every": (
        lambda: rolling(every=3, a=sf.lag("x")), DefinitionError, "needs a row"),
    "a struct of since_last": (
        lambda: sf.struct(a=sf.since_last()), OperatorError, "give it a column of its own"),
    "a lag of nothing": (lambda: sf.lag(None), DefinitionError, "needs a column"),
    "a lag of 0 rows": (lambda: sf.lag("x", 0), OperatorError, "n >= 1"),
    "a condition in a window": (
        lambda: sf.Window(sf.sum("x").where("p"), 3), OperatorError, "with sf.rolling"),
    "an expression in a window": (
        lambda: sf.Window(SUM(sf.col("x") * 2), 3), OperatorError, "with sf.rolling"),
    "a condition in a struct in a window": (
        lambda: sf.Window(sf.struct(n=sf.sum("x").where("p")), 3), OperatorError, "sf.rolling"),
    "a condition in an algorithm": (
        lambda: DabaLite(sf.sum("x").where("p")), OperatorError, "with sf.rolling"),
    "a condition in a tree": (
        lambda: Fiba(sf.sum("x").where("p")), OperatorError, "with sf.rolling"),
    "a condition in keyed windows": (
        lambda: KeyedWindows(sf.sum("x").where("p"), sf.time(3)), OperatorError, "sf.rolling"),
    "a rank in a window": (lambda: sf.Window(sf.rank(), 3), OperatorError, "with sf.rolling"),
    "since_last in a window": (
        lambda: sf.Window(sf.since_last(), 3), OperatorError, "with sf.rolling"),
    "decayed_count in a window": (
        lambda: sf.Window(sf.decayed_count(half_life=1), 3), OperatorError, "sf.rolling"),
    "a lag in a window": (lambda: sf.Window(sf.lag("x"), 3), OperatorError, "expected an operator"),  # type: ignore[arg-type]
    "a delay in keyed windows": (
        lambda: KeyedWindows(sf.sum(), sf.time(3, delay=1)), WindowError, "a time window"),
}  # fmt: skip


@for_each("case, wrong", WRONG_DEFINITIONS.items())
def test_definitions_that_make_no_sense_give_one_sentence(case: str, wrong: Any) -> None:
    make, error, words = wrong
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_name_of_an_expression_in_the_data_is_refused() -> None:
    definition = rolling(a=SUM(sf.col("x") * 2).over(W))
    table = TABLE.append_column("x * 2", TABLE["x"])
    with pytest.raises(ColumnError, match="column 'x \\* 2', which is an expression here"):
        definition.run(table)


def test_a_question_must_have_what_formulas_read() -> None:
    live = rolling(a=sf.col("x") - sf.mean("x").over(W), c=sf.change("y")).live(lateness=5)
    live.feed(TABLE)
    # The row before a question is the newest event of its key.
    assert live.ask({"k": "a", "x": 5, "y": 1.0}) == {"a": 3.0, "c": -2.0}
    with pytest.raises(ColumnError, match="must have the column 'x'"):
        live.ask({"k": "a", "y": 1.0})
    with pytest.raises(ColumnError, match="must have the column 'y'"):
        live.ask({"k": "a", "x": 5})


@for_each("ranked", ["x", sf.col("x") * 2])
def test_a_question_must_have_what_is_ranked(ranked: Any) -> None:
    live = rolling(r=RANK(ranked).over(W)).live(lateness=5)
    live.feed(TABLE)
    assert live.ask({"k": "a", "x": 2}) == {"r": 2.0}
    assert live.ask({"k": "a", "x": None}) == {"r": None}
    for asked in ({"k": "a"}, [{"k": "a"}], pa.table({"k": ["a"]})):
        with pytest.raises(ColumnError, match="must have the column 'x'"):
            live.ask(asked)


# ---- values that do not fit ----------------------------------------------------------------------

BIG = 2**62
SCHEMA = pa.schema({"id": pa.int64(), "t": pa.int64(), "k": pa.string(), "x": pa.int64()})
OVERFLOWS: dict[str, dict[str, Any]] = {
    "what is folded": {"a": MAX(sf.col("x") * 4).over(W), "n": sf.count().over(W)},
    "a condition": {"a": sf.max("x").where(sf.col("x") * 4 > 0).over(W)},
    "a result": {"a": sf.max("x").over(W) * 4, "n": sf.count().over(W)},
    "a row": {"a": sf.col("x") * 4 + sf.count().over(W)},
    "a rank": {"a": RANK(sf.col("x") * 4).over(W)},
    "a lifetime": {"a": MAX(sf.col("x") * 4).over("lifetime")},
}
EMITS = ("final", "arrival", "revise", "change", "every final", "every revise", "every change")


def events(*rows: tuple[int, int, str, int]) -> Any:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


@for_each("case", OVERFLOWS)
def test_overflow_names_the_row_of_the_table(case: str) -> None:
    rows = [(i, 50 - i, "ab"[i % 2], BIG if i == 30 else 1) for i in range(50)]
    definition = rolling(**OVERFLOWS[case])
    first = 30 if case != "a result" else 22  # the first row whose window holds it
    with pytest.raises(ResultOverflowError, match=rf"does not fit .* at row {first}$"):
        definition.run(events(*rows))


@for_each("case", OVERFLOWS)
def test_overflow_names_the_row_of_the_reader(case: str) -> None:
    rows = [(i, i, "ab"[i % 2], BIG if i == 77 else 1) for i in range(100)]
    reader = events(*rows).to_reader(max_chunksize=9)
    with pytest.raises(ResultOverflowError, match=r"does not fit .* at row 77$"):
        run_reader(rolling(**OVERFLOWS[case]), reader, chunk=20).read_all()


@pytest.mark.parametrize("emit", EMITS)
@for_each("case", OVERFLOWS)
def test_a_batch_that_overflows_changes_nothing(emit: str, case: str) -> None:
    every = {"every": sf.time(5)} if emit.startswith("every") else {}
    if every and case in ("a row", "a rank", "a lifetime"):
        return
    named: Any = {"id": "id"} if emit == "revise" else {}
    definition = rolling(**OVERFLOWS[case], **every)
    live = definition.live(lateness=2, emit=emit.removeprefix("every "), **named)
    live.feed(events((0, 1, "a", 1), (1, 2, "b", 2)))
    live.feed(events((2, 3, "a", 5)))
    before = live.to_bytes()
    place = r"does not fit .* at (row \d+|(t|window_end)=\d+, k='\w')$"
    with pytest.raises(ResultOverflowError, match=place):
        live.feed(events((3, 4, "c", 7), (4, 5, "a", BIG), (5, 30, "b", 1)))
    assert live.to_bytes() == before
    other = Live.from_bytes(before)
    more = events((6, 4, "d", 7), (7, 40, "a", 3))
    assert live.feed(more).equals(other.feed(more))
    assert live.to_bytes() == other.to_bytes()


@for_each("case", OVERFLOWS)
def test_an_event_or_a_question_that_overflows_changes_nothing(case: str) -> None:
    live = rolling(**OVERFLOWS[case]).live(lateness=2, emit="arrival")
    live.feed(events((0, 1, "a", 1), (1, 2, "b", 2)))
    before = live.to_bytes()
    row = {"id": 9, "t": 3, "k": "c", "x": BIG}
    with pytest.raises(ResultOverflowError):
        live.push(row)
    with pytest.raises(ResultOverflowError):
        live.ask(row, include=True)
    assert live.to_bytes() == before
    assert live.push({**row, "x": 1})["a"] is not None


# ---- where ---------------------------------------------------------------------------------------


def check_where(seed: int) -> None:
    """A condition leaves rows out of a fold, and never moves a window."""
    rng = random.Random(seed)
    rows = random_rows(rng, 30)
    window = random_window(rng, "time rows session delta mark")
    condition = rng.choice([sf.col("p"), sf.col("x") > 0, ~sf.col("p"), sf.col("s").is_null()])
    definition = sf.rolling(
        on="t",
        by="k",
        order="id",
        all=sf.collect("id").over(window),
        some=sf.collect("id").where(condition).over(window),
        kept=sf.collect("x", nulls="keep").where(condition).over(window),
        whole=sf.collect("x", nulls="keep").over(window),
        true=SUM(condition.cast("int64")).over(window),
        n=sf.count().where(condition).over(window),
        least=sf.count().where(condition).over(window, min_count=2),
    )
    table = table_of(rows)
    passes = sf.rolling(on="t", truth=condition).run(table)["truth"].to_pylist()
    live = definition.live(lateness=100)
    parts = [live.feed(table.slice(0, 9)), live.feed(table.slice(9)), live.finish()]
    for found in (definition.run(table), pa.concat_tables(parts)):
        for row in found.to_pylist():
            held = row["all"] or []
            chosen = [i for i in held if passes[i]]
            assert exact(row["some"], chosen or None)
            assert exact(row["kept"], [rows[i]["x"] for i in chosen] or None)
            assert exact(row["whole"], [rows[i]["x"] for i in held] or None)
            assert row["n"] == len(chosen)
            assert row["least"] == (len(chosen) if len(chosen) > 1 else None)
            assert (row["true"] or 0) == len(chosen)


@given(st.integers(0, 2**32))
def test_a_condition_never_moves_a_window(seed: int) -> None:
    for more in range(4):
        check_where(seed + more)


@pytest.mark.exhaustive
def test_no_condition_ever_moves_a_window() -> None:
    for seed in range(2000):
        check_where(seed)


OWN: dict[str, tuple[Any, list[Any]]] = {
    "int8": (pa.int8(), [-128, 127, None]),
    "uint8": (pa.uint8(), [255, 0, None]),
    "int32": (pa.int32(), [-(2**31), 5, None]),
    "uint64": (pa.uint64(), [2**64 - 1, 2**63, None]),
    "float32": (pa.float32(), [1.5, -0.25, None]),
    "float64": (pa.float64(), [1.5, -0.25, None]),
    "string": (pa.string(), ["a", "a text of many bytes", None]),
    "large_string": (pa.large_string(), ["a", "", None]),
    "binary": (pa.binary(), [b"a", b"\xff", None]),
    "bool": (pa.bool_(), [True, False, None]),
    "date": (pa.date32(), [date(2020, 1, 1), date(1900, 1, 1), None]),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.25"), Decimal("-3.00"), None]),
    "long decimal": (pa.decimal128(38, 2), [Decimal("1.25"), Decimal(10**30), None]),
}


@for_each("name", OWN)
def test_a_condition_does_not_change_the_type_of_a_result(name: str) -> None:
    kind, values = OWN[name]
    table = pa.table({"t": [1, 2, 3], "v": pa.array(values, kind), "p": [True, True, False]})
    names = ("last", "first", "count", "collect")
    plain = {one: getattr(sf, one)("v").over(3) for one in names}
    filtered = {one: getattr(sf, one)("v").where("p").over(3) for one in names}
    since = {"since": sf.since_last("v").over(3)}
    expected = sf.rolling(on="t", columns={**plain, **since}).run(table)
    definition = sf.rolling(on="t", columns={**filtered, **since})
    live = definition.live(lateness=0)
    for found in (definition.run(table), pa.concat_tables([live.feed(table), live.finish()])):
        assert found.schema == expected.schema
        assert found.to_pylist() == expected.to_pylist()


def test_conditions_add_up() -> None:
    twice = sf.count().where("p").where(sf.col("x") > 1).over(W)
    once = sf.count().where(sf.col("p") & (sf.col("x") > 1)).over(W)
    assert twice == once
    assert rolling(n=twice).run(TABLE)["n"].to_pylist() == [0, 0, 0]


@for_each("given", [None, 3, [], {}, object()])
def test_a_column_must_be_a_name_or_an_expression(given: Any) -> None:
    if given is None:
        return
    with pytest.raises(SlidefoldError, match="must be a name or an expression"):
        SUM(given)


def test_late_rows_raise_before_expressions_run() -> None:
    live = rolling(a=MAX(sf.col("x") * 4).over(W)).live(lateness=0, late="raise")
    live.feed(events((0, 10, "a", 1)))
    with pytest.raises(DataError, match="late"):
        live.feed(events((1, 3, "a", BIG)))


def test_windows_compared_as_definitions_are_refused_in_expressions() -> None:
    a, b = sf.max("x").over("1h"), sf.max("y").over("1h")
    assert a != b
    for compared in (a == b, a != b):
        with pytest.raises(DefinitionError, match=r"write \(a - b\) == 0"):
            sf.col("p") & compared
        with pytest.raises(DefinitionError, match=r"write \(a - b\) == 0"):
            compared | sf.col("p")


def test_results_appear_as_the_user_wrote_them() -> None:
    rows = pa.table({"t": [1], "s": ["a"], "x": [1.0]})
    ratio = sf.rolling(on="t", r=sf.col("s") / sf.mean("x").over(3) + sf.mean("x").over(3))
    with pytest.raises(ValueTypeError) as raised:
        ratio.run(rows)
    assert str(raised.value).startswith("\"s / mean('x').over(3)\" takes numbers, got string")
