"""Windows with a delay, ahead, and over a lifetime; `closed` of a definition: per row."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.errors import DefinitionError, ValueTypeError, WindowError
from slidefold.live import Live
from tests.support.for_each import for_each

CLOSED = ("right", "left", "both", "neither")
MAX: Any = sf.max
Rows = list[dict[str, Any]]
# How times are written, how a length of so many steps is given, and the first time.
TIMES: dict[str, tuple[Any, Any, int]] = {
    "integers": (pa.int64(), int, -3),
    "small integers": (pa.int16(), int, -3),
    "seconds": (pa.timestamp("s"), lambda n: f"{n}s", -3),
    "zoned microseconds": (pa.timestamp("us", "Asia/Tokyo"), lambda n: f"{n}us", 10**15),
    "nanoseconds": (pa.timestamp("ns"), lambda n: f"{n}ns", -(10**18)),
    "dates": (pa.date32(), lambda n: f"{n}d", -3),
}


def random_rows(rng: random.Random, first: int, count: int) -> Rows:
    return [
        {
            "id": i,
            "k": rng.choice(["a", "b", None]),
            "t": first + rng.randint(0, 25),
            "x": rng.choice([None, 1, 2, 5]),
        }
        for i in range(count)
    ]


def table_of(rows: Rows, kind: Any) -> Any:
    ints = pa.array([row["t"] for row in rows], pa.int64())
    times = ints.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else ints.cast(kind)
    return pa.table(
        {
            "id": pa.array([row["id"] for row in rows], pa.int64()),
            "k": pa.array([row["k"] for row in rows], pa.string()),
            "t": times,
            "x": pa.array([row["x"] for row in rows], pa.int64()),
        }
    )


def inside(t: int, low: int, high: int, closed: str) -> bool:
    left, right = closed in ("left", "both"), closed in ("right", "both")
    return (low < t or (left and t == low)) and (t < high or (right and t == high))


def held(rows: Rows, row: dict[str, Any], window: tuple[str, int, int, str]) -> list[int]:
    """Return the ids of the rows in a window: kind, range, delay, closed."""
    kind, length, delay, closed = window
    t = row["t"]
    own = sorted((r for r in rows if r["k"] == row["k"]), key=lambda r: (r["t"], r["id"]))
    if kind == "lifetime":
        return [r["id"] for r in own if r["t"] < t or (closed == "right" and r["t"] == t)]
    low, high = (t, t + length) if kind == "ahead" else (t - delay - length, t - delay)
    return [r["id"] for r in own if inside(r["t"], low, high, closed)]


def window_of(window: tuple[str, int, int, str], length: Any) -> Any:
    kind, size, delay, closed = window
    if kind == "lifetime":
        return sf.lifetime(closed=closed)
    if kind == "ahead":
        return sf.time(length(size), ahead=True, closed=closed)
    return sf.time(length(size), delay=length(delay) if delay else None, closed=closed)


def draw_window(rng: random.Random, kinds: list[str]) -> tuple[str, int, int, str]:
    kind = rng.choice(kinds)
    closed = rng.choice(["right", "left"] if kind == "lifetime" else CLOSED)
    return kind, rng.choice([1, 2, 5, 12, 60]), rng.choice([0, 1, 3, 30]), closed


def columns(windows: list[tuple[str, int, int, str]], length: Any) -> dict[str, Any]:
    """Return what tells which rows a window holds; a lifetime keeps no list of them."""
    found: dict[str, Any] = {}
    for i, window in enumerate(windows):
        over = window_of(window, length)
        if window[0] != "lifetime":
            found[f"c{i}"] = sf.collect("id").over(over)
        found[f"n{i}"] = sf.count().over(over)
        found[f"s{i}"] = sf.sum("id").over(over)
        found[f"f{i}"] = sf.first("id").over(over)
        found[f"l{i}"] = sf.last("x").over(over)
        found[f"m{i}"] = sf.max_by("id", "x").over(over)
    return found


def assert_windows(found: Any, rows: Rows, windows: list[tuple[str, int, int, str]]) -> None:
    results = {row["id"]: row for row in found.to_pylist()}
    assert len(results) == len(found) == len(rows)
    xs = {row["id"]: row["x"] for row in rows}
    for row in rows:
        got = results[row["id"]]
        for i, window in enumerate(windows):
            ids = held(rows, row, window)
            some = [j for j in ids if xs[j] is not None]
            what = f"{window} at {row}"
            if window[0] != "lifetime":
                assert got[f"c{i}"] == (ids or None), what
            assert got[f"n{i}"] == len(ids), what
            assert got[f"s{i}"] == (sum(ids) if ids else None), what
            assert got[f"f{i}"] == (ids[0] if ids else None), what
            assert got[f"l{i}"] == (xs[some[-1]] if some else None), what
            best = max(some, key=lambda j: xs[j], default=None)
            assert got[f"m{i}"] == best, what


def check(seed: int, name: str) -> None:
    """Delays, lifetimes and windows ahead over tables and readers."""
    rng = random.Random(seed)
    kind, length, first = TIMES[name]
    rows = random_rows(rng, first, rng.choice([0, 1, 20]))
    windows = [draw_window(rng, ["time", "time", "lifetime", "ahead"]) for _ in range(3)]
    definition = sf.rolling(on="t", by="k", order="id", columns=columns(windows, length))
    assert sf.Rolling.from_dict(definition.to_dict()) == definition
    assert eval(repr(definition), {"sf": sf, "datetime": __import__("datetime")}) == definition
    assert_windows(definition.run(table_of(rows, kind)), rows, windows)
    rows.sort(key=lambda row: row["t"])
    reader = definition.run(table_of(rows, kind).to_reader(max_chunksize=6))
    assert_windows(reader.read_all(), rows, windows)


@pytest.mark.parametrize("name", TIMES)
@given(st.integers(0, 2**32))
def test_windows_of_tables(name: str, seed: int) -> None:
    check(seed, name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TIMES)
def test_many_windows_of_tables(name: str) -> None:
    for seed in range(400):
        check(seed, name)


def check_live(seed: int, name: str) -> None:
    """Delays and lifetimes in order of arrival, with restarts."""
    rng = random.Random(seed)
    kind, length, first = TIMES[name]
    rows = random_rows(rng, first, rng.choice([1, 25]))
    windows = [draw_window(rng, ["time", "lifetime"]) for _ in range(3)]
    definition = sf.rolling(on="t", by="k", order="id", columns=columns(windows, length))
    rows.sort(key=lambda row: row["t"] + rng.choice([0, 0, 4]))
    emit = rng.choice(["final", "revise"])
    named: Any = {"id": "id"} if emit == "revise" else {}
    live = definition.live(lateness=length(5), emit=emit, **named)
    found: dict[int, Any] = {}
    schema = None
    at = 0
    while at < len(rows):
        size = rng.choice([1, 2, 6])
        part = live.feed(table_of(rows[at : at + size], kind))
        schema = part.schema
        found |= {row["id"]: row for row in part.to_pylist()}
        at += size
        if rng.random() < 0.4:
            live = Live.from_bytes(live.to_bytes(), definition if rng.random() < 0.5 else None)
    last = live.finish()
    found |= {row["id"]: row for row in last.to_pylist()}
    assert live.late == 0
    assert_windows(pa.Table.from_pylist(list(found.values()), schema), rows, windows)


@pytest.mark.parametrize("name", TIMES)
@given(st.integers(0, 2**32))
def test_windows_in_order_of_arrival(name: str, seed: int) -> None:
    check_live(seed, name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TIMES)
def test_many_windows_in_order_of_arrival(name: str) -> None:
    for seed in range(400):
        check_live(seed, name)


# ---- lifetimes -----------------------------------------------------------------------------------


def test_a_lifetime_holds_a_bounded_number_of_rows() -> None:
    definition = sf.rolling(
        on="t",
        by="k",
        s=sf.sum("x").over("lifetime"),
        top=sf.max_by("name", "x").over("lifetime"),
        last=sf.last("name").over("lifetime", closed="left"),
        ratio=sf.col("x") / sf.mean("x").over("lifetime"),
        some=MAX(sf.col("x") * 2).where(sf.col("x") > 3).over("lifetime"),
    )
    live = definition.live(lateness=10)
    sizes, lengths = [], []
    total, rows = {"a": 0, "b": 0}, 0
    for batch in range(60):
        times = [100 * batch + i for i in range(100)]
        keys = [("a", "b")[t % 2] for t in times]
        xs = [t % 7 for t in times]
        names = [f"a name of many bytes {t}" for t in times]
        found = live.feed(pa.table({"t": times, "k": keys, "x": xs, "name": names}))
        for row in found.to_pylist():
            total[row["k"]] += row["x"]
            rows += 1
            assert row["s"] == total[row["k"]]
        sizes.append(live.nbytes)
        lengths.append(len(live.to_bytes()))
        if batch % 10 == 5:
            live = Live.from_bytes(live.to_bytes())
    assert live.pending == 10
    assert rows == 5990
    assert max(sizes[20:]) < 1.5 * max(sizes[2:6])
    assert max(lengths[20:]) < 1.2 * max(lengths[2:6])


def test_a_lifetime_survives_many_restarts() -> None:
    definition = sf.rolling(
        on="t", by="k", n=sf.count().over("lifetime"), v=sf.var("t").over("lifetime")
    )
    live = definition.live(lateness=3)
    table = pa.table({"t": list(range(200)), "k": ["ab"[i % 2] for i in range(200)]})
    parts = []
    for i in range(0, 200, 5):
        parts.append(live.feed(table.slice(i, 5)))
        live = Live.from_bytes(live.to_bytes())
    parts.append(live.finish())
    found, expected = pa.concat_tables(parts), definition.run(table)
    assert found["n"].to_pylist() == expected["n"].to_pylist()
    assert found["v"].to_pylist() == pytest.approx(expected["v"].to_pylist())


@for_each("closed", CLOSED)
def test_a_lifetime_takes_the_end_of_the_definition(closed: str) -> None:
    definition = sf.rolling(on="t", closed=closed, n=sf.count().over("lifetime"))
    table = pa.table({"t": [1, 1, 2]})
    expected = [2, 2, 3] if closed in ("right", "both") else [0, 0, 2]
    assert definition.run(table)["n"].to_pylist() == expected


GROWING = (
    sf.median("x"), sf.quantile("x", 0.9), sf.distinct("x"), sf.mode("x"), sf.entropy("x"),
    sf.most_frequent("x"), sf.rank("x"), sf.collect("x"), sf.collect_distinct("x"),
    sf.struct(n=sf.count(), m=sf.median("x")), sf.median("x").where("p"),
)  # fmt: skip


@for_each("operator", GROWING)
def test_operators_that_keep_all_values_are_refused_over_a_lifetime(operator: Any) -> None:
    with pytest.raises(DefinitionError, match="keeps all values of its window, which a lifetime"):
        sf.rolling(on="t", a=operator.over("lifetime"))
    with pytest.raises(DefinitionError, match="keeps all values of its window, which a lifetime"):
        sf.rolling(on="t", a=operator.over("lifetime").is_null())


def test_lifetimes_of_the_oldest_and_the_newest_times() -> None:
    times = [-(2**63) + 1, -5, 0, 2**62, 2**63 - 2]
    definition = sf.rolling(
        on="t",
        n=sf.count().over("lifetime"),
        before=sf.count().over("lifetime", closed="left"),
        s=sf.since_first("t").over(sf.time(10)),
    )
    found = definition.run(pa.table({"t": times}))
    assert found["n"].to_pylist() == [1, 2, 3, 4, 5]
    assert found["before"].to_pylist() == [0, 1, 2, 3, 4]


# ---- delays and windows ahead --------------------------------------------------------------------


def test_a_delay_is_the_window_of_an_earlier_time() -> None:
    rng = random.Random(5)
    rows = [{**row, "k": "a"} for row in random_rows(rng, 0, 60)]
    rows += [{"id": 60 + t, "k": "a", "t": t, "x": None} for t in range(-40, 60)]
    table = table_of(rows, pa.int64())
    for closed in CLOSED:
        now = sf.rolling(on="t", n=sf.sum("id").over(sf.time(5, closed=closed))).run(table)
        late = sf.rolling(on="t", n=sf.sum("id").over(sf.time(5, closed=closed, delay=7)))
        by_time = dict(zip(now["t"].to_pylist(), now["n"].to_pylist(), strict=True))
        found = late.run(table)
        for t, n in zip(found["t"].to_pylist(), found["n"].to_pylist(), strict=True):
            if t - 7 in by_time:
                assert n == by_time[t - 7]


@for_each("closed", CLOSED)
def test_a_window_ahead_is_a_window_of_negated_times(closed: str) -> None:
    """What is ahead of t in one table is behind -t in the other, ends swapped."""
    rng = random.Random(2)
    rows = random_rows(rng, 0, 80)
    mirrored = {"left": "right", "right": "left"}.get(closed, closed)
    ahead = sf.rolling(
        on="t",
        by="k",
        order="id",
        s=sf.sum("x").over(sf.time(6, ahead=True, closed=closed)),
        c=sf.collect("id").over(sf.time(6, ahead=True, closed=closed)),
        h=sf.max("x").over(sf.time(6, ahead=True, closed=closed)),
        d=sf.distinct("x").over(sf.time(6, ahead=True, closed=closed), min_count=2),
    ).run(table_of(rows, pa.int64()))
    negated = [{**row, "t": -row["t"], "id": -row["id"]} for row in rows]
    behind = sf.rolling(
        on="t",
        by="k",
        order="id",
        s=sf.sum("x").over(sf.time(6, closed=mirrored)),
        c=sf.collect("id").over(sf.time(6, closed=mirrored)),
        h=sf.max("x").over(sf.time(6, closed=mirrored)),
        d=sf.distinct("x").over(sf.time(6, closed=mirrored), min_count=2),
    ).run(table_of(negated, pa.int64()))
    for name in "shd":
        assert ahead[name].to_pylist() == behind[name].to_pylist()
    for a, b in zip(ahead["c"].to_pylist(), behind["c"].to_pylist(), strict=True):
        assert a == (None if b is None else [-i for i in reversed(b)])


def test_ends_of_windows_that_are_not_whole_steps() -> None:
    """A range of 1500 ms over seconds reaches one second back, and one ahead."""
    table = pa.table({"t": pa.array([0, 1, 2, 3], pa.timestamp("s")), "id": [0, 1, 2, 3]})
    for closed in CLOSED:
        found = sf.rolling(
            on="t",
            b=sf.collect("id").over(sf.time("1500ms", closed=closed)),
            a=sf.collect("id").over(sf.time("1500ms", closed=closed, ahead=True)),
        ).run(table)
        near = [1] if closed in ("left", "neither") else [1, 2]
        assert found["b"].to_pylist()[2] == near, closed
        first = [1, 2] if closed in ("left", "both") else [2]
        assert found["a"].to_pylist()[1] == first, closed


@for_each(
    "make, words",
    [
        (lambda: sf.time(5, delay=0), "must be > 0"),
        (lambda: sf.time(5, delay=-1), "must be > 0"),
        (lambda: sf.time(5, delay="1h"), "delay must be a duration if range is one"),
        (lambda: sf.time("5m", delay=3), "delay must be a duration if range is one"),
        (lambda: sf.time("5m", delay="1mo"), "months and years vary"),
        (lambda: sf.time(5, delay=True), "must be a duration or a number"),
        (lambda: sf.time(5, delay=2, ahead=True), "cannot have delay= and ahead=True"),
        (lambda: sf.time(5, ahead="yes"), "ahead must be True or False"),  # type: ignore[arg-type]
        (lambda: sf.time(5, closed="middle", ahead=True), "closed must be one of"),
        (lambda: sf.lifetime(closed="both"), "must be 'right' or 'left'"),
        (lambda: sf.lifetime(closed="up"), "must be 'right' or 'left'"),
        (lambda: sf.sum("x").over("lifetimes"), "expected a duration"),
        (lambda: sf.rolling(on="t", closed="up", n=sf.count().over(3)), "closed must be one of"),
        (lambda: sf.sum("x").over([sf.time("1h", delay="1h")]), "a list of windows must hold"),
    ],
)  # fmt: skip
def test_windows_that_make_no_sense_give_one_sentence(make: Any, words: str) -> None:
    with pytest.raises((WindowError, DefinitionError), match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


@for_each("emit", ["final", "arrival", "revise", "change"])
def test_a_window_ahead_is_refused_in_order_of_arrival(emit: str) -> None:
    ahead = sf.sum("x").over(sf.time(5, ahead=True))
    for definition in (sf.rolling(on="t", s=ahead), sf.rolling(on="t", s=ahead + 1)):
        with pytest.raises(DefinitionError, match="it works in batch runs only"):
            definition.live(lateness=1, emit=emit, id="x")


@for_each("every", [sf.time(5), 3])
def test_a_window_ahead_is_refused_with_every(every: Any) -> None:
    with pytest.raises(WindowError, match="looks ahead from a row"):
        sf.rolling(on="t", every=every, s=sf.sum("x").over(sf.time(5, ahead=True)))


def test_lengths_finer_than_constants_are_refused_where_a_window_ends_there() -> None:
    for window in (sf.time("1us", delay="1500ns"), sf.time("1500ns", ahead=True)):
        with pytest.raises(DefinitionError, match="in whole microseconds, got '1500ns'"):
            sf.rolling(on="t", s=sf.since_last().over(window))
    fine = sf.rolling(on="t", n=sf.count().over(sf.time("1us", delay="1500ns")))
    times = pa.array([0, 1000, 2000, 3000], pa.timestamp("ns"))
    assert fine.run(pa.table({"t": times}))["n"].to_pylist() == [0, 0, 1, 1]


def test_delays_must_fit_the_times() -> None:
    definition = sf.rolling(on="t", n=sf.count().over(sf.time("1m", delay="500ms")))
    with pytest.raises((ValueTypeError, WindowError), match="delay"):
        definition.run(pa.table({"t": pa.array([1, 2], pa.timestamp("s"))}))
    numbers = sf.rolling(on="t", n=sf.count().over(sf.time(5, delay=2)))
    with pytest.raises(ValueTypeError):
        numbers.run(pa.table({"t": pa.array([1, 2], pa.timestamp("s"))}))


# ---- closed of a definition ----------------------------------------------------------------------


@for_each("closed", CLOSED)
def test_closed_of_a_definition_is_that_of_its_windows(closed: str) -> None:
    rng = random.Random(9)
    table = table_of(random_rows(rng, 0, 40), pa.int64())
    rows = "left" if closed in ("left", "neither") else "right"
    given_once: dict[str, Any] = {
        "a": sf.collect("id").over(sf.time(5)),
        "b": sf.sum("x").over(sf.time(9, closed="both")),
        "c": sf.count().over(sf.session(2)),
        "d": sf.max("x").over(sf.time(3, delay=2)) - 1,
    }
    each: dict[str, Any] = {
        "a": sf.collect("id").over(sf.time(5, closed=closed)),
        "b": sf.sum("x").over(sf.time(9, closed="both")),
        "c": sf.count().over(sf.session(2)),
        "d": sf.max("x").over(sf.time(3, delay=2, closed=closed)) - 1,
    }
    if closed in ("left", "right"):
        given_once["e"] = sf.sum("x").over(3)
        each["e"] = sf.sum("x").over(3, closed=rows)
    one = sf.rolling(on="t", by="k", order="id", closed=closed, columns=given_once)
    other = sf.rolling(on="t", by="k", order="id", columns=each)
    assert one.run(table).equals(other.run(table))
    assert sf.Rolling.from_dict(one.to_dict()) == one
    assert eval(repr(one), {"sf": sf}) == one


def test_closed_of_a_definition_goes_before_that_of_every() -> None:
    table = pa.table({"t": [0, 5, 10], "x": [1, 2, 4]})
    default = sf.rolling(on="t", every=sf.time(5), s=sf.sum("x").over(sf.time(5)))
    right = sf.rolling(on="t", every=sf.time(5), closed="right", s=sf.sum("x").over(sf.time(5)))
    assert default.run(table).to_pylist() == [
        {"window_start": 0, "window_end": 5, "s": 1},
        {"window_start": 5, "window_end": 10, "s": 2},
        {"window_start": 10, "window_end": 15, "s": 4},
    ]
    assert right.run(table).to_pylist() == [
        {"window_start": -5, "window_end": 0, "s": 1},
        {"window_start": 0, "window_end": 5, "s": 2},
        {"window_start": 5, "window_end": 10, "s": 4},
    ]


def test_dates_and_datetimes_since() -> None:
    """Times since are durations, exact in the unit of the times."""
    when = [datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 5, tzinfo=UTC)]
    found = sf.rolling(
        on="t",
        last=sf.since_last().over("1d", closed="left"),
        first=sf.since_first().over("1d"),
        gap=sf.longest_gap().over("1d"),
        late=sf.since_last().over(sf.time("1d", delay="1h")),
    ).run(pa.table({"t": when}))
    assert found["last"].to_pylist() == [None, timedelta(hours=5)]
    assert found["first"].to_pylist() == [timedelta(0), timedelta(hours=5)]
    assert found["gap"].to_pylist() == [None, timedelta(hours=5)]
    assert found["late"].to_pylist() == [None, timedelta(hours=4)]
    label = sf.rolling(on="t", s=sf.since_last().over(sf.time("1d", ahead=True)))
    assert label.run(pa.table({"t": when}))["s"].to_pylist() == [
        timedelta(hours=19),
        timedelta(hours=24),
    ]
    days = sf.rolling(on="t", s=sf.since_last().over("9d", closed="left"))
    given_days = pa.table({"t": [date(2020, 1, 1), date(2020, 1, 4)]})
    assert days.run(given_days)["s"].to_pylist() == [None, timedelta(days=3)]


@for_each("closed", [None, *CLOSED])
def test_a_window_ahead_in_a_file_is_that_of_python(closed: str | None) -> None:
    said = {} if closed is None else {"closed": closed}
    window = sf.time(4, ahead=True, **said)
    for default in (None, *CLOSED):
        definition = sf.rolling(on="t", closed=default, y=sf.sum("x").over(window))
        again = sf.Rolling.from_dict(definition.to_dict())
        assert again.windows == definition.windows
        assert again.windows[0].closed == (closed or default or "left")
    for kind in ({"kind": "time", "range": 4}, {"time": 4}):
        column = {"operator": "sum", "columns": ["x"], "over": {**kind, "ahead": True, **said}}
        short = sf.Rolling.from_dict({"on": "t", "columns": {"y": column}})
        assert short.windows == (window,)


@for_each("closed", [None, *CLOSED])
def test_closed_of_a_definition_is_that_of_windows_ahead(closed: str | None) -> None:
    """As of all time windows; without it they hold the row and leave out their end."""
    table = pa.table({"t": [0, 1, 3, 4, 4, 8], "id": [0, 1, 2, 3, 4, 5]})
    one = sf.rolling(
        on="t",
        closed=closed,
        own=sf.collect("id").over(sf.time(4, ahead=True)),
        told=sf.collect("id").over(sf.time(4, ahead=True, closed="left")),
        made=sf.count().over(sf.time(4, ahead=True)) * 2,
    )
    ends = closed or "left"
    each = sf.rolling(
        on="t",
        own=sf.collect("id").over(sf.time(4, ahead=True, closed=ends)),
        told=sf.collect("id").over(sf.time(4, ahead=True, closed="left")),
        made=sf.count().over(sf.time(4, ahead=True, closed=ends)) * 2,
    )
    found = one.run(table)
    assert found.equals(each.run(table))
    rows = list(zip(table["t"].to_pylist(), table["id"].to_pylist(), strict=True))
    assert found["own"].to_pylist() == [
        [i for s, i in rows if inside(s, t, t + 4, ends)] or None for t, _ in rows
    ]
    for again in (sf.Rolling.from_dict(one.to_dict()), eval(repr(one))):
        assert again == one
        assert again.run(table).equals(found)
