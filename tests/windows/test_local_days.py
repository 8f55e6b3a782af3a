"""`every=` with zones, offsets and fill, against brute force, over columns and live."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.errors import DataError, DefinitionError, ValueTypeError, WindowError
from slidefold.live import Live
from tests.support.for_each import for_each
from tests.support.local_days import DAY, EPOCH, Ends, Span, results

HOUR = 3600 * 10**6
# Days on which clocks change: there and back; in Brazil before 2019 at midnight.
ZONES: dict[str | None, list[tuple[int, int, int]]] = {
    "Europe/Berlin": [(2021, 3, 28), (2021, 10, 31), (1980, 4, 6)],
    "America/New_York": [(2021, 3, 14), (2021, 11, 7)],
    "America/Sao_Paulo": [(2018, 11, 4), (2018, 2, 18), (2017, 10, 15)],
    "Asia/Kolkata": [(2021, 3, 28), (1969, 12, 30)],
    "Australia/Lord_Howe": [(2021, 4, 4), (2021, 10, 3)],  # by half an hour
    "UTC": [(2000, 2, 29)],
    None: [(2021, 3, 28), (1969, 12, 31)],
}
Result = tuple[Any, int, int, list[list[int]]]


def text(length: int) -> str:
    return f"{length // HOUR}h" if length % HOUR == 0 else f"{length}us"


class Case:
    """A definition with `every=`, and rows around a change of the clocks."""

    def __init__(self, rng: random.Random, zone: str | None) -> None:
        """Draw all of it."""
        self.zone = zone
        every = (
            rng.choice([1, 1, 2, 3, 7]) * DAY if zone else rng.choice([DAY, 12 * HOUR, 5 * HOUR])
        )
        offset = rng.choice([0, 0, 5 * HOUR // 2, 6 * HOUR, 30 * HOUR])
        self.ends = Ends(every, offset if zone else offset % every, zone)
        self.fill = rng.random() < 0.3
        self.spans = self._spans(rng)
        self.unit = rng.choice(["us", "ns"])
        self.kind = pa.timestamp(self.unit, rng.choice([None, "UTC", zone or "Asia/Tokyo"]))
        self.rows = self._rows(rng)
        given: dict[str, Any] = {} if not offset else {"offset": text(offset)}
        columns: dict[str, Any] = {}
        for i, span in enumerate(self.spans):
            columns[f"c{i}"] = sf.collect("id").over(self._window(span))
        self.definition = sf.rolling(
            on="t", by="k", order="id", every=text(every), zone=zone, fill=self.fill,
            columns=columns, **given,
        )  # fmt: skip

    @staticmethod
    def _spans(rng: random.Random) -> list[Span]:
        """Draw windows; sometimes several are the largest."""
        days = rng.choice([1, 1, 2, 3, 7]) * DAY
        closed = ["left", "right", "both", "neither"]
        spans = [Span(days, rng.choice(closed), rng.choice([0, 0, 0, 5 * HOUR, 9 * DAY]))]
        if rng.random() < 0.3:
            spans = [
                Span(rng.choice([36, 12, 25]) * HOUR, rng.choice(["left", "right", "neither"]))
            ]
        for _ in range(rng.randint(0, 2)):
            length = rng.choice([DAY, 2 * DAY, 12 * HOUR, 36 * HOUR, HOUR])
            delay = rng.choice([0, 0, DAY, 5 * HOUR])
            if length < spans[0].length:
                spans.append(Span(length, rng.choice(closed), delay))
        if rng.random() < 0.3:
            spans.append(Span(spans[0].length, rng.choice(closed), rng.choice([0, DAY, 9 * DAY])))
            spans = list(dict.fromkeys(spans))
        if rng.random() < 0.2:
            spans.append(Span(rows=2, closed=rng.choice(["left", "right"])))
        rng.shuffle(spans)
        return spans

    @staticmethod
    def _window(span: Span) -> Any:
        if span.rows:
            return sf.rows(span.rows, closed=span.closed)
        delay = text(span.delay) if span.delay else None
        return sf.time(text(span.length), closed=span.closed, delay=delay)

    def _rows(self, rng: random.Random) -> list[dict[str, Any]]:
        day = datetime(*rng.choice(ZONES[self.zone]), tzinfo=UTC)
        base = (day - EPOCH) // timedelta(microseconds=1)
        ends = [end for end, _ in self.ends.between(base - 8 * DAY, base + 8 * DAY)]
        rows = []
        for i in range(rng.choice([1, 4, 14])):
            at = rng.choice(
                [
                    base + rng.randint(-100, 100) * HOUR,
                    base + rng.randint(-60, 60) * HOUR // 2,
                    rng.choice(ends or [base]) + rng.choice([0, 0, -1, 1]),
                ]
            )
            rows.append({"id": i, "k": rng.choice(["a", "b"]), "t": at})
        return rows

    def table(self, rows: list[dict[str, Any]]) -> Any:
        steps = 1000 if self.unit == "ns" else 1
        return pa.table(
            {
                "id": pa.array([row["id"] for row in rows], pa.int64()),
                "k": pa.array([row["k"] for row in rows], pa.string()),
                "t": pa.array([row["t"] * steps for row in rows], pa.int64()).cast(self.kind),
            }
        )

    def expected(self) -> list[Result]:
        rows = sorted(self.rows, key=lambda row: (row["t"], row["id"]))
        return sorted(results(rows, self.ends, self.spans, self.fill))

    def found(self, table: Any) -> list[Result]:
        assert table.schema.field("window_end").type == self.kind
        steps = 1000 if self.unit == "ns" else 1
        starts, ends = (
            table[name].cast(pa.int64()).to_numpy() // steps
            for name in ("window_start", "window_end")
        )
        rows = table.to_pylist()
        return sorted(
            (row["k"], int(a), int(b), [row[f"c{i}"] or [] for i in range(len(self.spans))])
            for row, a, b in zip(rows, starts, ends, strict=True)
        )

    def __str__(self) -> str:
        return f"{self.definition} over {self.rows}"


def check_run(seed: int, zone: str | None) -> None:
    case = Case(random.Random(seed), zone)
    assert sf.Rolling.from_dict(case.definition.to_dict()) == case.definition
    assert eval(repr(case.definition), {"sf": sf}) == case.definition
    assert case.found(case.definition.run(case.table(case.rows))) == case.expected(), str(case)


def check_live(seed: int, zone: str | None) -> None:
    rng = random.Random(seed)
    case = Case(rng, zone)
    if case.fill and any(span.rows for span in case.spans):
        return
    rows, lateness = list(case.rows), "40d"
    rng.shuffle(rows)
    if rng.random() < 0.5:
        rows.sort(key=lambda row: row["t"])
        lateness = "0s"
    live = case.definition.live(lateness=lateness)
    parts, at = [], 0
    while at < len(rows):
        # Rows of equal time come in one batch: those behind the watermark would be late.
        size = rng.choice([1, 1, 3])
        while (
            lateness == "0s"
            and at + size < len(rows)
            and (rows[at + size]["t"] == rows[at + size - 1]["t"])
        ):
            size += 1
        parts.append(live.feed(case.table(rows[at : at + size])))
        at += size
        if rng.random() < 0.4:
            live = Live.from_bytes(live.to_bytes())
    parts.append(live.finish())
    assert live.late == 0
    assert case.found(pa.concat_tables(parts)) == case.expected(), str(case)


@pytest.mark.parametrize("zone", ZONES)
@given(st.integers(0, 2**32))
def test_ends_of_tables(zone: str | None, seed: int) -> None:
    check_run(seed, zone)


@pytest.mark.parametrize("zone", ZONES)
@given(st.integers(0, 2**32))
def test_ends_in_order_of_arrival(zone: str | None, seed: int) -> None:
    check_live(seed, zone)


@pytest.mark.exhaustive
@pytest.mark.parametrize("zone", ZONES)
def test_many_ends(zone: str | None) -> None:
    for seed in range(500):
        check_run(seed, zone)
        check_live(seed, zone)


# ---- by hand -------------------------------------------------------------------------------------


def local_table(zone: str, *times: str) -> Any:
    when = [datetime.fromisoformat(time) for time in times]
    return pa.table({"t": pa.array(when, pa.timestamp("us", zone)), "x": list(range(len(when)))})


def ends_of(table: Any) -> list[tuple[str, str]]:
    return [
        (row["window_start"].isoformat(), row["window_end"].isoformat())
        for row in table.to_pylist()
    ]


def test_a_day_of_23_and_one_of_25_hours() -> None:
    day = sf.rolling(on="t", every="1d", zone="Europe/Berlin", n=sf.count().over("1d"))
    spring = local_table("Europe/Berlin", "2021-03-28T00:00+01:00", "2021-03-28T23:59+02:00")
    assert ends_of(day.run(spring)) == [("2021-03-28T00:00:00+01:00", "2021-03-29T00:00:00+02:00")]
    assert day.run(spring)["n"].to_pylist() == [2]
    autumn = local_table("Europe/Berlin", "2021-10-31T00:00+02:00", "2021-10-31T23:59+01:00")
    assert ends_of(day.run(autumn)) == [("2021-10-31T00:00:00+02:00", "2021-11-01T00:00:00+01:00")]
    assert day.run(autumn)["n"].to_pylist() == [2]


def test_a_day_without_midnight_begins_behind_the_gap() -> None:
    day = sf.rolling(on="t", every="1d", zone="America/Sao_Paulo", n=sf.count().over("1d"))
    table = local_table("America/Sao_Paulo", "2018-11-03T23:59-03:00", "2018-11-04T01:00-02:00")
    assert ends_of(day.run(table)) == [
        ("2018-11-03T00:00:00-03:00", "2018-11-04T01:00:00-02:00"),
        ("2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"),
    ]


def test_an_offset_inside_the_hour_that_is_missing_or_twice() -> None:
    day = sf.rolling(
        on="t", every="1d", offset="2h30m", zone="Europe/Berlin", n=sf.count().over("1d")
    )
    spring = local_table("Europe/Berlin", "2021-03-28T01:59+01:00", "2021-03-28T03:00+02:00")
    assert [end for _, end in ends_of(day.run(spring))] == [
        "2021-03-28T03:00:00+02:00",
        "2021-03-29T02:30:00+02:00",
    ]
    autumn = local_table("Europe/Berlin", "2021-10-31T02:29+02:00", "2021-10-31T02:31+01:00")
    assert [end for _, end in ends_of(day.run(autumn))] == [
        "2021-10-31T02:30:00+02:00",
        "2021-11-01T02:30:00+01:00",
    ]


def test_weeks_count_from_1970() -> None:
    week = sf.rolling(on="t", every="7d", zone="Europe/Berlin", n=sf.count().over("7d"))
    table = local_table("Europe/Berlin", "2021-03-26T12:00+01:00")
    # 2021-03-25 is day 18711 since 1970, a multiple of 7.
    assert ends_of(week.run(table)) == [("2021-03-25T00:00:00+01:00", "2021-04-01T00:00:00+02:00")]


def test_fill_gives_every_end_between_the_first_and_the_last_of_a_key() -> None:
    table = pa.table({"t": [1, 2, 33, 4, 5], "k": ["a", "a", "a", "b", "b"], "x": [1, 2, 4, 8, 16]})
    definition = sf.rolling(
        on="t",
        by="k",
        every=sf.time(10),
        fill=True,
        n=sf.count().over(sf.time(10)),
        s=sf.sum("x").over(sf.time(10)),
        ratio=sf.sum("x").over(sf.time(10)).fill_null(0) + 1,
        life=sf.sum("x").over("lifetime"),
    )
    expected = [
        ("a", 10, 2, 3, 4, 3), ("a", 20, 0, None, 1, 3), ("a", 30, 0, None, 1, 3),
        ("a", 40, 1, 4, 5, 7), ("b", 10, 2, 24, 25, 24),
    ]  # fmt: skip
    live = definition.live(lateness=100)
    parts = [live.feed(table.slice(0, 2)), live.feed(table.slice(2)), live.finish()]
    for found in (definition.run(table), pa.concat_tables(parts)):
        rows = [
            (r["k"], r["window_end"], r["n"], r["s"], r["ratio"], r["life"])
            for r in found.to_pylist()
        ]
        assert sorted(rows) == expected


def test_fill_over_a_long_gap_is_refused() -> None:
    definition = sf.rolling(on="t", every=sf.time(1), fill=True, n=sf.count().over(sf.time(1)))
    table = pa.table({"t": [0, 10**12]})
    with pytest.raises((DataError, WindowError), match="every"):
        definition.run(table)


# ---- formulas and conditions with every= ---------------------------------------------------------


def check_formulas(seed: int) -> None:
    """Formulas and conditions at ends are those of the rows that windows hold there."""
    rng = random.Random(seed)
    rows = [
        {
            "id": i,
            "k": rng.choice(["a", "b"]),
            "t": rng.randint(-20, 40),
            "x": rng.choice([None, 1, 2, 6]),
        }
        for i in range(rng.choice([1, 10, 25]))
    ]
    schema = pa.schema({"id": pa.int64(), "k": pa.string(), "t": pa.int64(), "x": pa.int64()})
    step, length = rng.choice([3, 5, 10]), rng.choice([4, 10, 17])
    big = sf.col("x") > 1
    window = sf.time(length)
    definition = sf.rolling(
        on="t",
        by="k",
        order="id",
        every=sf.time(step),
        ids=sf.collect("id").over(window),
        some=sf.collect("id").where(big).over(window),
        least=sf.count().where(big).over(window, min_count=2),
        spread=sf.max("x").over(window) - sf.min("x").over(window),
        share=sf.count().where(big).over(window) / sf.count().over(window),
        is_a=(sf.col("k") == "a") & (sf.count().over(window) > 1),
        since=sf.since_last("x").over(window),
        first=sf.since_first().where(big).over(window),
        gap=sf.longest_gap().over(window),
        faded=sf.decayed_count("t", half_life=2).over(window),
    )
    table = pa.Table.from_pylist(rows, schema)
    live = definition.live(lateness=100)
    cut = len(rows) // 2
    parts = [live.feed(table.slice(0, cut))]
    live = Live.from_bytes(live.to_bytes())
    parts += [live.feed(table.slice(cut)), live.finish()]
    for found in (definition.run(table), pa.concat_tables(parts)):
        for row in found.to_pylist():
            held = [rows[i] for i in row["ids"]]
            passing = [r for r in held if r["x"] is not None and r["x"] > 1]
            xs = [r["x"] for r in held if r["x"] is not None]
            end = row["window_end"]
            assert row["some"] == ([r["id"] for r in passing] or None)
            assert row["least"] == (len(passing) if len(passing) > 1 else None)
            assert row["spread"] == (max(xs) - min(xs) if xs else None)
            assert row["share"] == len(passing) / len(held)
            assert row["is_a"] == (row["k"] == "a" and len(held) > 1)
            known = [r["t"] for r in held if r["x"] is not None]
            assert row["since"] == (end - max(known) if known else None)
            assert row["first"] == (end - min(r["t"] for r in passing) if passing else None)
            times = [r["t"] for r in held]
            gaps = [b - a for a, b in pairwise(times)]
            assert row["gap"] == max(gaps, default=None)
            assert row["faded"] == pytest.approx(sum(2.0 ** ((t - end) / 2) for t in times))


@given(st.integers(0, 2**32))
def test_formulas_at_ends(seed: int) -> None:
    check_formulas(seed)


@pytest.mark.exhaustive
def test_many_formulas_at_ends() -> None:
    for seed in range(1500):
        check_formulas(seed)


# ---- mistakes ------------------------------------------------------------------------------------


@for_each(
    "given, words",
    [
        ({"every": "1h", "zone": "Europe/Berlin"}, "zone= needs every in whole days"),
        ({"every": "36h", "zone": "Europe/Berlin"}, "zone= needs every in whole days"),
        ({"every": sf.time(5), "zone": "Europe/Berlin"}, "zone= needs every in whole days"),
        ({"every": "1d", "zone": "Europe/Bern"}, "zone must be the name of a time zone"),
        ({"every": "1d", "zone": "../etc"}, "zone must be the name of a time zone"),
        ({"every": "1d", "zone": ""}, "zone must be the name of a time zone"),
        ({"every": "1d", "zone": 3}, "zone must be the name of a time zone"),
        ({"every": "1d", "zone": "a\0b"}, "zone must be the name of a time zone"),
        ({"every": 5, "zone": "Europe/Berlin"}, "zone needs a duration as every"),
        ({"zone": "Europe/Berlin"}, "zone needs a duration as every"),
        ({"fill": True}, "fill needs a duration as every"),
        ({"every": 5, "fill": True}, "fill needs a duration as every"),
        ({"every": "window", "fill": True}, "fill needs a duration as every"),
        ({"every": "1d", "fill": 1}, "fill must be True or False"),
        ({"every": "1d", "fill": "yes"}, "fill must be True or False"),
        ({"every": "1d", "zone": "Europe/Berlin", "offset": 5}, "offset"),
    ],
)
def test_every_that_makes_no_sense_gives_one_sentence(given: dict[str, Any], words: str) -> None:
    table = pa.table({"t": pa.array([1], pa.timestamp("us"))})
    with pytest.raises((WindowError, DefinitionError, ValueTypeError), match=words) as caught:
        sf.rolling(on="t", n=sf.count().over("1d"), **given).run(table)
    assert "\n" not in str(caught.value)


@for_each("kind", [pa.int64(), pa.date32()])
def test_a_zone_needs_timestamps(kind: Any) -> None:
    definition = sf.rolling(on="t", every="1d", zone="Europe/Berlin", n=sf.count().over("1d"))
    table = pa.table({"t": pa.array([1, 2], pa.int32()).cast(kind)})
    for run in (definition.run, definition.live(lateness="1h").feed):
        with pytest.raises(ValueTypeError) as caught:
            run(table)
        assert "\n" not in str(caught.value)


@for_each("year", [1850, 2250])
def test_days_of_far_years_are_not_known(year: int) -> None:
    definition = sf.rolling(on="t", every="1d", zone="Europe/Berlin", n=sf.count().over("1d"))
    table = pa.table({"t": pa.array([datetime(year, 1, 1)], pa.timestamp("us"))})
    with pytest.raises(DataError, match="the years 1900 to 2199"):
        definition.run(table)


def test_fill_is_refused_with_revise() -> None:
    definition = sf.rolling(on="t", every="1d", fill=True, n=sf.count().over("1d"))
    with pytest.raises(DefinitionError, match="fill=True needs emit"):
        definition.live(lateness="1h", emit="revise")
