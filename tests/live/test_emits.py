"""`arrival`, `revise` and `change` against runs over all that was known at each moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidefold as sf
from slidefold.live import Engine, Live
from slidefold.live.equality import same
from tests.support.arrivals import EVERY, FEWER, IN_TIME, PER_ROW, SCHEMA, assert_rows, batches

Row = dict[str, Any]
CHANGED = {**{name: PER_ROW[name] for name in ("time", "rows", "no key", "two keys")}, **EVERY}


def lived(live: Live, data: st.DataObject, fed: list[Any]) -> list[tuple[Any, list[Row]]]:
    """Feed batches, saving and restoring at random: the rows accepted so far, and what came out."""
    seen: list[Row] = []
    found = []
    for batch in fed:
        watermark = live.watermark
        seen += [row for row in batch.to_pylist() if watermark is None or row["t"] > watermark]
        found.append((pa.Table.from_pylist(seen, SCHEMA), live.feed(batch).to_pylist()))
        if data.draw(st.booleans(), "saved"):
            live = Live.from_bytes(live.to_bytes())
    assert live.pending == 0
    assert len(live.finish()) == 0
    return found


@pytest.mark.parametrize("name", PER_ROW)
@FEWER
@given(st.data())
def test_arrival(name: str, data: st.DataObject) -> None:
    """Each accepted row comes out with its batch, over the rows known then."""
    live = PER_ROW[name].live(lateness=data.draw(st.integers(0, 20)), emit="arrival")
    before: set[int] = set()
    for known, found in lived(live, data, data.draw(batches())):
        run = PER_ROW[name].run(known).to_pylist()
        expected = [row for row in run if row["id"] not in before]
        before |= {row["id"] for row in run}
        assert sorted(map(repr, found)) == sorted(map(repr, expected))


def revisions(
    moments: list[tuple[Any, list[Row]]],
    run: Callable[[Any], Any],
    key: Callable[[Row], Any],
) -> None:
    """Check that exactly what is new or differs comes out, with its revision."""
    last: dict[Any, Row] = {}
    for known, found in moments:
        expected = []
        for row in run(known).to_pylist():
            then = last.get(key(row))
            if then is None or {**then, "revision": None} != {**row, "revision": None}:
                revision = 0 if then is None else then["revision"] + 1
                last[key(row)] = {**row, "revision": revision}
                expected.append(last[key(row)])
        assert sorted(map(repr, found)) == sorted(map(repr, expected))


@pytest.mark.parametrize("name", PER_ROW)
@FEWER
@given(st.data())
def test_revise(name: str, data: st.DataObject) -> None:
    """So the last revisions are those of a run over all rows."""
    definition = PER_ROW[name]
    live = definition.live(lateness=data.draw(st.integers(0, 20)), emit="revise", id="id")
    moments = lived(live, data, data.draw(batches()))
    revisions(moments, definition.run, lambda row: row["id"])


@pytest.mark.parametrize("name", IN_TIME)
@FEWER
@given(st.data())
def test_revise_ends(name: str, data: st.DataObject) -> None:
    definition = IN_TIME[name]
    live = definition.live(lateness=data.draw(st.integers(0, 20)), emit="revise")
    moments = lived(live, data, data.draw(batches()))
    revisions(moments, definition.run, lambda row: (row["k"], row["window_end"]))


@pytest.mark.parametrize("name", CHANGED)
@FEWER
@given(st.data())
def test_change(name: str, data: st.DataObject) -> None:
    """What final gives, without the results that repeat the one before of their key."""
    definition = CHANGED[name]
    lateness = data.draw(st.integers(0, 20))
    fed = data.draw(batches())
    final, live = (definition.live(lateness=lateness, emit=emit) for emit in ("final", "change"))
    last: dict[Any, list[Any]] = {}
    for batch in [*fed, None]:
        expected = []
        for row in (final.finish() if batch is None else final.feed(batch)).to_pylist():
            key = tuple(row[name] for name in definition.by)
            result = [row[name] for name in definition.columns]
            if last.get(key) != result:
                expected.append(row)
            last[key] = result
        found = live.finish() if batch is None else live.feed(batch)
        assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected))
        if data.draw(st.booleans(), "saved"):
            live = Live.from_bytes(live.to_bytes())


@pytest.mark.parametrize("emit", ["revise", "change"])
def test_a_log_rebuilds_last_results(emit: str) -> None:
    """A snapshot, then the batches that came after, as a stream reads them."""
    definition = PER_ROW["time"]
    engine = Engine(definition, SCHEMA, emit, ("id",))

    def rows(*given: tuple[int, int]) -> Any:
        return pa.Table.from_pylist([{"id": i, "k": "a", "t": t, "x": 1} for i, t in given], SCHEMA)

    engine.take(rows((0, 1), (1, 12)), 2)
    again = Engine.rebuild(definition, SCHEMA, emit, ("id",), engine.snapshot(), 2)
    more = [(rows((2, 9)), 2), (rows((3, 8)), 8)]
    for batch, watermark in more:
        engine.take(batch, watermark)
        again.skip(batch, watermark)
    last = rows((4, 10))
    expected, found = engine.take(last, 30), again.take(last, 30)
    if emit == "revise":
        assert expected["revision"].to_pylist() == [0, 3]
    assert_rows(found, expected)
    assert engine.horizon(30) is None


def test_results_of_every_type_are_compared() -> None:
    nan = float("nan")
    for kind, values in (
        (pa.float64(), [1.0, nan, None, 0.0, -0.0]),
        (pa.decimal128(5, 2), [None, 1]),
        (pa.list_(pa.float64()), [[1.0, nan], [1.0], [], None, [None]]),
        (pa.struct({"a": pa.int64(), "b": pa.list_(pa.string())}), [{"a": 1, "b": ["x"]}, None]),
        (pa.map_(pa.string(), pa.int64()), [[("x", 1)], [("x", 2)], None]),
        (pa.null(), [None]),
    ):
        array = pa.array(values, kind)
        for shift in range(len(array)):
            other = pa.concat_arrays([array[shift:], array[:shift]])
            pairs = zip(array.to_pylist(), other.to_pylist(), strict=True)
            expected = [
                repr(a).replace("-0.0", "0.0") == repr(b).replace("-0.0", "0.0") for a, b in pairs
            ]
            assert same(array, other).tolist() == expected, kind


def test_bad_arguments() -> None:
    row, every = PER_ROW["time"], IN_TIME["every"]
    wrong: list[tuple[Any, Any, str]] = [
        (every, {"emit": "arrival"}, "arrival' gives one result per row"),
        (row, {"emit": "revise"}, "revise' needs id="),
        (EVERY["every session"], {"emit": "revise", "id": "id"}, "needs every= in time"),
        (EVERY["every 2 rows"], {"emit": "revise", "id": "id"}, "needs every= in time"),
    ]
    for definition, said, match in wrong:
        with pytest.raises(sf.errors.DefinitionError, match=match):
            definition.live(lateness=1, **said)
    table = SCHEMA.empty_table()
    with pytest.raises(sf.errors.ColumnError, match="no column 'key', which id= names"):
        row.live(lateness=1, emit="revise", id="key").feed(table)
    taken = table.append_column("revision", pa.array([], pa.int64()))
    with pytest.raises(sf.errors.ColumnError, match="already has a column 'revision'"):
        row.live(lateness=1, emit="revise", id="id").feed(taken)


@sf.operator
class Fickle(sf.Fold):
    """An operator that declares no types, whose results are of two or three of them."""

    lift = staticmethod(lambda x: x)
    combine = staticmethod(lambda older, newer: newer)
    lower = staticmethod(lambda x: x if x < 4 else x / 2 if x < 9 else str(x))


@pytest.mark.parametrize("every", [None, sf.time(1)], ids=["rows", "every"])
@pytest.mark.parametrize("emit", ["revise", "change"])
def test_results_that_come_to_need_a_wider_type(emit: str, every: Any) -> None:
    definition = sf.rolling(on="t", every=every, s=Fickle("x").over(sf.time(1, closed="right")))
    live = definition.live(lateness=0, emit=emit, id="t" if emit == "revise" else ())

    def fed(t: int, x: int | None) -> Any:
        return live.feed(pa.table({"t": [t], "x": pa.array([x], pa.int64())}))["s"].to_pylist()

    found = [fed(t, x) for t, x in enumerate([None, 1, 2, 5, 6, 3])]
    assert found == [[None], [1], [2], [2.5], [3.0], [] if emit == "change" else [3]]
    with pytest.raises(
        sf.errors.ValueTypeError, match="results changed their type between batches"
    ):
        fed(6, 9)
    assert fed(6, 2) == [2]


@pytest.mark.parametrize("emit", ["revise", "change"])
def test_maps_with_nan_do_not_come_out_again(emit: str) -> None:
    definition = sf.rolling(on="t", by="card", worst=sf.max("x").per("shop").over(sf.time(100)))
    live = definition.live(lateness=50, emit=emit, id="id" if emit == "revise" else ())
    nan = float("nan")
    for i, t in enumerate([100, 90]):  # the second changes no result of the first
        fed = live.feed(pa.table({"id": [i], "t": [t], "card": ["a"], "shop": ["s"], "x": [nan]}))
        assert len(fed) == (emit == "revise")
    assert len(live.finish()) == (emit == "change")
