"""Every type, event by event: values come back as they were, in their own order."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext
from typing import Any

import pytest

import slidefold as sf
from slidefold.algorithms import DabaLite, Fiba, KeyedWindows, SlickDeque
from slidefold.definition.operators import BUILT_IN
from slidefold.errors import OperatorError, ResultOverflowError, ValueTypeError
from tests.support.unchanged import refused, unchanged

EAST = timezone(timedelta(hours=5, minutes=30))
# Values of each type in rising order, the extremes of the type among them, and wrong ones.
TYPES: dict[str, tuple[list[Any], list[Any]]] = {
    "bool": ([False, True], [1, "x"]),
    "int8": ([-128, -1, 0, 127], [128, -129, 1.5, "x"]),
    "uint16": ([0, 1, 65535], [-1, 65536, None.__class__]),
    "uint32": ([0, 7, 2**32 - 1], [2**32, 0.5]),
    "uint64": ([0, 1, 2**63 - 1, 2**63, 2**64 - 1], [-1, 2**64, 1.5, "x"]),
    "float32": ([-(2.0**100), -0.5, 0.0, 0.25, 3.0], ["x", b"x"]),
    "decimal(18, 3)": (
        [Decimal("-999999999999999.999"), Decimal("-0.001"), Decimal("0.000"), Decimal("2.500")],
        [Decimal("0.0001"), Decimal(10**15), Decimal("NaN"), Decimal("Infinity"), 0.5, True],
    ),
    "decimal(38, 4)": (
        [Decimal(f"{sign}9999999999999999999999999999999999.9999") for sign in ("-", "")],
        [Decimal("0.00001"), Decimal(10**34), Decimal("NaN"), 0.5, True],
    ),
    "date": (
        [date.min, date(1969, 12, 31), date(2024, 2, 29), date.max],
        [datetime(2024, 1, 1), 3],
    ),
    "timestamp": (
        [
            datetime.min,
            datetime(1969, 12, 31, 23, 59, 59, 999999),
            datetime(2024, 2, 29),
            datetime.max,
        ],
        [datetime(2024, 1, 1, tzinfo=UTC), date(2024, 1, 1), 5],
    ),
    "timestamp[UTC]": (
        [datetime(1600, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 3, tzinfo=UTC)],
        [datetime(2024, 1, 1), "2024"],
    ),
    "duration": (
        [
            timedelta(days=-9),
            timedelta(microseconds=-1),
            timedelta(0),
            timedelta(days=3, microseconds=7),
        ],
        [3, timedelta.max, "1h"],
    ),
    "str": (["", "a", "aa", "b", "\u00e9", "\U0001f600"], [b"x", 3]),
    "binary": ([b"", b"\x00", b"a", b"a\x00", b"\x7f", b"\x80", b"\xff"], ["x", 3]),
}
PICKING = ("min", "max", "first", "last", "nth", "collect", "collect_distinct", "top_k", "m4")


@pytest.mark.parametrize("dtype", TYPES)
def test_values_come_back(dtype: str) -> None:
    """Against plain Python over random windows, with nulls; saved on the way."""
    ordered, _ = TYPES[dtype]
    rng = random.Random(dtype)
    values = [rng.choice([*ordered, None]) for _ in range(60)]
    make: Any = BUILT_IN
    windows = {name: sf.Window(make[name](dtype=dtype), sf.rows(5)) for name in PICKING}
    for step, value in enumerate(values):
        held = [v for v in values[max(0, step - 4) : step + 1] if v is not None]
        due = {
            "min": min(held, default=None),
            "max": max(held, default=None),
            "first": held[0] if held else None,
            "last": held[-1] if held else None,
            "nth": held[-1] if held else None,
            "collect": held or None,
            "collect_distinct": list(dict.fromkeys(held)) or None,
            "top_k": sorted(held, reverse=True)[:10] or None,
            "m4": (held[0], held[-1], min(held), max(held)) if held else None,
        }
        for name, window in windows.items():
            found = window.push(value)
            assert found == due[name], name
            assert repr(found) == repr(due[name]), name  # the very type, digits and zone
        if step % 20 == 7:
            windows = {name: sf.Window.from_bytes(w.to_bytes()) for name, w in windows.items()}
            for window in windows.values():
                window.check()


@pytest.mark.parametrize("dtype", TYPES)
def test_compared_beside_another(dtype: str) -> None:
    """max_by and min_by with keys and arguments of the type, ties to the older; the counts."""
    ordered, _ = TYPES[dtype]
    rows = [*enumerate(ordered), *enumerate(ordered, 100)]
    most = sf.Window(sf.max_by(dtype="int64", key_dtype=dtype), sf.rows(99))
    least = sf.Window(sf.min_by(dtype="int64", key_dtype=dtype), sf.rows(99))
    picked = sf.Window(sf.max_by(dtype=dtype, key_dtype="int64"), sf.rows(99))
    counts = [sf.Window(op(dtype=dtype), sf.rows(99)) for op in (sf.max_count, sf.min_count)]
    distinct = sf.Window(sf.approx_distinct(dtype=dtype), sf.rows(99))
    for number, value in rows:
        found = (
            most.push((number, value)),
            least.push((number, value)),
            picked.push((value, number)),
        )
        counted = [window.push(value) for window in counts]
        last = distinct.push(value)
    assert found == (len(ordered) - 1, 0, ordered[-1])
    assert counted == [2, 2]
    assert last == len(ordered)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_laws_hold_for_every_type(dtype: str) -> None:
    make: Any = BUILT_IN
    values = TYPES[dtype][0]
    for name in (*PICKING, "max_count", "min_count", "approx_distinct"):
        report = sf.check(make[name](dtype=dtype), values, examples=20)
        assert "combine is associative" in report.laws, name
        assert "identity is neutral" in report.laws, name
    report = sf.check(
        sf.min_by(dtype=dtype, key_dtype=dtype), [(v, v) for v in values], examples=20
    )
    assert "combine returns what newer_wins says" in report.laws


@pytest.mark.parametrize("dtype", TYPES)
def test_wrong_values_are_refused(dtype: str) -> None:
    ordered, wrong = TYPES[dtype]
    for operator in (sf.max(dtype=dtype), sf.collect(dtype=dtype)):
        window = sf.Window(operator, sf.rows(3))
        window.push(ordered[0])
        for value in wrong:
            with unchanged(window), refused(ValueTypeError, "expected ", ", got"):
                window.push(value)


def test_differences_and_sums() -> None:
    def last(operator: Any, *values: Any) -> Any:
        window = sf.Window(operator, sf.rows(20))
        return [window.push(value) for value in values][-1]

    day = timedelta(days=1)
    assert last(sf.range(dtype="date"), date(2024, 3, 1), date(2024, 2, 28)) == 2 * day
    ends = datetime.min, datetime.max
    assert last(sf.range(dtype="timestamp"), *ends) == ends[1] - ends[0]
    assert last(sf.sum(dtype="duration"), day, -3 * day) == -2 * day
    assert last(sf.mean(dtype="duration"), day, 2 * day) == 1.5 * day
    assert last(sf.median(dtype="date"), date(2024, 1, 1), date(2024, 1, 4)) == date(2024, 1, 2)
    east = [datetime(2024, 1, d, tzinfo=EAST) for d in (1, 2)]
    assert last(sf.median(dtype="timestamp[UTC]"), *east) == east[0] + day / 2
    cents = [Decimal("0.10")] * 3
    with localcontext() as context:
        context.prec = 1  # the result has all of its digits in any context
        total = last(sf.sum(dtype="decimal(10,2)"), *cents, Decimal("12345678.01"))
    assert repr(total) == "Decimal('12345678.31')"
    assert last(sf.range(dtype="decimal(4, 2)"), Decimal("-1.5"), 2) == Decimal("3.50")
    big = Decimal(9 * 10**17)
    with pytest.raises(ResultOverflowError):
        last(sf.sum(dtype="decimal(18, 0)"), *[big] * 11)
    assert last(sf.sum(dtype="bool"), True, True, False) == 2
    assert last(sf.mean(dtype="uint64"), 2**64 - 1, 1) == 2.0**63
    assert last(sf.sum(dtype="float32"), 0.1) == 0.10000000149011612


def test_pairs_of_numbers() -> None:
    """Each column has a type of its own; decimals are taken as floats."""
    rows = [(1, 2.0), (3, 2.5), (2, 7.25), (-5, 1.0)]
    for make in (sf.covariance, sf.correlation, sf.trend):
        plain = sf.Window(make(), sf.rows(3))
        narrow = sf.Window(make(dtype="int8", key_dtype="float32"), sf.rows(3))
        exact = sf.Window(make(dtype="decimal(4, 1)", key_dtype="decimal(9, 3)"), sf.rows(3))
        for x, y in rows:
            due = plain.push((x, y))
            assert narrow.push((x, y)) == (due if due is None else pytest.approx(due, rel=1e-12))
            assert exact.push((Decimal(x), Decimal(y))) == due
        with unchanged(narrow), refused(ValueTypeError, "from -128 to 127"):
            narrow.push((300, 1.0))
        with unchanged(narrow), refused(ValueTypeError, "pair"):
            narrow.push(3)
    some = sf.Window(sf.any(dtype="uint8"), sf.rows(2))
    assert [some.push(x) for x in (0, 3, 0, 0)] == [False, True, True, False]


def test_spreads_of_large_integers_keep_their_digits() -> None:
    """Near 2**64, where a float counts in steps of 2048."""
    window = sf.Window(sf.std(dtype="uint64", ddof=0), sf.rows(2))
    assert [window.push(x) for x in (2**64 - 1, 2**64 - 3, 2**64 - 3)] == [0.0, 1.0, 0.0]
    pairs = sf.Window(sf.covariance(dtype="uint64", key_dtype="int64", ddof=0), sf.rows(2))
    pairs.push((2**64 - 1, 2**63 - 1))
    assert pairs.push((2**64 - 3, 2**63 - 3)) == 1.0


def test_beside_times() -> None:
    """Times count in seconds, whatever they travel as."""
    start = datetime(2024, 1, 1)
    rows = [(1.0, 0), (3.0, 600), (7.0, 1800)]
    for dtype, since in (
        ("timestamp", lambda s: start + timedelta(seconds=s)),
        ("duration", lambda s: timedelta(seconds=s)),
    ):
        fade = sf.Window(sf.decayed_mean(half_life="10m", key_dtype=dtype), sf.rows(2))
        found = [fade.push((x, since(s))) for x, s in rows]
        assert found == [1.0, pytest.approx(3.5 / 1.5), pytest.approx(7.75 / 1.25)]
        assert sf.Window.from_bytes(fade.to_bytes()).query() == found[-1]
        for make in (sf.trend, sf.covariance, sf.correlation):
            timed = sf.Window(make(key_dtype=dtype), sf.rows(3))
            plain = sf.Window(make(), sf.rows(3))
            for x, s in rows:
                due = plain.push((x, s))
                got = timed.push((x, since(s)))
                assert got == (due if due is None else pytest.approx(due, rel=1e-14))
    days = sf.Window(sf.trend(key_dtype="date"), sf.rows(2))
    days.push((1.0, date(2024, 1, 1)))
    assert days.push((5.0, date(2024, 1, 3))) == pytest.approx(4 / (2 * 86400))
    with refused(ValueTypeError, "only the second column may hold times"):
        sf.trend(dtype="timestamp")
    with refused(OperatorError, "key_dtype='timestamp'"):
        sf.decayed_mean(half_life="10m")


@pytest.mark.parametrize("dtype", ["uint64", "decimal(18, 3)", "decimal(38, 4)", "str", "binary"])
@pytest.mark.parametrize("lateness", [None, 5])
def test_quantiles(dtype: str, lateness: int | None) -> None:
    """What is picked is one of the values; what lies between two of them is a float."""
    values = [v for v in TYPES[dtype][0] for _ in range(2)]
    random.Random(1).shuffle(values)
    for how in ("lower", "higher", "linear", "midpoint"):
        if dtype in ("str", "binary") and how in ("linear", "midpoint"):
            with refused(ValueTypeError, f"quantile of {dtype} needs interpolation 'lower'"):
                sf.quantile(q=0.3, interpolation=how, dtype=dtype)
            continue
        operator = sf.quantile(q=0.3, interpolation=how, dtype=dtype)
        window = sf.Window(operator, sf.time(4), lateness=lateness)
        with unchanged(window), refused(ValueTypeError, "expected ", ", got"):
            window.push(0, TYPES[dtype][1][-1])
        for step, value in enumerate(values):
            held = sorted(values[max(0, step - 3) : step + 1])
            place = 0.3 * (len(held) - 1)
            low, high = held[math.floor(place)], held[math.ceil(place)]
            share = {"lower": 0, "higher": 1, "midpoint": 0.5}.get(how, place % 1)
            found = window.push(step, value)
            if how in ("lower", "higher"):
                assert repr(found) == repr(high if share else low)
            else:
                due = float(low) + (float(high) - float(low)) * (share if high != low else 0)
                assert found == pytest.approx(due, rel=1e-14)
                assert isinstance(found, float)
        window.check()
        assert sf.Window.from_bytes(window.to_bytes()).query() == found


@pytest.mark.parametrize("dtype", [name for name in TYPES if name != "str"])
def test_sketches_answer_for_the_type(dtype: str) -> None:
    """A filter, counts and a classifier of values are asked for such values, and no others."""
    ordered, wrong = TYPES[dtype]
    few = sf.Window(sf.bloom(dtype=dtype), sf.rows(1))
    counts = sf.Window(sf.count_min(dtype=dtype), sf.rows(9))
    for value in (*ordered, ordered[-1]):
        found, counted = few.push(value), counts.push(value)
    assert [value in found for value in ordered] == [False] * (len(ordered) - 1) + [True]
    assert [counted.estimate(value) for value in ordered] == [1] * (len(ordered) - 1) + [2]
    with refused(ValueTypeError, "expected ", ", got"):
        counted.estimate(wrong[-1])
    assert sf.Window.from_bytes(counts.to_bytes()).query() == counted
    if dtype == "float32":
        with refused(ValueTypeError, "dtype of naive_bayes must be"):
            sf.naive_bayes(dtype=dtype)
        return
    classes = sf.Window(sf.naive_bayes(dtype=dtype, key_dtype=dtype), sf.rows(9))
    for value in ordered:
        model = classes.push((value, value, ordered[0]))
    assert [model.predict((value, ordered[0])) for value in ordered] == ordered
    assert model.labels == dict.fromkeys(ordered, 1)
    assert {count[2] for count in model.counts} == {*ordered}
    assert sf.Window.from_bytes(classes.to_bytes()).query() == model


def test_in_every_algorithm_and_in_products() -> None:
    """A codec is part of the operator, so that everything that takes operators takes it."""
    days = [date(2024, 1, d) for d in (3, 1, 2, 9, 4)]
    for make in (DabaLite, SlickDeque):
        algorithm = make(sf.max(dtype="date"))
        assert algorithm.slide(days, 2) == [days[0], days[0], days[2], days[3], days[3]]
        algorithm.insert(days[0])
        assert algorithm.query() == days[0]
    tree = Fiba(sf.min(dtype="date"))
    tree.bulk_insert([1, 2, 3], days[:3])
    assert (tree.query(), tree.query(2, 3)) == (days[1], days[1])
    keyed = KeyedWindows(sf.max(dtype="date"), sf.time(5))
    found = keyed.push(["a", "b", "a"], [1, 1, 2], days[:3])
    assert found.to_pylist() == [days[0], days[1], days[0]]
    pair = sf.struct(d=sf.max("d", dtype="date"), n=sf.sum("n", dtype="int8"))
    both = sf.Window(pair, sf.rows(2))
    assert both.push({"d": days[0], "n": 5}) == {"d": days[0], "n": 5}
    with pytest.raises(ValueTypeError, match="from -128 to 127"):
        both.push({"d": days[0], "n": 500})
    assert both.push({"d": None, "n": 1}) == {"d": days[0], "n": 6}
    late = sf.Window(sf.max(dtype="binary"), sf.time(9), lateness=9)
    events = ((5, b"b"), (1, b"a"), (6, b"\xff"))
    assert [late.push(t, v) for t, v in events] == [v for _, v in events]
    kept = sf.Window(sf.first(dtype="date", nulls="keep"), sf.rows(2))
    assert [kept.push(v) for v in (None, days[0], None)] == [None, None, days[0]]


def test_types_that_make_no_sense() -> None:
    for operator, dtype in ((sf.sum, "date"), (sf.mean, "binary"), (sf.max, "decimal(39, 2)")):
        with refused(ValueTypeError, dtype):
            operator(dtype=dtype)
    with refused(ValueTypeError, "did you mean 'timestamp'?"):
        sf.max(dtype="timestmp")
