"""Single events and questions give what tables give."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import slidefold as sf
from slidefold.errors import DataError, ValueTypeError
from tests.support.arrivals import assert_rows

SCHEMA = pa.schema(
    {"t": pa.int64(), "k": pa.string(), "x": pa.float64(), "km": pa.int64(), "end": pa.bool_()}
)
T = sf.time
DEFINITION = sf.rolling(
    on="t",
    by="k",
    total=sf.sum("x").over(T(9)),
    some=sf.count("x").over(T(5, closed="left")),
    middle=sf.median("x").over(4),
    before=sf.last("x").over(2, closed="left"),
    far=sf.max_by("km", "x").over(T(20)),
    visit=sf.count().over(sf.session(3)),
    leg=sf.sum("km").over(sf.punctuated("end")),
    way=sf.min("x").over(sf.delta(6, on="km")),
    values=sf.collect("x").over(3),
)


def events(count: int, seed: int = 1, late: int = 4) -> list[dict[str, Any]]:
    """Return events, some of them late; `km` never falls along the time of a key."""
    rng = random.Random(seed)
    rows = []
    for i in range(count):
        t = i // 2 - rng.choice([0, 0, 0, rng.randrange(late + 1)])
        x = None if rng.random() < 0.2 else float(rng.randrange(9))
        k = rng.choice(["a", "b", None])
        rows.append({"t": t, "k": k, "x": x, "km": 2 * t, "end": rng.random() < 0.3})
    return rows


def test_push_gives_what_feed_gives() -> None:
    for emit in ("arrival", "final"):
        alone, tables = (DEFINITION.live(lateness=3, emit=emit, schema=SCHEMA) for _ in range(2))
        for row in events(300):
            found = alone.push(row)
            fed = tables.feed(pa.Table.from_pylist([row], SCHEMA)).to_pylist()
            if emit == "arrival":
                expected = {name: fed[0][name] for name in DEFINITION.columns} if fed else None
                assert found == expected
            else:
                assert (found or []) == fed
            assert (alone.late, alone.pending) == (tables.late, tables.pending)
            alone._engine.native.core.check()  # type: ignore[union-attr]
        assert alone.late > 0
        assert_rows(alone.finish(), tables.finish())


def test_rows_and_tables_may_alternate() -> None:
    """Rows that came alone come out in tables, and the other way round."""
    rows = events(200, late=0)
    live = DEFINITION.live(lateness=3, schema=SCHEMA)
    found: list[dict[str, Any]] = []
    rng = random.Random(3)
    while rows:
        if rng.random() < 0.5:
            found += live.push(rows.pop(0))
        else:
            count = rng.randrange(1, 6)
            found += live.feed(pa.Table.from_pylist(rows[:count], SCHEMA)).to_pylist()
            del rows[:count]
        if rng.random() < 0.1:
            live = sf.Live.from_bytes(live.to_bytes(), DEFINITION)
    found += live.finish().to_pylist()
    whole = DEFINITION.run(pa.Table.from_pylist(events(200, late=0), SCHEMA))
    assert_rows(pa.Table.from_pylist(found, whole.schema), whole)


def test_a_question_is_a_row_that_is_not_there() -> None:
    """Ask at any time: the windows of a run whose last row of the key has no values."""
    windows = {
        "total": sf.sum("x").over(T(9)),
        "middle": sf.median("x").over(T(7, closed="both")),
        "first": sf.first("x").over(T(20, closed="neither")),
    }
    definition = sf.rolling(on="t", by="k", columns=windows)
    live = definition.live(lateness=3, emit="final", schema=SCHEMA)
    taken: list[dict[str, Any]] = []
    for row in events(200):
        late = live.late
        live.push(row)
        if live.late == late:
            taken.append(row)
        newest = max(each["t"] for each in taken)
        t = newest + random.Random(len(taken)).randrange(8)
        question = {"t": t, "k": row["k"]}
        empty = {"x": None, "km": 0, "end": None, **question}
        expected = definition.run(pa.Table.from_pylist([*taken, empty], SCHEMA)).to_pylist()[-1]
        assert live.ask(question) == {name: expected[name] for name in windows}
    assert live.ask([{"k": "a"}, {"k": "nobody"}])[1] == dict.fromkeys(windows)
    asked = live.ask(pd.DataFrame({"k": ["a", "b"], "note": [1, 2]}))
    assert list(asked.columns) == ["k", "note", *windows]
    assert asked["total"].tolist() == [live.ask({"k": key})["total"] for key in "ab"]


def test_windows_of_rows_sessions_and_marks_at_a_question() -> None:
    live = DEFINITION.live(lateness=2, emit="arrival", schema=SCHEMA)
    for t, x, end in ((1, 1.0, False), (2, 2.0, True), (4, 3.0, False), (5, 4.0, False)):
        live.push({"t": t, "k": "a", "x": x, "km": t, "end": end})
    now = live.ask({"k": "a", "km": 5})
    assert (now["middle"], now["before"], now["visit"], now["leg"]) == (2.5, 3.0, 4, 9)
    later = live.ask({"k": "a", "km": 12, "t": 9})
    assert (later["visit"], later["way"], later["before"]) == (0, None, 4.0)
    with pytest.raises(sf.errors.ColumnError, match="must have the column 'km'"):
        live.ask({"k": "a"})


def test_include_counts_the_row_itself_and_stores_nothing() -> None:
    one, other = (DEFINITION.live(lateness=3, emit="arrival", schema=SCHEMA) for _ in range(2))
    for row in events(120, late=2):
        accepted = row["t"] > (one.watermark if one.watermark is not None else -100)
        if accepted:
            expected = one.ask(row, include=True)
            table = one.ask(pa.Table.from_pylist([row], SCHEMA), include=True)
            one._engine.native.core.check()  # type: ignore[union-attr]
        found = one.push(row)
        assert found == other.push(row)
        if accepted:
            assert expected == found
            assert table.select(list(found)).to_pylist() == [found]


@pytest.mark.parametrize(
    ("event", "error", "match"),
    [
        ({"t": 1, "k": "a"}, sf.errors.ColumnError, "no field 'x'"),
        ({"t": 1, "k": "a", "x": 1.0, "y": 2}, sf.errors.ColumnError, "a field 'y', which"),
        ({"t": None, "k": "a", "x": 1.0}, sf.errors.DataError, "the field 't' is null"),
        ({"t": 1, "k": 5, "x": 1.0}, sf.errors.ValueTypeError, "'k' must be (a )?string, got 5"),
        ({"t": 1, "k": "a", "x": "1"}, sf.errors.ValueTypeError, "'x' must be .*, got '1'"),
        ({"t": 2**70, "k": "a", "x": 1.0}, sf.errors.ValueTypeError, "'t' must be .*int"),
        ({"t": 1, "k": "\ud800", "x": 1.0}, sf.errors.ValueTypeError, "'k' must be .*string"),
        ((1, "a"), sf.errors.ColumnError, r"must have 3 values \(t, k, x\), got 2"),
        ([1, "a", 1.0], sf.errors.ValueTypeError, "must be a dict or a tuple"),
    ],
)
def test_wrong_events_change_nothing(event: Any, error: type[Exception], match: str) -> None:
    schema = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.float64()})
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(T(9)))
    for emit in ("arrival", "final", "change"):
        live = definition.live(lateness=0, emit=emit, schema=schema)
        live.push((1, "a", 1.0))
        with pytest.raises(error, match=match):
            live.push(event)
        assert live.ask({"k": "a"}) == {"s": 1.0}
        assert (live.late, live.watermark) == (0, 1)


def test_late_events() -> None:
    definition = sf.rolling(on="t", s=sf.sum("x").over(T(9)))
    for late in ("drop", "side", "raise"):
        live = definition.live(lateness=0, emit="arrival", late=late)
        live.push({"t": 5, "x": 1.0})
        if late == "raise":
            with pytest.raises(sf.errors.DataError, match="late"):
                live.push({"t": 5, "x": 1.0})
            continue
        found = live.push({"t": 5, "x": 1.0})
        assert live.late == 1
        if late == "drop":
            assert found is None
        else:
            flags = {"late": True, "late_reason": "at or before the watermark"}
            assert found == {"t": 5, "x": 1.0, "s": None, **flags}


def test_the_first_event_tells_the_types() -> None:
    definition = sf.rolling(on="ts", by="card", n=sf.count().over("1h"), m=sf.max("x").over("1h"))
    live = definition.live(lateness="1m", emit="arrival")
    with pytest.raises(sf.errors.DataError, match="'x' is not known, because it is None"):
        live.push({"ts": datetime(2026, 1, 1), "card": "a", "x": None})
    with pytest.raises(sf.errors.DataError, match="must be a dict"):
        live.push((datetime(2026, 1, 1), "a", 1.0))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    live = definition.live(lateness="1m", emit="arrival")
    assert live.push({"ts": start, "card": "a", "x": 2.5}) == {"n": 1, "m": 2.5}
    kind = pa.timestamp("ms", "UTC")
    schema = pa.schema({"ts": kind, "card": pa.string(), "x": pa.decimal128(5, 1)})
    live = definition.live(lateness="1m", emit="arrival", schema=schema)
    found = [
        live.push({"ts": start + timedelta(minutes=m), "card": "a", "x": Decimal(m)})
        for m in (0, 30, 80)
    ]
    assert found == [{"n": n, "m": Decimal(m)} for n, m in ((1, 0), (2, 30), (2, 80))]
    assert live.ask({"card": "a", "ts": start + timedelta(minutes=95)}) == {
        "n": 1,
        "m": Decimal(80),
    }


def test_questions_about_the_past_are_refused() -> None:
    live = sf.rolling(on="t", s=sf.sum("x").over(T(9))).live(lateness=3)
    with pytest.raises(sf.errors.DataError, match="types of the columns are not known yet"):
        live.ask({})
    live.feed(pa.table({"t": [10], "x": [1.0]}))
    assert live.ask({"t": 7}) == {"s": None}
    with pytest.raises(sf.errors.DataError, match="before the watermark"):
        live.ask({"t": 6})
    with pytest.raises(sf.errors.DataError, match="before the watermark"):
        live.ask(pa.table({"t": [12, 6]}))
    every = sf.rolling(on="t", every=T(5), s=sf.sum("x").over(T(9))).live(lateness=3)
    every.feed(pa.table({"t": [10], "x": [1.0]}))
    with pytest.raises(sf.errors.DataError, match="one result per row"):
        every.ask({})


def test_push_of_revised_and_changed_results() -> None:
    definition = sf.rolling(on="t", s=sf.sum("x").over(T(9)))
    live = definition.live(lateness=5, emit="revise", id="t")
    assert live.push({"t": 9, "x": 1.0}) == [{"t": 9, "x": 1.0, "s": 1.0, "revision": 0}]
    assert live.push({"t": 7, "x": 2.0}) == [
        {"t": 7, "x": 2.0, "s": 2.0, "revision": 0},
        {"t": 9, "x": 1.0, "s": 3.0, "revision": 1},
    ]
    live = definition.live(lateness=0, emit="change")
    assert [len(live.push({"t": t, "x": x})) for t, x in ((1, 1.0), (2, 0.0), (3, 2.0))] == [
        1,
        0,
        1,
    ]


def test_many_events_at_once() -> None:
    live = sf.rolling(on="t", n=sf.count().over(T(9))).live(lateness=0, emit="arrival")
    assert live.push_many([{"t": 1}, {"t": 3}, {"t": 2}, {"t": 4}]) == [
        {"n": 1}, {"n": 2}, None, {"n": 3},
    ]  # fmt: skip
    assert live.push_many({"t": t} for t in (5, 6)) == [{"n": 4}, {"n": 5}]
    for wrong in (None, {"t": 7}, "rows", 7):
        with pytest.raises(ValueTypeError, match=r"^push_many\(\) expected a list of rows, got "):
            live.push_many(wrong)  # type: ignore[arg-type]


def test_an_event_may_be_changed_after_it_was_pushed() -> None:
    live = sf.rolling(on="t", s=sf.sum("x").over(T(9))).live(lateness=2)
    event = {"t": 1, "x": 1.0}
    live.push(event)
    event.update(t=9, x=5.0)
    assert live.push(event) == [{"t": 1, "x": 1.0, "s": 1.0}]
    event.update(t=20, x=0.0)
    assert live.push(event) == [{"t": 9, "x": 5.0, "s": 6.0}]


@pytest.mark.parametrize("time", [3, 4, 5, 6])
def test_a_question_at_the_watermark_before_its_own_time(time: int) -> None:
    """The window of the rows before the watermark needs a row that no later row needs."""
    events = pa.table({"t": [1, 2, 3, 4, 5], "x": [1, 2, 4, 8, 16]})
    definition = sf.rolling(on="t", s=sf.sum("x").over(sf.rows(2, closed="left")))
    live = definition.live(lateness=2)  # the watermark is 3
    live.feed(events)
    expected = definition.run(events, at=pa.table({"t": [time]}))["s"].to_pylist()
    assert [live.ask({"t": time})["s"]] == expected


@pytest.mark.parametrize("emit", ["arrival", "final", "change", "revise"])
def test_a_time_with_a_fraction_is_refused_and_not_cut(emit: str) -> None:
    schema = pa.schema({"t": pa.int64(), "x": pa.int64()})
    definition = sf.rolling(on="t", s=sf.sum("x").over(sf.time(3)))
    live = definition.live(lateness=0, emit=emit, id="x" if emit == "revise" else (), schema=schema)
    for row, name in (({"t": 2.5, "x": 1}, "t"), ({"t": 2, "x": 1.5}, "x")):
        with pytest.raises(ValueTypeError, match=f"the field '{name}' must be .*, got [12].5"):
            live.push(row)
    assert live.rows == 0


@pytest.mark.parametrize("emit", ["arrival", "final"])
def test_names_with_a_nul_in_formulas(emit: str) -> None:
    columns: Any = {
        "s\0t": sf.col("x\0y") + sf.sum("x\0y").over(sf.time(3)),
        "s": sf.count().over(2),
    }
    definition = sf.rolling(on="t", columns=columns)
    rows = [{"t": 1, "x\0y": 3}, {"t": 2, "x\0y": 4}]
    pushing, feeding = (definition.live(lateness=0, emit=emit) for _ in range(2))
    pushed = [pushing.push(row) for row in rows]
    if emit == "final":
        pushed = [row for due in pushed for row in due]
    fed = feeding.feed(pa.Table.from_pylist(rows))
    assert [row["s\0t"] for row in pushed] == [6, 11] == fed["s\0t"].to_pylist()
    assert pushing.ask({"x\0y": 10}) == {"s\0t": 17, "s": 2}


@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
def test_questions_at_the_watermark_see_what_their_windows_hold(closed: str) -> None:
    """Rows at the watermark have passed, and the rows before them may be needed once more."""
    columns: Any = {
        "s": sf.sum("x").over(sf.time(3, closed=closed)),
        "all": sf.sum("x").over("lifetime"),
    }
    if closed in ("left", "right"):
        columns["n"] = sf.collect("x").over(sf.rows(2, closed=closed))
    definition = sf.rolling(on="t", columns=columns)
    table = pa.table({"t": [1, 2, 3, 5, 5, 6, 9], "x": [1, 2, 4, 8, 16, 32, 64]})
    for count in range(1, len(table) + 1):
        events = table.slice(0, count)
        live = definition.live(lateness=0)
        for time in dict.fromkeys(events["t"].to_pylist()):
            live.feed(events.filter(pc.field("t") == time))
        at = events["t"][count - 1].as_py()
        (expected,) = definition.run(events, at=pa.table({"t": [at]})).to_pylist()
        assert live.watermark == at
        assert {"t": at, **live.ask({"t": at})} == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [("note", 5), ("note", "\ud800"), ("tags", ["q"]), ("tags", 5), ("x", Decimal("1.5"))],
)
@pytest.mark.parametrize("emit", ["final", "change"])
def test_a_waiting_event_makes_a_row(emit: str, name: str, value: Any) -> None:
    """A field that nothing reads was not looked at, and the run could not be saved after it."""
    kinds = {"t": pa.int64(), "x": pa.float64(), "note": pa.string(), "tags": pa.list_(pa.int64())}
    live = sf.rolling(on="t", s=sf.sum("x").over(T(9))).live(
        lateness=5, emit=emit, schema=pa.schema(kinds)
    )
    event = {"t": 1, "x": 1.0, "note": "d\u00e9", "tags": [1]}
    live.push(event)
    before = live.to_bytes()
    with pytest.raises(sf.errors.ValueTypeError, match=f"the field '{name}' must be"):
        live.push({**event, name: value})
    event["tags"].append("q")  # type: ignore[attr-defined]
    assert live.to_bytes() == before
    assert live.finish().num_rows == 1


@pytest.mark.parametrize("emit", ["arrival", "final"])
def test_times_beyond_pythons_come_out_as_numpys(emit: str) -> None:
    day = pa.array([3_000_000], pa.int32()).cast(pa.date32())  # in the year 10183
    far = np.datetime64("10183-09-21")
    new = {"last": sf.max("x"), "all": sf.collect("x"), "both": sf.struct(a=sf.max("x"))}
    definition = sf.rolling(on="t", columns={name: each.over(9) for name, each in new.items()})
    live = definition.live(lateness=0, emit=emit)
    live.feed(pa.table({"t": [1], "x": day}))
    expected = {"last": far, "all": [far], "both": {"a": far}}
    assert live.ask({"t": 3}) == expected
    pushed = live.push({"t": 5, "x": None})
    assert pushed == (expected if emit == "arrival" else [{"t": 5, "x": None, **expected}])


def test_a_late_row_with_a_time_beyond_pythons_is_named() -> None:
    day = pa.array([3_000_000], pa.int32()).cast(pa.date32())
    live = sf.rolling(on="t", n=sf.count().over(9)).live(lateness=0, late="raise")
    live.feed(pa.table({"t": [5], "x": day}))
    with pytest.raises(DataError, match="10183-09-21"):
        live.feed(pa.table({"t": [3], "x": day}))


@pytest.mark.parametrize("emit", ["final", "change", "revise"])
def test_events_with_formulas_at_ends(emit: str) -> None:
    """The ends are no columns of the events, and a push raised a KeyError."""
    definition = sf.rolling(
        on="t",
        every=T(5),
        columns={"since": sf.since_last().over(T(9)), "s": sf.sum("x").over(T(9))},
    )
    kinds = pa.schema({"t": pa.int64(), "x": pa.int64()})
    events = [{"t": t, "x": t % 3} for t in (1, 4, 12, 13, 10, 31)]
    alone, tables = (definition.live(lateness=4, emit=emit, schema=kinds) for _ in range(2))
    for event in events:
        assert alone.push(event) == tables.feed(pa.Table.from_pylist([event], kinds)).to_pylist()
    assert_rows(alone.finish(), tables.finish())
    with pytest.raises(DataError, match="results at ends"):
        definition.live(lateness=4, emit=emit, schema=kinds).ask({"t": 3})
