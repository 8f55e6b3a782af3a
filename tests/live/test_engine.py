"""The engine: `final` is a run over the accepted rows, whatever the batches and the watermarks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.live import Engine, judge
from slidefold.live.snapshot import Snapshot
from tests.support.arrivals import EVERY, FEWER, PER_ROW, SCHEMA, assert_rows, batches

END = 2**63 - 1
ALL = {**PER_ROW, **EVERY}


@pytest.mark.parametrize("name", ALL)
@FEWER
@given(st.data())
def test_final_is_a_run_over_what_was_accepted(name: str, data: st.DataObject) -> None:
    definition = ALL[name]
    engine = Engine(definition, SCHEMA)
    watermark: int | None = None
    accepted, found = [], []
    for batch in data.draw(batches()):
        rows, _ = judge(batch, "t", watermark)
        accepted.append(rows)
        moved = data.draw(st.none() | st.integers(-60, 120), "watermark")
        if moved is not None:
            watermark = moved if watermark is None else max(watermark, moved)
        found.append(engine.take(rows, watermark))
        again = data.draw(st.integers(0, 3), "saved")
        if again:
            horizon = engine.horizon(watermark)
            kept = engine.snapshot() if again == 1 else Snapshot(after(accepted, horizon))
            if again == 3 and horizon is not None:
                # A log loses what it holds in pieces, so that some older rows are still there.
                older = at(accepted, horizon).slice(0, 5)
                kept = Snapshot(pa.concat_tables([kept.rows, older]))
            engine = Engine.rebuild(definition, SCHEMA, "final", (), kept, watermark, horizon)
        check_emitted(definition, found[-1], watermark)
    found.append(engine.take(SCHEMA.empty_table(), END))
    expected = definition.run(pa.concat_tables(accepted))
    assert_rows(pa.concat_tables(found), expected)


def after(tables: list[Any], horizon: int | None) -> Any:
    table = pa.concat_tables(tables)
    return table if horizon is None else judge(table, "t", horizon)[0]


def at(tables: list[Any], horizon: int) -> Any:
    return judge(pa.concat_tables(tables), "t", horizon)[1].drop_columns(["late_reason"])


def check_emitted(definition: sf.Rolling, found: Any, watermark: int | None) -> None:
    """What comes out is complete, and in order of time."""
    times = found["t" if definition.slide is None else "window_end"].to_pylist()
    assert times == sorted(times)
    assert not times or (watermark is not None and times[-1] <= watermark)


@pytest.mark.parametrize(
    ("name", "most", "bounded"),
    [
        ("time left", 19 + 13, True),
        ("session", 19 + 11, True),
        ("every", 19 + 11, True),
        ("every session", 19 + 11, True),
        ("rows", 19 + 2_000 * 3, False),
        ("delta", 19 + 2_000 * 7, False),
        ("punctuated", 19 + 10, True),  # each key's last row is marked
        ("every 3 rows of a time window", 19 + 2_000 + 10, False),  # a row in ten has no third
    ],
)
def test_what_no_window_needs_is_let_go(name: str, most: int, bounded: bool) -> None:
    """Time passes for all keys; windows that do not end by time keep their rows."""
    engine = Engine(ALL[name], SCHEMA)
    for start in range(0, 20_000, 500):
        times = range(start, start + 500)
        rows = pa.table(
            {
                "id": times,
                "k": [str(t // 10) for t in times],
                "t": times,
                "x": [1] * 500,
                "y": [0.5] * 500,
                "km": times,
                "end": [t % 5 == 4 for t in times],
                "unused": ["x"] * 500,
            },
            schema=SCHEMA,
        )
        engine.take(rows, start + 480)
    assert engine.pending == 19
    assert 19 <= len(engine.snapshot().rows) <= most
    horizon = engine.horizon(engine.watermark)
    assert bounded == (horizon is not None and horizon > 19_950)


def test_bad_rows_change_nothing() -> None:
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.delta(5, on="km")))
    schema = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.int64(), "km": pa.int64()})
    engine = Engine(definition, schema)
    engine.take(pa.table([[1, 9], ["a", "a"], [1, 2], [5, 6]], schema=schema), 1)
    falls = pa.table([[5], ["a"], [1], [4]], schema=schema)
    with pytest.raises(sf.errors.TimeOrderError, match=r"decrease.* at row 0"):
        engine.take(falls, 5)
    with pytest.raises(sf.errors.DataError, match="expected rows after the watermark, got 1"):
        engine.take(pa.table([[1], ["a"], [1], [9]], schema=schema), 5)
    with pytest.raises(sf.errors.ColumnError, match="must have one column 'km'"):
        engine.take(falls.drop_columns(["km"]), 5)
    with pytest.raises(sf.errors.ColumnError, match="a column 'z', which the first"):
        engine.take(falls.append_column("z", falls["x"]), 5)
    with pytest.raises(sf.errors.ValueTypeError, match=r"'x' must be int64, .* got double"):
        engine.take(falls.set_column(2, "x", pa.array([0.5])), 5)
    assert (engine.pending, engine.watermark, len(engine.snapshot().rows)) == (1, 1, 2)
    assert engine.take(schema.empty_table(), END)["s"].to_pylist() == [3]


def test_a_definition_that_does_not_fit_is_refused_at_once() -> None:
    definition = sf.rolling(on="t", s=sf.sum("x").over(3))
    with pytest.raises(sf.errors.ColumnError, match="no column 'x'"):
        Engine(definition, pa.schema({"t": pa.int64()}))
    with pytest.raises(sf.errors.ValueTypeError, match="sum takes numbers"):
        Engine(definition, pa.schema({"t": pa.int64(), "x": pa.string()}))
    with pytest.raises(sf.errors.DefinitionError, match="emit must be one of final"):
        Engine(definition, pa.schema({"t": pa.int64(), "x": pa.int64()}), "sometimes")


@pytest.mark.parametrize("kind", [pa.string_view(), pa.dictionary(pa.int32(), pa.string())])
def test_keys_of_any_type_travel(kind: Any) -> None:
    definition = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(5)))
    schema = pa.schema({"t": pa.int64(), "k": kind, "x": pa.int64()})

    def rows(times: list[int], keys: list[str]) -> Any:
        values = pa.array(keys).dictionary_encode() if pa.types.is_dictionary(kind) else keys
        return pa.table([times, pa.array(values, kind), [1] * len(times)], schema=schema)

    engine = Engine(definition, schema)
    first = engine.take(rows([1, 3], ["a", "b"]), 1)
    engine = Engine.rebuild(definition, schema, "final", (), engine.snapshot(), 1)
    second = engine.take(rows([2, 3], ["b", "c"]), END)
    expected = definition.run(rows([1, 3, 2, 3], ["a", "b", "b", "c"]))
    assert second.schema.equals(expected.schema)
    assert_rows(pa.concat_tables([first, second]), expected)


def test_rows_before_the_first_watermark_stay() -> None:
    """Long windows of a key were emptied as long as nobody had told a watermark."""
    definition = sf.rolling(on="t", by="k", n=sf.sum("x").over(sf.time(10_000)))
    schema = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.int64()})
    engine = Engine(definition, schema, "arrival")
    for batch in range(3):
        times = list(range(300 * batch, 300 * batch + 300))
        rows = pa.table({"t": times, "k": ["a"] * 300, "x": [1] * 300}, schema=schema)
        found = engine.take(rows, None)
        assert found["n"].to_pylist()[-1] == 300 * batch + 300


@sf.operator(state={"n": "i8", "top": "f8"}, returns={"n": "i4", "top": "f8"}, commutative=True)
class Peak(sf.Fold):
    """How many values there are, and the largest."""

    identity = staticmethod(lambda: (0, -1e300))
    lift = staticmethod(lambda x: (1, x))
    combine = staticmethod(lambda a, b: (a.n + b.n, max(a.top, b.top)))
    lower = staticmethod(lambda s: (s.n, s.top))


@pytest.mark.parametrize("emit", ["final", "arrival"])
def test_declared_operators_in_windows_of_many_rows(emit: str) -> None:
    """Compiled where numba is installed: states in all levels of a store."""
    rng = np.random.default_rng(2)
    rows = 6_000
    table = pa.table({"t": np.arange(rows), "k": rng.integers(0, 2, rows), "x": rng.random(rows)})
    definition = sf.rolling(
        on="t", by="k", long=Peak("x").over(sf.time(3_000)), short=Peak("x").over(40)
    )
    live = definition.live(lateness=5, emit=emit)
    found = [live.feed(table.slice(first, 700)) for first in range(0, rows, 700)]
    assert live._engine is not None
    assert live._engine.native is not None
    live._engine.native.core.check()
    assert_rows(pa.concat_tables([*found, live.finish()]), definition.run(table))


def test_columns_that_may_not_be_null_are_saved() -> None:
    """Of rows that have come out only the columns that windows read are kept."""
    kept = pa.field("note", pa.string(), nullable=False)
    schema = pa.schema([("t", pa.int64()), ("x", pa.int64()), kept])
    definition = sf.rolling(on="t", s=sf.sum("x").over(sf.time(9)))
    live = definition.live(lateness=2)
    live.feed(pa.table([[1, 5, 6], [1, 2, 3], ["a", "b", "c"]], schema=schema))
    again = sf.Live.from_bytes(sf.Live.from_bytes(live.to_bytes()).to_bytes())
    assert again.finish().to_pylist() == live.finish().to_pylist()


def test_columns_that_are_converted_for_an_operator() -> None:
    pytest.importorskip("datasketches")
    table = pa.table(
        {
            "t": range(6),
            "d": pa.array([3, 1, None, 5, -2, 8], pa.duration("ms")),
            "u": pa.array([1, 2**63, None, 4, 2**64 - 1, 6], pa.uint64()),
            "m": pa.array([1, 2, 3, None, 5, 6])
            .cast(pa.decimal128(21, 1))
            .cast(pa.decimal128(9, 1)),
        }
    )
    definition = sf.rolling(
        on="t",
        total=sf.sum("d", compensated=True).over(3),
        middle=sf.approx_quantile("m").over(3),
        large=sf.approx_quantile("u").over(sf.time(4)),
    )
    live = definition.live(lateness=0)
    found = [live.feed(table.slice(at, 2)) for at in range(0, 6, 2)]
    assert_rows(pa.concat_tables([*found, live.finish()]), definition.run(table))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_late_row_before_the_first_of_its_window(size: int) -> None:
    """At the end of one leaf, where the window had begun with the next leaf: it was left out."""
    schema = pa.schema({"t": pa.int64(), "x": pa.int64(), "s": pa.string()})
    window = sf.time(9)
    definition = sf.rolling(
        on="t",
        total=sf.sum("x").over(window),
        text=sf.concat("s").over(window),
        middle=sf.median("x").over(window),
        earlier=sf.sum("x").over(sf.time(9, delay=1)),
        rows=sf.sum("x").over(200),  # so that a key has several leaves
    )
    live = definition.live(lateness=50, emit="arrival", schema=schema)
    # Three rows each: the first alone in its window, one late before it, one after it.
    times = [20 * i + shift for i in range(150) for shift in (0, -4, 2)][size - 1 :]
    known: list[Any] = []
    for start in range(0, len(times), size):
        numbers = range(start, min(start + size, len(times)))
        rows = [{"t": times[i], "x": i, "s": chr(97 + i % 26)} for i in numbers]
        known.append(pa.Table.from_pylist(rows, schema))
        found = live.feed(known[-1])
        live._engine.native.core.check()  # type: ignore[union-attr]
        run = definition.run(pa.concat_tables(known)).to_pylist()
        expected = [row for row in run if row["x"] in numbers]
        assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected))
