"""Operators of users without `inputs=`: columns reach `lift` in their own types."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf

FAR = 2**53 + 1  # floats do not have it
DAY_MS = 86_400_000
KINDS: dict[str, tuple[Any, list[int | None]]] = {
    "date32": (pa.date32(), [3, -7, None, 19_000, 18_999]),
    "date64": (pa.date64(), [3 * DAY_MS, None, -DAY_MS, 19_000 * DAY_MS, DAY_MS]),
    "timestamp[s]": (pa.timestamp("s"), [5, None, -3, 10**10, 10**10 - 1]),
    "timestamp[ms]": (pa.timestamp("ms"), [5, None, -3, 10**13, 10**13 - 1]),
    "timestamp[us]": (pa.timestamp("us"), [FAR, None, FAR - 1, FAR + 2, FAR + 1]),
    "timestamp[us, UTC]": (pa.timestamp("us", "UTC"), [FAR, None, FAR - 1, FAR + 2, FAR + 1]),
    "timestamp[ns]": (pa.timestamp("ns"), [FAR, None, FAR - 1, FAR + 2, FAR + 1]),
    "duration[s]": (pa.duration("s"), [5, None, -3, 2, 9]),
    "duration[ms]": (pa.duration("ms"), [5, None, -3, 2, 9]),
    "duration[us]": (pa.duration("us"), [FAR, None, -FAR, 0, FAR + 2]),
    "duration[ns]": (pa.duration("ns"), [FAR, None, -FAR, 0, FAR + 2]),
    "int64": (pa.int64(), [FAR, None, -FAR, 0, FAR + 2]),
    "int8": (pa.int8(), [1, None, -2, 0, 3]),
    "bool": (pa.bool_(), [1, None, 0, 0, 1]),
}


class Ends:
    """The newest value, and the sum of the distances of neighbours; does not commute."""

    @staticmethod
    def identity() -> Any:
        return 0, 0, 0, 0

    @staticmethod
    def lift(x: Any) -> Any:
        return 1, int(x), int(x), 0

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        if older.n == 0:
            return newer
        if newer.n == 0:
            return older
        moved = older.moved + newer.moved + abs(newer.first - older.last)
        return older.n + newer.n, older.first, newer.last, moved

    @staticmethod
    def lower(state: Any) -> Any:
        return state.last, state.moved


def made(compile: str) -> Any:
    state = {"n": "i8", "first": "i8", "last": "i8", "moved": "i8"}
    returns = {"newest": "i8", "moved": "i8"}
    return sf.operator(state=state, returns=returns, compile=compile)(Ends)


def expected(values: Sequence[int | None]) -> dict[str, int] | None:
    there = [value for value in values if value is not None]
    if not there:
        return None
    moved = sum(abs(newer - older) for older, newer in pairwise(there))
    return {"newest": there[-1], "moved": moved}


@pytest.mark.parametrize("compile", ["never", "require"])
@pytest.mark.parametrize("name", KINDS)
def test_times_are_integers_of_their_unit(name: str, compile: str) -> None:
    kind, values = KINDS[name]
    whole = pa.int32() if kind == pa.date32() else pa.int8() if name == "bool" else pa.int64()
    column = pa.array(values, whole).cast(kind)
    table = pa.table({"t": range(5), "x": column})
    definition = sf.rolling(on="t", r=made(compile)("x").over(3))
    due = [expected(values[max(0, i - 2) : i + 1]) for i in range(5)]
    assert definition.run(table)["r"].to_pylist() == due
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=2))
    assert definition.run(reader).read_all()["r"].to_pylist() == due
    live = definition.live(lateness=1)
    fed = pa.concat_tables([live.feed(table.slice(0, 2)), live.feed(table.slice(2)), live.finish()])
    assert fed["r"].to_pylist() == due
    if getattr(kind, "unit", "") == "ns":  # Python's times have no nanoseconds
        return
    arriving = definition.live(lateness=1, emit="arrival", schema=table.schema)
    pushed = [arriving.push({"t": row["t"], "x": row["x"]}) for row in table.to_pylist()]
    assert [row["r"] for row in pushed] == due


@sf.operator(state={"sum": "f8"}, returns="f8", compile="never", commutative=True)
class Halved(sf.Fold):
    identity = staticmethod(lambda: (0.0,))
    lift = staticmethod(lambda x: (x / 2,))
    combine = staticmethod(lambda a, b: (a.sum + b.sum,))
    lower = staticmethod(lambda s: s.sum)


def test_all_else_are_floats() -> None:
    for kind in (pa.float32(), pa.float64(), pa.decimal128(7, 2)):
        table = pa.table({"t": [1, 2], "x": pa.array([1.0, 2.0]).cast(kind)})
        found = sf.rolling(on="t", r=Halved("x").over(2)).run(table)["r"].to_pylist()
        assert found == [0.5, 1.5]
    words = pa.table({"t": [1], "x": ["a"]})
    with pytest.raises(sf.errors.ValueTypeError, match="Halved takes float64, the column 'x' is s"):
        sf.rolling(on="t", r=Halved("x").over(2)).run(words)


def test_declared_inputs_are_kept() -> None:
    """With `inputs=`, integers are converted, and times are refused."""
    state: Any = {"n": "i8", "first": "i8", "last": "i8", "moved": "i8"}
    declared = sf.operator(
        state=state, returns={"newest": "i8", "moved": "i8"}, inputs="f8", compile="never"
    )(Ends)
    definition = sf.rolling(on="t", r=declared("x").over(1))
    found = definition.run(pa.table({"t": [1], "x": [FAR]}))["r"].to_pylist()
    assert found == [{"newest": FAR - 1, "moved": 0}]
    times = pa.table({"t": [1], "x": pa.array([1], pa.timestamp("s"))})
    with pytest.raises(sf.errors.ValueTypeError, match="Ends takes float64, the column 'x' is tim"):
        definition.run(times)


@sf.operator(state={"last": "i8", "first": "i8", "longest": "i8"}, returns="i8")
class Pause(sf.Fold):
    """Integers only: a float does not fit its fields, so it cannot be compiled for floats."""

    lift = staticmethod(lambda at: (at, at, 0))
    lower = staticmethod(lambda state: state.longest)

    @staticmethod
    def combine(older: Any, newer: Any) -> Any:
        between = newer.first - older.last
        return newer.last, older.first, max(older.longest, newer.longest, between)


def test_an_operator_of_integers_is_never_compiled_for_floats() -> None:
    table = pa.table({"t": pa.array([0, 40, 50, 150], pa.timestamp("s")), "k": ["a"] * 4})
    both = sf.struct(pause=Pause("t"), n=sf.count())
    definition = sf.rolling(
        on="t", by="k", pause=Pause("t").over(3), both=both.over("1h", closed="left")
    )
    due = definition.run(table)
    assert due["pause"].to_pylist() == [0, 40, 40, 100]
    assert due["both"].to_pylist()[-1] == {"pause": 40, "n": 3}
    assert "pause: Pause('t') of timestamp[s] over sf.rows(3)" in definition.explain(table)
    live = definition.live(lateness="1s")
    found = [live.feed(table.slice(0, 2))]
    live = sf.Live.from_bytes(live.to_bytes(), operators=[Pause])  # type: ignore[list-item]
    found += [live.feed(table.slice(2)), live.finish()]
    assert pa.concat_tables(found).equals(due)
    floats = table.append_column("x", pa.array([1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(sf.errors.OperatorError, match="expected an integer"):
        sf.rolling(on="t", pause=Pause("x").over(3)).run(floats)
