"""Slices of `every=`: final rows become states, and results stay those of a run over all rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import StateError
from slidefold.live.engine import Engine

SCHEMA = pa.schema(
    {"t": pa.int64(), "k": pa.string(), "n": pa.int64(), "x": pa.float64(), "city": pa.string()}
)
END = 10**7
MINUTE = 60 * 10**6


def rows_of(seed: int, count: int = 12_000, nulls_from: int = 0) -> Any:
    """Dense rows of three keys, of which some come late; nulls begin after some rows."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, count // 8, count))
    times[count // 2 :] += 3000  # a silence
    times += random.integers(-40, 40, count)
    holes = (random.random(count) < 0.2) & (np.arange(count) >= nulls_from)
    return pa.table(
        {
            "t": times,
            "k": pa.array(random.choice(["a", "b", "c"], count), mask=random.random(count) < 0.01),
            "n": pa.array(random.integers(-99, 99, count), mask=holes),
            "x": random.integers(-99, 99, count) / 4,
            "city": pa.array([f"city {i}" for i in random.integers(0, 5000, count)]),
        },
        schema=SCHEMA,
    )


def batches(rows: Any, seed: int, lateness: int = 60) -> list[tuple[Any, int]]:
    """Batches without the rows that come too late, and the watermark after each of them."""
    random = np.random.default_rng(seed)
    found, watermark, first = [], -(10**6), 0
    while first < len(rows):
        batch = rows.slice(first, int(random.integers(1, 900)))
        first += len(batch)
        batch = batch.filter(pa.array(batch["t"].to_numpy() > watermark))
        if len(batch):
            watermark = max(watermark, int(batch["t"].to_numpy().max()) - lateness)
        found.append((batch, watermark))
    return found


def plain(value: Any) -> Any:
    """Return floats without the digits that depend on the order of additions."""
    return round(value, 8) if isinstance(value, float) else value


def as_rows(table: Any) -> list[Any]:
    rows = (tuple(map(plain, row.values())) for row in table.to_pylist())
    return sorted(rows, key=repr)


LONG, SHORT = sf.time(700), sf.time(130, closed="both")
FOLDS = {
    "sum": sf.sum("n").over(LONG),
    "some": sf.sum("n").over(SHORT, min_count=40),
    "rows": sf.count().over(LONG),
    "known": sf.count("n").over(SHORT),
    "peak": sf.max("x").over(SHORT),
    "low": sf.min("city").over(LONG),
    "var": sf.var("n").over(SHORT),
    "old": sf.mean("n").over(sf.time(90, delay=35)),
    "first": sf.first("city").over(LONG),
    "last": sf.last("n").over(SHORT),
    "where": sf.max_by("city", "x").over(LONG),
    "big": sf.sum("x").where(sf.col("x") > 5).over(LONG),
}
BESIDE: dict[str, dict[str, Any]] = {
    "folds": {},
    "rows": {"ten": sf.sum("n").over(10)},
    "order": {"median": sf.median("x").over(SHORT), "list": sf.collect("n").over(sf.time(40))},
    "longer": {"median": sf.median("x").over(sf.time(900))},
    "lifetime": {"ever": sf.sum("n").over("lifetime"), "first": sf.first("city").over("lifetime")},
    "per": {"by": sf.count().per("city").over(sf.time(50))},
}


def definition_of(beside: str, **more: Any) -> sf.Rolling:
    return sf.rolling(
        on="t", by="k", every=sf.time(60), columns={**FOLDS, **BESIDE[beside]}, **more
    )


@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("rebuilt", [False, True])
@pytest.mark.parametrize("beside", BESIDE)
def test_final_results_are_those_of_a_run(beside: str, rebuilt: bool, fill: bool) -> None:
    definition = definition_of(beside, offset=7, fill=fill)
    engine = Engine(definition, SCHEMA)
    found, accepted, slices = [], [], 0
    for rows, watermark in batches(rows_of(1, nulls_from=4000), 2):
        accepted.append(rows)
        found.append(engine.take(rows, watermark))
        engine.native.core.check()
        slices = max(slices, engine.native.core.slices)
        if rebuilt:
            kept, horizon = engine.snapshot(), engine.horizon(watermark)
            engine = Engine.rebuild(definition, SCHEMA, "final", (), kept, watermark, horizon)
    found.append(engine.take(SCHEMA.empty_table(), END))
    expected = definition.run(pa.concat_tables(accepted))
    assert as_rows(pa.concat_tables(found)) == as_rows(expected)
    assert (slices > 0) == (beside != "longer")


@pytest.mark.parametrize("emit", ["revise", "change"])
def test_other_emits_end_as_a_run_does(emit: str) -> None:
    definition = definition_of("order")
    engine = Engine(definition, SCHEMA, emit, ())
    last: dict[Any, Any] = {}
    previous: dict[Any, Any] = {}
    accepted, slices = [], 0
    for rows, watermark in [*batches(rows_of(3), 4), (SCHEMA.empty_table(), END)]:
        accepted.append(rows)
        for row in engine.take(rows, watermark).to_pylist():
            row.pop("revision", None)
            last[row["k"], row["window_end"]] = tuple(map(plain, row.values()))
        engine.native.core.check()
        slices = max(slices, engine.native.core.slices)
        engine = Engine.rebuild(definition, SCHEMA, emit, (), engine.snapshot(), watermark)
    expected = definition.run(pa.concat_tables(accepted)).sort_by([("window_end", "ascending")])
    for row in expected.to_pylist():
        values = tuple(map(plain, row.values()))
        if emit == "revise" or previous.get(row["k"]) != values[3:]:
            assert last[row["k"], row["window_end"]] == values
        previous[row["k"]] = values[3:]
    assert slices > 0


def test_windows_of_local_days() -> None:
    random = np.random.default_rng(5)
    start = int(datetime.fromisoformat("2024-03-25T00:00:00+00:00").timestamp() * 10**6)
    times = np.sort(random.integers(0, 16 * 24 * 60, 8000)) * MINUTE + start
    rows = pa.table(
        {"t": pa.array(times, pa.timestamp("us", "UTC")), "n": random.integers(0, 9, 8000)}
    )
    definition = sf.rolling(
        on="t",
        every="1d",
        zone="Europe/Berlin",
        week=sf.sum("n").over("7d"),
        two=sf.count().over("2d", closed="right"),
        hours=sf.max("n").over("30h"),
    )
    engine = Engine(definition, rows.schema)
    found, most = [], 0
    for first in range(0, 8000, 300):
        batch = rows.slice(first, 300)
        found.append(engine.take(batch, int(times[min(first + 299, 7999)]) - 1))
        engine.native.core.check()
        most = max(most, engine.native.core.rows)
    found.append(engine.take(rows.schema.empty_table(), int(times[-1]) + 10 * 24 * 60 * MINUTE))
    assert as_rows(pa.concat_tables(found)) == as_rows(definition.run(rows))
    assert most < 700  # of two days or more there are 1,000


def test_what_is_held_follows_the_slices() -> None:
    """Ten times as many rows per slice take no more room."""

    def held(each: int) -> tuple[int, int]:
        count = 200 * each
        definition = sf.rolling(
            on="t",
            every=sf.time(10),
            s=sf.sum("n").over(sf.time(500)),
            m=sf.mean("n").over(sf.time(95)),
        )
        live = definition.live(lateness=0)
        times = np.arange(count) * 10 // each
        rows = pa.table({"t": times, "n": times})
        for first in range(0, count, 100):
            live.feed(rows.slice(first, 100))
        return live.rows, live.nbytes

    few, many = held(50), held(500)
    assert few[0] < 400
    assert many[0] < 400
    assert many[1] < 1.5 * few[1]


def test_large_states_stand_for_many_rows_only() -> None:
    """A sketch takes the room of many rows."""
    definition = sf.rolling(
        on="t", every=sf.time(100), cities=sf.approx_distinct("city").over(sf.time(250))
    )
    rows = rows_of(6).sort_by("t")
    for shorter in (1, 40):
        times = rows["t"].to_numpy() // shorter
        given = rows.set_column(0, "t", pa.array(times))
        engine = Engine(definition, SCHEMA)
        found = [engine.take(given, int(times.max()) // 2)]
        assert (engine.native.core.slices > 0) == (shorter == 40)
        found.append(engine.take(SCHEMA.empty_table(), END))
        assert as_rows(pa.concat_tables(found)) == as_rows(definition.run(given))


def test_sparse_rows_stay_rows() -> None:
    definition = sf.rolling(on="t", every=sf.time(10), s=sf.sum("n").over(sf.time(5000)))
    live = definition.live(lateness=0)
    live.feed(pa.table({"t": range(0, 10_000, 10), "n": range(1000)}))
    assert live.rows >= 500
    assert live._engine is not None
    assert live._engine.native.core.slices == 0


def test_saved_bytes_hold_the_slices() -> None:
    definition = definition_of("lifetime")
    rows = rows_of(8)
    live = definition.live(lateness=80)
    found = []
    for first in range(0, len(rows), 700):
        found.append(live.feed(rows.slice(first, 700)))
        live = sf.Live.from_bytes(live.to_bytes(), definition)
    found.append(live.finish())
    assert live.late == 0
    assert as_rows(pa.concat_tables(found)) == as_rows(definition.run(rows))


def test_foreign_slices_are_refused() -> None:
    definition = definition_of("folds")
    engine = Engine(definition, SCHEMA)
    engine.take(rows_of(9), 1000)
    kept = engine.snapshot()
    past = kept.past
    assert past is not None
    states = past["states"].to_pylist()
    damaged = [
        [states[0][:-1], *states[1:]],  # too short
        [states[0] + b"x", *states[1:]],
        [states[0][:8] + states[0][16:24] + states[0][8:], *states[1:]],
        [None, *states[1:]],
    ]
    for column in damaged:
        at = past.column_names.index("states")
        other = past.set_column(at, past.schema.field(at), pa.array(column, pa.large_binary()))
        bad = replace(kept, past=other)
        with pytest.raises(StateError):
            Engine.rebuild(definition, SCHEMA, "final", (), bad, 1000)
