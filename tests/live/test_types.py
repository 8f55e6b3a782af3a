"""Columns of every type in order of arrival: equal to a run over all rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import SlidefoldError, ValueTypeError
from slidefold.live import Live
from slidefold.live.equality import same
from tests.support.for_each import for_each

ROWS = 60
LONG = pytest.mark.exhaustive


def decimals(kind: Any) -> Callable[[int], Any]:
    step = Decimal(1).scaleb(-kind.scale)
    return lambda i: step * (i * 10 ** min(kind.precision - 3, 36) + i)


def nested(i: int) -> Any:
    return {"a": [None if j % 3 == 2 else j for j in range(i % 4)], "b": f"b{i}" if i else None}


# Types that have no words of their own in the engine, with a value for a number.
KINDS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "wide decimal": (pa.decimal128(30, 4), decimals(pa.decimal128(30, 4))),
    "wider decimal": (pa.decimal256(60, 10), decimals(pa.decimal256(60, 10))),
    "negative scale": (pa.decimal128(12, -2), lambda i: Decimal(100 * i)),
    "narrow decimal": (pa.decimal128(9, 2), lambda i: Decimal(i) / 4),
    "decimal of 17 digits": (pa.decimal128(17, 2), decimals(pa.decimal128(17, 2))),
    "decimal of 18 digits": (pa.decimal128(18, 2), decimals(pa.decimal128(18, 2))),
    "decimal of 19 digits": (pa.decimal128(19, 2), decimals(pa.decimal128(19, 2))),
    "list": (pa.list_(pa.int64()), lambda i: [i, None] * (i % 3)),
    "large list": (pa.large_list(pa.string()), lambda i: [str(i)] * (i % 3)),
    "fixed list": (pa.list_(pa.float32(), 2), lambda i: [i / 2, None]),
    "struct": (pa.struct({"a": pa.list_(pa.int16()), "b": pa.string()}), nested),
    "map": (pa.map_(pa.string(), pa.bool_()), lambda i: [(str(j), i > j) for j in range(i % 3)]),
    "null": (pa.null(), lambda i: None),
    "fixed bytes": (pa.binary(3), lambda i: i.to_bytes(3, "big", signed=True)),
    "interval": (pa.month_day_nano_interval(), lambda i: pa.MonthDayNano([i, -i, i])),
    "category": (pa.dictionary(pa.int8(), pa.string()), lambda i: f"c{i}"),
    "half": (pa.float16(), lambda i: np.float16(i / 2)),
    "uuid": (pa.uuid(), lambda i: i.to_bytes(16, "big", signed=True)),
}
WINDOWS: dict[str, Any] = {
    "time": sf.time(12),
    "rows": sf.rows(4),
    "session": sf.session(3),
}
# Each takes one column of the type under test.
OPERATORS: dict[str, Callable[..., Any]] = {
    "approx_distinct": sf.approx_distinct,
    "collect": sf.collect,
    "collect_distinct": sf.collect_distinct,
    "count": sf.count,
    "distinct": sf.distinct,
    "entropy": sf.entropy,
    "first": sf.first,
    "last": sf.last,
    "max": sf.max,
    "max_by": lambda name: sf.max_by(name, "n"),
    "max_count": sf.max_count,
    "mean": sf.mean,
    "median": sf.median,
    "min by it": lambda name: sf.min_by("n", name),
    "mode": sf.mode,
    "most_frequent": lambda name: sf.most_frequent(name, k=2),
    "nth": lambda name: sf.nth(name, 2),
    "last with nulls": lambda name: sf.last(name, nulls="keep"),
    "lowest": lambda name: sf.quantile(name, 0.3, interpolation="lower"),
    "range": sf.range,
    "rank": sf.rank,
    "std": sf.std,
    "sum": sf.sum,
    "top_k": lambda name: sf.top_k(name, 2),
    "last per n": lambda name: sf.last(name).per("n"),
    "count per it": lambda name: sf.count("n").per(name),
    "covariance": lambda name: sf.covariance(name, "n"),
}


def table_of(kind: Any, value: Callable[[int], Any], seed: int) -> Any:
    random = np.random.default_rng(seed)
    numbers = random.integers(-6, 7, ROWS)
    values = [None if random.random() < 0.15 else value(int(i)) for i in numbers]
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))
    else:
        column = pa.array(values, kind)
    return pa.table(
        {
            "t": np.sort(random.integers(0, 90, ROWS)),
            "k": pa.array(random.choice(["a", "b"], ROWS)),
            "n": random.integers(0, 4, ROWS),
            "x": column,
        }
    )


def fed(definition: Any, table: Any, emit: str, seed: int) -> Any:
    """Return what comes out of batches of a table, with the run saved in between."""
    random = np.random.default_rng(seed)
    late = np.argsort(table["t"].to_numpy() + random.integers(0, 8, len(table)), kind="stable")
    arrived = table.append_column("id", pa.array(range(len(table)))).take(pa.array(late))
    live = definition.live(lateness=8, emit=emit)
    found, at = [], 0
    while at < len(arrived):
        size = int(random.integers(1, 15))
        found.append(live.feed(arrived.slice(at, size)))
        live._engine.native.core.check()
        at += size
        if random.random() < 0.3:
            live = Live.from_bytes(live.to_bytes(), definition)
    found.append(live.finish())
    return pa.concat_tables(found, promote_options="permissive")


def accepted(definition: Any, table: Any) -> Any:
    """Return what a run gives, None if it refuses the type."""
    try:
        return definition.run(table)
    except ValueTypeError:
        return None


def equal(got: Any, expected: Any) -> bool:
    got, expected = got.combine_chunks(), expected.combine_chunks()
    if pa.types.is_floating(expected.type):
        a, b = (np.array(v.to_pylist(), np.float64) for v in (got, expected))
        size = np.nanmax(np.abs(b), initial=1.0)
        return bool(np.allclose(a, b, rtol=1e-9, atol=1e-9 * size, equal_nan=True))
    if pa.types.is_map(expected.type) or isinstance(expected.type, pa.BaseExtensionType):
        return bool(got.to_pylist() == expected.to_pylist())
    return bool(np.all(same(got, expected)))


def check(kind: str, operator: str, window: str) -> str:
    table = table_of(*KINDS[kind], seed=len(kind) + len(operator))
    made = OPERATORS[operator]("x").over(WINDOWS[window])
    definition = sf.rolling(on="t", by="k", order="input", r=made)
    expected = accepted(definition, table.append_column("id", pa.array(range(ROWS))))
    if expected is None:
        with pytest.raises(SlidefoldError):
            fed(definition, table, "final", 1)
        return ""
    # Rows of one time keep the order of arrival, so that they are compared one by one only where
    # arrival is the order of the input.
    once = table.append_column("id", pa.array(range(ROWS)))
    live = definition.live(lateness=0, emit="final")
    found = pa.concat_tables([live.feed(once), live.finish()]).sort_by("id")
    if found["r"].type != expected["r"].type or not equal(found["r"], expected["r"]):
        return f"{kind} {operator} {window}: {found['r'].to_pylist()} {expected['r'].to_pylist()}"
    distinct = table.set_column(0, "t", pa.array(np.arange(ROWS) * 2))
    expected = definition.run(distinct)
    for emit in ("final", "arrival"):
        got = fed(definition, distinct, emit, 5)
        if emit == "final":
            got = got.sort_by("id")
            if not equal(got["r"], expected["r"]):
                return f"{kind} {operator} {window} in batches"
        elif len(got) != ROWS:
            return f"{kind} {operator} {window} on arrival"
    return ""


@pytest.mark.parametrize(
    "window",
    ["time", *(pytest.param(w, marks=pytest.mark.exhaustive) for w in ("rows", "session"))],
)
@for_each("kind", KINDS)
def test_every_type_gives_what_a_run_gives(kind: str, window: str) -> None:
    wrong = [found for name in OPERATORS if (found := check(kind, name, window))]
    assert not wrong, "\n".join(wrong)


def test_a_users_operator_over_dates_decimals_and_structs() -> None:
    @sf.operator(commutative=False)
    class Latest(sf.Fold):
        """The largest day, with the decimal and the struct beside it."""

        @staticmethod
        def lift(given: Any) -> Any:
            assert [type(value) for value in given] == [date, Decimal, dict]
            return given

        @staticmethod
        def combine(older: Any, newer: Any) -> Any:
            return max(older, newer, key=lambda given: given[0])

        @staticmethod
        def lower(state: Any) -> str:
            return f"{state[0]} {state[1]} {state[2]['a']}"

    days = [date(2025, 1, 1) + timedelta(days=(7 * i) % 11) for i in range(ROWS)]
    table = pa.table(
        {
            "t": np.arange(ROWS),
            "d": days,
            "p": pa.array([Decimal(i) / 4 for i in range(ROWS)], pa.decimal128(30, 2)),
            "s": [{"a": i} for i in range(ROWS)],
        }
    )
    definition = sf.rolling(on="t", r=Latest("d", "p", "s").over(sf.time(6)))
    live = definition.live(lateness=0)
    found = [live.feed(table.slice(i, 9)) for i in range(0, ROWS, 9)]
    found.append(live.finish())
    whole = pa.concat_tables(found, promote_options="default")  # an empty table has no type
    assert whole["r"].to_pylist() == definition.run(table)["r"].to_pylist()
    assert "what it changes" in live.explain()


def test_more_than_64_keys() -> None:
    names = [f"k{i}" for i in range(70)]
    rows = 40
    random = np.random.default_rng(3)
    columns: dict[str, Any] = {"t": np.arange(rows), "x": random.integers(0, 9, rows)}
    for name in names:
        columns[name] = pa.array(np.zeros(rows, np.int64))
    for name in ("k1", "k65"):
        columns[name] = pa.array(random.integers(0, 2, rows), mask=random.random(rows) < 0.5)
    table = pa.table(columns)
    definition = sf.rolling(on="t", by=names, s=sf.sum("x").over(sf.time(9)))
    live = definition.live(lateness=0)
    found = [live.feed(table.slice(0, 17))]
    live = Live.from_bytes(live.to_bytes(), definition)
    found += [live.feed(table.slice(17)), live.finish()]
    expected = definition.run(table)
    assert pa.concat_tables(found).sort_by("t")["s"].to_pylist() == expected["s"].to_pylist()


def test_an_expression_beside_columns_of_other_types() -> None:
    table = table_of(*KINDS["struct"], seed=2).append_column(
        "price", pa.array([Decimal(i) / 4 for i in range(ROWS)], pa.decimal128(30, 2))
    )
    total = sf.sum("n").over(sf.time(9))
    definition = sf.rolling(
        on="t",
        by="k",
        last=sf.last("x").over(sf.time(9)),
        dear=sf.max("price").where(sf.col("n") > 1).over(sf.time(9)),
        share=sf.col("n") / total,
        order="input",
    )
    live = definition.live(lateness=0)
    found = pa.concat_tables([live.feed(table), live.finish()])
    expected = definition.run(table)
    order = [("t", "ascending"), ("price", "ascending")]
    for name in ("last", "dear", "share"):
        assert equal(found.sort_by(order)[name], expected.sort_by(order)[name]), name


def test_an_algorithm_is_for_batches() -> None:
    """Live engines keep one store per key whatever algorithm= says; results are the same."""
    table = table_of(*KINDS["narrow decimal"], seed=4)
    window = sf.time(9)
    definition = sf.rolling(on="t", by="k", s=sf.sum("n").over(window, algorithm="daba_lite"))
    live = definition.live(lateness=0)
    found = pa.concat_tables([live.feed(table), live.finish()])
    assert sorted(found["s"].to_pylist()) == sorted(definition.run(table)["s"].to_pylist())


def test_lifetime_windows_of_types_without_words() -> None:
    struct, wide = KINDS["struct"], KINDS["wide decimal"]
    table = table_of(*struct, seed=6).append_column("w", table_of(*wide, seed=6)["x"])
    columns = {
        "last": sf.last("x").over("lifetime"),
        "most": sf.max("w").over("lifetime"),
        "best": sf.max_by("x", "w").over("lifetime"),
    }
    definition = sf.rolling(on="t", by="k", columns=columns)
    table = table.set_column(0, "t", pa.array(np.arange(ROWS)))
    live = definition.live(lateness=3)
    found = []
    for at in range(0, ROWS, 11):
        found.append(live.feed(table.slice(at, 11)))
        live = Live.from_bytes(live.to_bytes(), definition)
    found.append(live.finish())
    expected = definition.run(table)
    for name in columns:
        got = pa.concat_tables(found).sort_by("t")[name]
        assert equal(got, expected[name]), name


def test_a_question_and_an_event_of_other_types() -> None:
    schema = pa.schema(
        {"t": pa.timestamp("us", "UTC"), "x": pa.list_(pa.int64()), "w": pa.decimal128(30, 2)}
    )
    definition = sf.rolling(
        on="t", last=sf.last("x").over("1h"), most=sf.max("w").over("1h"), n=sf.count().over("1h")
    )
    live = definition.live(lateness="0s", emit="arrival", schema=schema)
    start = datetime(2025, 1, 1, tzinfo=UTC)
    first = live.push({"t": start, "x": [1, None], "w": Decimal("1e20")})
    assert first == {"last": [1, None], "most": Decimal("1e20"), "n": 1}
    later = {"t": start + timedelta(minutes=1), "x": None, "w": Decimal("-1e20")}
    assert live.ask({"t": later["t"]}) == {"last": [1, None], "most": Decimal("1e20"), "n": 1}
    assert live.push(later) == {"last": [1, None], "most": Decimal("1e20"), "n": 2}
