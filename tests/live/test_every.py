"""An `every` in time: equal to a run over all rows, whatever the batches."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidefold as sf
from slidefold.errors import ResultOverflowError
from slidefold.live.engine import Engine

SCHEMA = pa.schema({"t": pa.int64(), "k": pa.int64(), "x": pa.float64(), "n": pa.int64()})
CLOSED = st.sampled_from(["left", "right", "both", "neither"])
END = 10**7


@st.composite
def definitions(draw: Any) -> sf.Rolling:
    """Windows of two lengths, of which the slide divides neither as a rule."""
    step = draw(st.integers(16, 40))
    long = draw(st.integers(8 * step + 1, 12 * step))
    short = draw(st.integers(1, long))
    first, second = (
        sf.time(long, closed=draw(CLOSED)),
        sf.time(short, closed=draw(CLOSED)),
    )
    return sf.rolling(
        on="t",
        by=draw(st.sampled_from([(), "k"])),
        every=sf.time(step),
        offset=draw(st.sampled_from([None, 5])),
        columns={
            "total": sf.sum("n").over(first),
            "some": sf.sum("n").over(first, min_count=2),
            "peak": sf.max("x").over(second),
            "mean": sf.mean("x").over(second),
            "rows": sf.count().over(first),
            "known": sf.count("n").over(second),
        },
    )


def batches_of(seed: int) -> list[tuple[Any, int]]:
    """Rows that come late, a long silence, and the watermark after each batch."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(-500, 1500, 120))
    times[80:] += 50_000
    times += random.integers(-40, 40, 120)
    table = pa.table(
        {
            "t": times,
            "k": pa.array(random.integers(0, 3, 120), mask=np.arange(120) == 60),
            "x": random.integers(-9, 9, 120) / 4,
            "n": pa.array(random.integers(-9, 9, 120), mask=random.random(120) < 0.2),
        },
        schema=SCHEMA,
    )
    found, watermark, first = [], -(10**6), 0
    while first < 120:
        size = int(random.integers(1, 40))
        rows = table.slice(first, size)
        rows = rows.filter(pa.array(rows["t"].to_numpy() > watermark))
        newest = int(times[: first + size].max())
        watermark = max(watermark, newest - int(random.integers(20, 300)))
        found.append((rows, watermark))
        first += size
    return found


def as_rows(table: Any) -> list[Any]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@settings(deadline=None, max_examples=25)
@given(definitions(), st.integers(0, 2**32), st.booleans())
def test_final_results_are_those_of_a_run(definition: sf.Rolling, seed: int, rebuilt: bool) -> None:
    engine = Engine(definition, SCHEMA)
    found, accepted = [], []
    for rows, watermark in batches_of(seed):
        accepted.append(rows)
        found.append(engine.take(rows, watermark))
        if rebuilt:
            kept = engine.snapshot()
            horizon = engine.horizon(watermark)
            engine = Engine.rebuild(definition, SCHEMA, "final", (), kept, watermark, horizon)
    found.append(engine.take(SCHEMA.empty_table(), END))
    expected = definition.run(pa.concat_tables(accepted))
    assert as_rows(pa.concat_tables(found)) == as_rows(expected)
    for table in found:
        ends = table["window_end"].to_pylist()
        assert ends == sorted(ends)


@settings(deadline=None, max_examples=15)
@given(definitions(), st.integers(0, 2**32))
def test_revised_results_end_as_those_of_a_run(definition: sf.Rolling, seed: int) -> None:
    engine = Engine(definition, SCHEMA, "revise", ())
    last: dict[Any, Any] = {}
    accepted = []
    for rows, watermark in batches_of(seed):
        accepted.append(rows)
        for row in engine.take(rows, watermark).to_pylist():
            revision = row.pop("revision")
            place = (row.get("k"), row["window_end"])
            assert revision == (last[place][0] + 1 if place in last else 0)
            last[place] = revision, tuple(row.values())
    expected = definition.run(pa.concat_tables(accepted))
    assert sorted((values for _, values in last.values()), key=repr) == as_rows(expected)


@pytest.mark.parametrize("emit", ["final", "revise"])
def test_only_what_ends_hold_may_be_too_large(emit: str) -> None:
    """Rows that are together in no window that ends on the grid do not overflow."""
    large = 2**62
    window = sf.time(130, closed="both")
    definition = sf.rolling(on="t", every=sf.time(16), s=sf.sum("n").over(window))

    def rows(times: list[int]) -> Any:
        columns = [times, [0] * len(times), [0.0] * len(times), [large] * len(times)]
        return pa.table([pa.array(c) for c in columns], schema=SCHEMA)

    engine = Engine(definition, SCHEMA, emit, ())
    with pytest.raises(ResultOverflowError):
        engine.take(rows([14, 143]), 144)  # the window that ends at 144 holds 14
    engine = Engine(definition, SCHEMA, emit, ())
    found = [engine.take(rows([13, 143]), 143), engine.take(SCHEMA.empty_table(), END)]
    ends = [row for table in found for row in table.to_pylist()]
    assert {row["s"] for row in ends} == {large}


def test_local_days_beside_a_column_of_nulls() -> None:
    """Local days differ in length."""
    hours = np.arange(0, 40 * 24, 5)
    times = np.datetime64("2025-03-10T00:00:00", "s") + hours * np.timedelta64(3600, "s")
    table = pa.table({"t": pa.array(times), "x": pa.nulls(len(times))})
    columns: Any = {"n": sf.count().over("14d"), "none": sf.count("x").over("2d")}
    definition = sf.rolling(on="t", every="1d", zone="Europe/Berlin", columns=columns)
    live = definition.live(lateness="1h")
    found = pa.concat_tables([live.feed(table.slice(i, 9)) for i in range(0, len(table), 9)])
    assert pa.concat_tables([found, live.finish()]).equals(definition.run(table))


@pytest.mark.parametrize("other", [sf.sum("x").over(sf.rows(5)), sf.sum("x").over("lifetime")])
def test_filled_ends_beside_windows_that_look_further_back(other: Any) -> None:
    """Ends in a gap come out when the next rows do; older rows must still be there then."""
    columns = {"s": sf.sum("x").over(sf.time(3)), "other": other}
    definition = sf.rolling(on="t", by="k", every=sf.time(10), fill=True, columns=columns)
    for seed in range(20):
        random = Random(seed)
        spans = ((0, 60), (150, 200))
        times = sorted(random.randint(*random.choice(spans)) for _ in range(30))
        keys = [random.choice("ab") for _ in times]
        table = pa.table({"t": times, "k": keys, "x": list(range(30))})
        live = definition.live(lateness=3)
        found = []
        for i in range(0, 30, 4):
            found.append(live.feed(table.slice(i, 4)))
            if seed % 2:
                live = sf.Live.from_bytes(live.to_bytes())
        found.append(live.finish())
        assert as_rows(pa.concat_tables(found)) == as_rows(definition.run(table))
