"""`run(data, since=, until=)`: day by day gives what one run gives, from the rows it needs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import ColumnError, DataError, DefinitionError, ValueTypeError

DAY = 86_400_000_000
DAYS = 30


MICROS = pa.timestamp("us")


def table(rows: int = 4000, kind: pa.DataType = MICROS, seed: int = 1) -> pa.Table:
    """Rows of 30 days in any order, many at equal times and at midnight."""
    rng = np.random.default_rng(seed)
    times = rng.integers(0, DAYS * 48, rows) * (DAY // 48)
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us")).cast(kind),
            "k": rng.integers(0, 7, rows),
            "x": rng.integers(-9, 9, rows),
            "km": times // (5 * DAY // 48),
            "mark": rng.random(rows) < 0.2,
        }
    )


def day(n: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(days=n)


def sorted_rows(result: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, (row.values() for row in result.to_pylist())), key=repr)


WINDOWS = {
    "right": sf.time("36h"),
    "left": sf.time("1d", closed="left"),
    "both": sf.time("90m", closed="both"),
    "delay": sf.time("1h", delay="2d"),
    "ahead": sf.time("30h", ahead=True),
    "rows": sf.rows(9),
    "session": sf.session("90m"),
    "delta": sf.delta(2, on="km"),
    "marked": sf.punctuated("mark"),
    "ever": sf.lifetime(),
}


def definition(*names: str, **more: Any) -> sf.Rolling:
    columns = {name: sf.sum("x").over(WINDOWS[name]) for name in names}
    columns |= {f"n_{name}": sf.count().over(WINDOWS[name]) for name in names}
    return sf.rolling(on="ts", by="k", columns=columns, **more)


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("keyed", [True, False])
def test_days_give_what_one_run_gives(name: str, keyed: bool) -> None:
    features = definition(name)
    if not keyed:
        features = sf.rolling(on="ts", columns=dict(features.columns))
    data = table()
    parts = [features.run(data, since=day(n), until=day(n + 1)) for n in range(DAYS)]
    assert all(len(part) for part in parts)
    assert sorted_rows(pa.concat_tables(parts)) == sorted_rows(features.run(data))


@pytest.mark.parametrize(
    ("every", "more"),
    [
        ("1h", {}),
        ("7h", {"offset": "2h"}),
        ("1d", {"zone": "Europe/Berlin"}),
        ("6h", {"fill": True}),
        (5, {}),
        ("window", {}),
    ],
    ids=str,
)
@pytest.mark.parametrize("closed", ["left", "right"])
def test_days_of_slides(every: Any, more: Any, closed: str) -> None:
    window = sf.session("90m") if every == "window" else sf.time("2d", closed=closed)
    columns = {"n": sf.count().over(window), "s": sf.sum("x").over(window)}
    if every == "6h":
        columns["last"] = sf.sum("x").over(sf.rows(4))
    features = sf.rolling(on="ts", by="k", every=every, **more, columns=columns)
    data = table(400)
    days = range(-2, DAYS + 4)
    parts = [features.run(data, since=day(n), until=day(n + 1)) for n in days]
    whole = features.run(data)
    assert len(whole) > 50
    assert sorted_rows(pa.concat_tables(parts)) == sorted_rows(whole)
    ends = parts[10]["window_end"].to_pylist()
    assert all(day(8) < end <= day(9) for end in ends)


def test_only_the_history_of_the_windows_is_read() -> None:
    # The sum of each day before overflows, so that a run over more than needed would raise.
    huge = [2**62] * 4
    times = [day(0), day(0), day(0), day(1), day(5), day(6), day(9), day(9)]
    data = pa.table({"ts": times, "x": [*huge, 1, 2, *huge[:2]]})
    features = sf.rolling(on="ts", s=sf.sum("x").over("1d", closed="both"))
    with pytest.raises(sf.errors.ResultOverflowError):
        features.run(data)
    result = features.run(data, since=day(6), until=day(7))
    assert result.to_pylist() == [{"ts": day(6), "x": 2, "s": 3}]
    ahead = sf.rolling(on="ts", s=sf.sum("x").over(sf.time("2d", ahead=True)))
    assert ahead.run(data, since=day(6), until=day(7))["s"].to_pylist() == [2]


def test_open_periods() -> None:
    features, data = definition("right", "left"), table()
    first = features.run(data, until="1970-01-11")
    last = features.run(data, since="1970-01-11")
    assert sorted_rows(pa.concat_tables([first, last])) == sorted_rows(features.run(data))
    assert first["ts"].to_numpy().max() < np.datetime64("1970-01-11")
    assert features.run(data, since=None, until=None).equals(features.run(data))
    assert len(features.run(data, since=day(3), until=day(3))) == 0


MOMENTS = [
    date(1970, 1, 4),
    datetime(1970, 1, 4),
    "1970-01-04",
    "1970-01-04 00:00:00",
    np.datetime64("1970-01-04"),
    np.datetime64("1970-01-04", "ns"),
    pd.Timestamp("1970-01-04"),
]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_times_of_all_types(unit: str, zone: str | None) -> None:
    features = definition("right")
    data = table(kind=pa.timestamp(unit, zone))
    whole = features.run(data)
    moments = whole["ts"].cast(pa.int64()).to_numpy() // {"s": 1, "ms": 10**3, "us": 10**6}.get(
        unit, 10**9
    )
    expected = whole.filter(pa.array(moments >= 3 * 86400))
    for since in MOMENTS:
        assert features.run(data, since=since).equals(expected), since
    if zone is not None:
        tokyo = datetime(1970, 1, 4, 9, tzinfo=timezone(timedelta(hours=9)))
        assert features.run(data, since=tokyo).equals(expected)
        assert features.run(data, since=datetime(1970, 1, 4, tzinfo=UTC)).equals(expected)


def test_a_time_between_two_steps() -> None:
    features = sf.rolling(on="ts", n=sf.count().over("2s"))
    data = pa.table({"ts": pa.array([1, 2, 3], pa.timestamp("s"))})
    at = "1970-01-01T00:00:02.5"
    assert features.run(data, since=at)["n"].to_pylist() == [2]
    assert features.run(data, until=at)["n"].to_pylist() == [1, 2]
    fine = pa.table({"ts": pa.array([1000, 1001, 1002], pa.timestamp("ns"))})
    count = sf.rolling(on="ts", n=sf.count().over(timedelta(seconds=1)))
    since = pd.Timestamp(1001, unit="ns")
    assert count.run(fine, since=since)["n"].to_pylist() == [2, 3]
    assert count.run(fine, since=np.datetime64(1001, "ns"))["n"].to_pylist() == [2, 3]


def test_dates_and_numbers() -> None:
    days = pa.table({"d": pa.array(range(9), pa.date32()), "x": range(9)})
    features = sf.rolling(on="d", s=sf.sum("x").over("2d"))
    assert features.run(days, since="1970-01-04", until=day(5))["s"].to_pylist() == [5, 7]
    numbers = pa.table({"t": range(9), "x": range(9)})
    features = sf.rolling(on="t", s=sf.sum("x").over(sf.time(2)))
    assert features.run(numbers, since=3, until=5)["s"].to_pylist() == [5, 7]
    assert features.run(numbers, since=2.5, until=4.5)["s"].to_pylist() == [5, 7]
    assert features.run(numbers, since=-(2**70), until=2**70).equals(features.run(numbers))


def test_local_midnight_of_the_zone() -> None:
    features = sf.rolling(on="ts", every="1d", zone="Asia/Tokyo", n=sf.count().over("1d"))
    data = table(kind=pa.timestamp("us", "UTC"))
    ends = features.run(data, since="1970-01-05", until="1970-01-06")["window_end"].to_pylist()
    assert [end.hour for end in ends] == [15]  # midnight in Tokyo is 15:00 UTC
    assert [end.day for end in ends] == [5]


@pytest.mark.parametrize("kind", ["batch", "reader", "pandas", "polars", "lazy", "duckdb"])
def test_all_kinds_of_tables(kind: str) -> None:
    features, data = definition("right", "left"), table().sort_by("ts")
    expected = features.run(data, since=day(5), until=day(6))
    assert 0 < len(expected) < len(data)
    period: Any = {"since": day(5), "until": day(6)}
    if kind == "batch":
        result = features.run(data.combine_chunks().to_batches()[0], **period)
        assert isinstance(result, pa.RecordBatch)
        result = pa.Table.from_batches([result])
    elif kind == "reader":
        result = features.run(data.to_reader(max_chunksize=50), **period).read_all()
    elif kind == "pandas":
        frame = data.to_pandas().set_index("ts")
        result = features.run(frame, **period)
        assert result.index.name == "ts"
        result = pa.Table.from_pandas(result.reset_index(), expected.schema, preserve_index=False)
    elif kind == "polars":
        result = features.run(pl.DataFrame(data), **period).to_arrow()
    elif kind == "lazy":
        result = features.run(pl.DataFrame(data).lazy(), **period)
        assert isinstance(result, pl.LazyFrame)
        result = result.collect().to_arrow()
    else:
        import duckdb

        result = features.run(duckdb.connect().from_arrow(data), **period).to_arrow_table()
    assert result.cast(expected.schema).equals(expected)


def test_a_lazy_frame_and_a_reader_read_no_more_than_needed(tmp_path: Path) -> None:
    data = table(20_000).sort_by("ts")
    features = definition("left")
    days = data["ts"].cast(pa.int64()).to_numpy() // DAY
    seen: list[int] = []

    def count(frame: pl.DataFrame) -> pl.DataFrame:
        seen.append(len(frame))
        return frame

    frame = pl.DataFrame(data).lazy().map_batches(count, predicate_pushdown=True)
    features.run(frame, since=day(20), until=day(21)).collect()
    assert int(((days >= 19) & (days < 21)).sum()) in seen
    assert max(seen) < len(data)
    pl.DataFrame(data).write_parquet(tmp_path / "rows.parquet")
    found = features.run(pl.scan_parquet(tmp_path / "rows.parquet"), since=day(20), until=day(21))
    expected = features.run(data, since=day(20), until=day(21))
    assert found.collect().to_arrow()["left"].equals(expected["left"])

    read = []

    def batches() -> Iterator[Any]:
        for batch in data.to_batches(max_chunksize=100):
            read.append(batch)
            yield batch

    reader = pa.RecordBatchReader.from_batches(data.schema, batches())
    assert len(features.run(reader, since=day(3), until=day(4)).read_all()) > 0
    assert sum(map(len, read)) <= int((days < 4).sum()) + 100


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"since": "yesterday"}, ValueTypeError, "expected a time such as '2026-01-31' as since="),
        ({"since": 3}, ValueTypeError, "expected a time"),
        ({"until": float("nan")}, ValueTypeError, "expected a time"),
        ({"until": pd.NaT}, ValueTypeError, "expected a time"),
        ({"until": np.datetime64("NaT")}, ValueTypeError, "expected a time"),
        ({"since": datetime(2026, 1, 1, tzinfo=UTC)}, ValueTypeError, "has a time zone, but 'ts'"),
        ({"since": day(3), "until": day(2)}, DefinitionError, "is before since="),
        ({"sinse": day(3)}, DefinitionError, "did you mean since="),
        ({"since": day(3), "at": table(3)}, DefinitionError, "filter the questions instead"),
    ],
    ids=str,
)
def test_bad_periods(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        definition("right").run(table(10), **options)


def test_bad_times_and_rows() -> None:
    features = sf.rolling(on="t", s=sf.sum("x").over(sf.time(2)))
    data = pa.table({"t": [1, 2, None, 9], "x": [1, 2, 3, 4]})
    with pytest.raises(DataError, match="is null at row 2"):
        features.run(data, since=9)
    with pytest.raises(ValueTypeError, match="expected a number as since="):
        features.run(data, since="1970-01-01")
    with pytest.raises(ColumnError, match="no column 't'"):
        features.run(data.rename_columns(["u", "x"]), since=1)
    with pytest.raises(DefinitionError, match="need the data"):
        features.explain(since=3)


def test_explain_tells_what_is_read() -> None:
    data = table(10)
    text = definition("left").explain(data, since=day(20), until=day(21))
    assert "returns the rows from 1970-01-21 00:00:00" in text
    assert "reads the rows from 1970-01-20 00:00:00" in text
    assert "to 1970-01-21 23:59:59.999999, because all windows are ranges of time" in text
    text = definition("left", "rows").explain(data, since=day(20), until=day(21))
    assert "reads the rows to 1970-01-21 23:59:59.999999, because 9 may start" in text or (
        "sf.rows(9) may start at any time" in text
    )
