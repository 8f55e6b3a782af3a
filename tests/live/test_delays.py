"""`lateness` predicts what a replay through `live` gives; `why` finds the rows behind a number."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import (
    ColumnError,
    DataError,
    DefinitionError,
    ValueTypeError,
    WindowError,
)

FEATURES = sf.rolling(
    on="t",
    by="k",
    s=sf.sum("x").over(sf.time(300)),
    last=sf.last("x").over(5),
    seen=sf.collect("x").over(sf.time(100)),
)
EVERY = sf.rolling(on="t", by="k", every=sf.time(100), s=sf.sum("x").over(sf.time(200)))


def events(seed: int, count: int = 400) -> Any:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 10 * count, count))
    return pa.table(
        {
            "t": times,
            "came": times + rng.exponential(60, count).astype(np.int64),
            "k": pa.array([("a", "b", None)[i] for i in rng.integers(0, 3, count)]),
            "x": rng.integers(0, 50, count),
        }
    )


def replayed(definition: sf.Rolling, table: Any, lateness: int) -> tuple[int, Any, Any]:
    """Push events one by one in order of arrival: late ones, accepted ones, final results."""
    live = definition.live(lateness=lateness, late="raise", schema=table.schema)
    accepted, late = [], 0
    for row in table.sort_by("came").to_pylist():
        try:
            live.push(row)
            accepted.append(row)
        except DataError:
            late += 1
    return late, pa.Table.from_pylist(accepted, table.schema), len(table)


def key_of(row: dict[str, Any], names: list[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("definition", [FEATURES, EVERY], ids=["rows", "every"])
def test_predictions_equal_a_replay(definition: sf.Rolling, seed: int) -> None:
    table = events(seed, 150)
    found = definition.lateness(table, arrived="came").to_pylist()
    assert found[0]["lateness"] == 0
    assert found[-1]["late"] == 0
    names = ["t", "came", "k", "x"] if definition.slide is None else ["k", "window_end"]
    whole = {key_of(row, names): row for row in definition.run(table).to_pylist()}
    for row in found:
        late, accepted, count = replayed(definition, table, row["lateness"])
        assert row["late"] == late
        assert row["late_share"] == late / count
        kept = {key_of(one, names): one for one in definition.run(accepted).to_pylist()}
        if definition.slide is None:
            changed = sum(whole[key] != one for key, one in kept.items())
        else:
            changed = sum(kept.get(key) != one for key, one in whole.items())
        assert row["changed"] == changed
        assert (row["largest_change"] is not None) == (changed > 0)


def test_durations_and_given_choices() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    minutes = [0, 10, 4, 20, 11]
    table = pa.table(
        {"t": [start + timedelta(minutes=each) for each in minutes], "x": [1.0, 2.0, 3.0, 4.0, 5.0]}
    )
    features = sf.rolling(on="t", s=sf.sum("x").over("1h"))
    found = features.lateness(table, delays=["5m", timedelta(minutes=6, seconds=1), "1h"])
    assert found["lateness"].to_pylist() == ["5m", "361s", "1h"]
    assert found["late"].to_pylist() == [2, 1, 0]
    assert found["changed"].to_pylist() == [2, 1, 0]
    by_default = features.lateness(table)["lateness"].to_pylist()
    assert len(by_default) == 20
    assert by_default[-1] == "10m"  # the first that is longer than nine minutes


def test_wrong_input() -> None:
    table = events(1, 20)
    with pytest.raises(ColumnError, match="no column 'arrived'"):
        FEATURES.lateness(table, arrived="arrived")
    with pytest.raises(WindowError, match="lateness must be a duration or a number"):
        FEATURES.lateness(table, delays=[-1])
    for wrong in (5, "1m"):
        with pytest.raises(ValueTypeError, match="expected delays as a list"):
            FEATURES.lateness(table, delays=wrong)  # type: ignore[arg-type]
    with pytest.raises(ColumnError, match="no column 'x'"):
        FEATURES.lateness(table.drop_columns(["x"]))
    with pytest.raises(ColumnError, match="no column 'sum'"):
        FEATURES.why({"t": 1, "k": "a"}, "sum", table)
    with pytest.raises(ColumnError, match="the row has no 'k'"):
        FEATURES.why({"t": 1}, "s", table)
    with pytest.raises(DataError, match="value of 't' must be int64"):
        FEATURES.why({"t": "x", "k": "a"}, "s", table)
    with pytest.raises(DefinitionError, match="asked= needs known="):
        FEATURES.why({"t": 1, "k": "a", "at": 3}, "s", table, asked="at")
    with pytest.raises(DefinitionError, match="every"):
        EVERY.why({"t": 1, "k": "a"}, "s", table)


def test_an_empty_table() -> None:
    found = FEATURES.lateness(events(1, 0), arrived="came")
    assert found.select(["lateness", "late", "changed"]).to_pylist() == [
        {"lateness": 0, "late": 0, "changed": 0}
    ]


@pytest.mark.parametrize("known", [None, "came"])
def test_the_rows_behind_a_number(known: str | None) -> None:
    """Folding the rows by hand gives the number."""
    table = events(5)
    features = sf.rolling(
        on="t",
        by="k",
        s=sf.sum("x").over(sf.time(300)),
        big=sf.count().where(sf.col("x") > 25).over(sf.time(300), closed="left"),
        rows=sf.sum("x").over(5),
        ever=sf.sum("x").over("lifetime"),
        mean=sf.sum("x").over(sf.time(300)) / sf.count().over(7),
    )
    questions = table.slice(0, 400).select(["t", "k"])
    answers = features.run(table, at=questions, known=known)
    for number in range(0, 400, 23):
        row = answers.slice(number, 1)
        for name in ("s", "rows", "ever"):
            behind = features.why(row, name, table, known=known)
            assert sum(behind["x"].to_pylist()) == (row[name][0].as_py() or 0)
            assert behind["t"].to_pylist() == sorted(behind["t"].to_pylist())
        question = {"t": row["t"][0].as_py(), "k": row["k"][0].as_py()}
        behind = features.why(question, "big", table, known=known)
        assert len(behind) == row["big"][0].as_py()
        assert all(x > 25 for x in behind["x"].to_pylist())
        behind = features.why(question, "mean", table, known=known).to_pylist()
        sums = [one["x"] for one in behind if "sum" in one["part"]]
        counts = [one for one in behind if "count" in one["part"]]
        if counts and sums:
            assert row["mean"][0].as_py() == sum(sums) / len(counts)


def test_why_gives_the_kind_of_table_of_the_events() -> None:
    table = events(5, 50)
    behind = FEATURES.why({"t": 400, "k": "a"}, "s", table.to_pandas())
    assert type(behind).__module__.startswith("pandas")
    assert list(behind.columns) == ["t", "came", "k", "x", "part"]
