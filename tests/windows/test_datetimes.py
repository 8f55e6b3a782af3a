"""Time windows over datetimes: zones, clock changes, datetime64, before 1970."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.errors import TimeOrderError, ValueTypeError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NEW_YORK, BERLIN, LORD_HOWE = map(
    ZoneInfo, ("America/New_York", "Europe/Berlin", "Australia/Lord_Howe")
)


def moment(time: datetime) -> timedelta:
    """Return the time since 1970 in UTC; without a zone a datetime is in UTC."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH


def counts(window: sf.Time, times: list[Any]) -> list[int]:
    """Push every time and return how many rows each one sees."""
    live = sf.Window(sf.count(), window, checked=True)
    results = []
    for time in times:
        results.append(live.push(time, None))
        live.check()
    return results


ZONES: Any = st.sampled_from(
    [None, UTC, NEW_YORK, BERLIN, LORD_HOWE, timezone(timedelta(hours=5, minutes=45, seconds=7))]
)


@given(
    st.lists(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=ZONES), max_size=12),
    st.sampled_from(["1h", "90s", "7d", "365d", timedelta(microseconds=1)]),
    st.sampled_from(["right", "left", "both", "neither"]),
)
def test_any_datetimes(times: list[datetime], length: str | timedelta, closed: str) -> None:
    times.sort(key=moment)
    units = {"1h": timedelta(hours=1), "90s": timedelta(seconds=90)}
    span = units.get(length) if isinstance(length, str) else length
    span = span or timedelta(days=int(str(length)[:-1]))
    expected = []
    for at, time in enumerate(times):
        end = moment(time)
        seen = [moment(other) for other in times[: at + 1]]
        expected.append(
            sum(
                (end - span <= t if closed in ("left", "both") else end - span < t)
                and (t <= end if closed in ("right", "both") else t < end)
                for t in seen
            )
        )
    assert counts(sf.time(length, closed=closed), times) == expected


def test_both_half_past_ones_of_a_clock_change() -> None:
    """On 2024-11-03 New York has 01:30 twice, an hour apart: `fold` tells which is which."""
    times = [
        datetime(2024, 11, 3, 1, 30, tzinfo=NEW_YORK),
        datetime(2024, 11, 3, 1, 45, tzinfo=NEW_YORK),
        datetime(2024, 11, 3, 1, 30, tzinfo=NEW_YORK, fold=1),
        datetime(2024, 11, 3, 1, 45, tzinfo=NEW_YORK, fold=1),
    ]
    assert counts(sf.time("1h"), times) == [1, 2, 2, 2]
    assert counts(sf.time("1h", closed="both"), times) == [1, 2, 3, 3]
    assert counts(sf.time("16m"), times) == [1, 2, 1, 2]
    with pytest.raises(TimeOrderError):
        counts(sf.time("1h"), [times[2], times[0]])


def test_the_hour_that_is_left_out() -> None:
    """From 01:59 to 03:01 in Berlin, on 2024-03-31, are two minutes."""
    times = [
        datetime(2024, 3, 31, 1, 59, tzinfo=BERLIN),
        datetime(2024, 3, 31, 3, 1, tzinfo=BERLIN),
    ]
    assert counts(sf.time("3m"), times) == [1, 2]
    assert counts(sf.time("2m"), times) == [1, 1]


def test_a_day_is_24_hours() -> None:
    times = [
        datetime(2024, 3, 30, 12, tzinfo=BERLIN),
        datetime(2024, 3, 31, 12, tzinfo=BERLIN),  # 23 hours later
    ]
    assert counts(sf.time("1d"), times) == [1, 2]
    assert counts(sf.time("23h"), times) == [1, 1]


def test_zones_mix_and_naive_means_utc() -> None:
    times = [
        datetime(2024, 1, 1, 12, 0),
        datetime(2024, 1, 1, 13, 0, tzinfo=BERLIN),  # the same moment
        datetime(2024, 1, 1, 7, 30, tzinfo=NEW_YORK),
        np.datetime64("2024-01-01T12:45"),
    ]
    assert counts(sf.time("30m"), times) == [1, 2, 1, 2]


def test_a_zone_that_does_not_know() -> None:
    """A tzinfo whose offset is None leaves a datetime naive, as in Python."""

    class Unknown(tzinfo):
        tzname = dst = None  # type: ignore[assignment]

        def utcoffset(self, _: datetime | None) -> timedelta | None:
            return None

    times = [datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=Unknown())]
    assert counts(sf.time("1s"), times) == [1, 2]


def test_an_error_in_a_zone_comes_out_as_it_is() -> None:
    class Broken(tzinfo):
        tzname = dst = None  # type: ignore[assignment]

        def utcoffset(self, _: datetime | None) -> timedelta | None:
            raise LookupError("no such zone")

    window = sf.Window(sf.count(), sf.time("1s"), checked=True)
    window.push(datetime(2024, 1, 1), None)
    with pytest.raises(LookupError, match="no such zone"):
        window.push(datetime(2024, 1, 2, tzinfo=Broken()), None)
    window.check()
    assert (len(window), window.query()) == (1, 1)


def test_before_1970_and_far_away() -> None:
    times = [
        datetime(1, 1, 1),
        datetime(1, 1, 1, 0, 0, 1),
        datetime(1600, 2, 29, 23, 59, 59, 999999),
        datetime(1600, 3, 1),
        datetime(1969, 12, 31, 23, 59, 59),
        datetime(1970, 1, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
    ]
    assert counts(sf.time("1s", closed="both"), times) == [1, 2, 1, 2, 1, 2, 1]
    assert counts(sf.time("1s"), times) == [1, 1, 1, 2, 1, 1, 1]


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "ns"])
def test_datetime64(unit: Any) -> None:
    days = ["1600-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "2024-03-01"]
    if unit == "ns":  # which reaches from 1677 to 2262
        days[0] = "1700-01-01"
    times = [np.datetime64(day, unit) for day in days]
    assert counts(sf.time("1d", closed="both"), times) == [1, 1, 2, 1, 2]
    assert counts(sf.time("25h"), times) == [1, 1, 2, 1, 2]


def test_finer_than_microseconds_is_refused() -> None:
    window = sf.Window(sf.count(), sf.time("1s"), checked=True)
    window.push(np.datetime64("2024-01-01T00:00:00.000001000"), None)
    with pytest.raises(ValueTypeError, match="microseconds"):
        window.push(np.datetime64("2024-01-01T00:00:00.000001001"), None)

    class Fine(datetime):
        nanosecond = 1

    class NotATime(datetime):
        nanosecond = float("nan")

    for wrong in (Fine(2024, 1, 2), NotATime(2024, 1, 2)):
        with pytest.raises(ValueTypeError, match="microseconds"):
            window.push(wrong, None)
    assert len(window) == 1
    with pytest.raises(sf.errors.WindowError, match="microseconds"):
        sf.Window(sf.count(), sf.time("1500ns"))
    assert counts(sf.time("2000ns"), [datetime(2024, 1, 1)]) == [1]


@pytest.mark.parametrize(
    "wrong",
    [5, 5.0, "2024-01-01", None, date(2024, 1, 1), np.datetime64("NaT"), timedelta(1), np.int64(3)],
    ids=repr,
)
def test_what_is_no_datetime(wrong: Any) -> None:
    window = sf.Window(sf.count(), sf.time("1h"), checked=True)
    window.push(datetime(2024, 1, 1), None)
    for step in (lambda: window.push(wrong, None), lambda: window.advance(wrong)):
        with pytest.raises(ValueTypeError):
            step()
        window.check()
        assert (len(window), window.query()) == (1, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        datetime(2024, 1, 1),
        np.datetime64("2024-01-01"),
        np.datetime64("2024-01-01", "ns"),
        np.timedelta64(3, "s"),
        timedelta(1),
        "1",
        None,
        True,
        1j,
        float("nan"),
        float("inf"),
        2**63,
        10**400,
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_number(wrong: Any) -> None:
    window = sf.Window(sf.count(), sf.time(10), checked=True)
    window.push(0, None)
    for step in (lambda: window.push(wrong, None), lambda: window.advance(wrong)):
        with pytest.raises(ValueTypeError):
            step()
        window.check()
        assert (len(window), window.query()) == (1, 1)


def test_backwards_names_both_times() -> None:
    window = sf.Window(sf.count(), sf.time("1h"), checked=True)
    window.push(datetime(2024, 5, 1, 12, 30), None)
    with pytest.raises(TimeOrderError, match="2024-05-01 12:30:00 to 2024-05-01 12:29:59"):
        window.push(datetime(2024, 5, 1, 12, 29, 59), None)
    window.push(np.datetime64("20000-01-01"), None)  # beyond what a datetime can say
    with pytest.raises(TimeOrderError, match="2024"):
        window.push(datetime(2024, 5, 1), None)
    assert (len(window), window.query()) == (1, 1)
    window.check()
