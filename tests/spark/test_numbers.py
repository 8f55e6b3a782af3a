"""Keys and results that are hard to count: NaN, exact means, types that Spark does not have."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from tests.spark.support import assert_same, collected, frame
from tests.support.streams import MINUTE, Files, drain, written

pytestmark = pytest.mark.spark
NANS = np.array([0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 1, (0xFFF0 << 48) + 7], np.uint64)
KEYS = np.concatenate((NANS.view(np.float64), [0.0, -0.0, 1.5]))
HALVES = np.array([0x7FC00000, 0xFFC00000, 0x7FC00001, 0, 1 << 31], np.uint32).view(np.float32)


@sf.operator(state={"n": "i8"}, returns={"a": "u1", "b": "u8", "c": "f4"}, compile="never")
class Unsigned(sf.Fold):
    """Counts, in types that Spark does not have."""

    identity = staticmethod(lambda: (0,))
    lift = staticmethod(lambda x: (1,))
    combine = staticmethod(lambda a, b: (a.n + b.n,))
    lower = staticmethod(lambda s: (s.n % 256, 2**64 - s.n, float(s.n)))


def table_of(rows: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    draw = random.Random(seed)
    days = rng.integers(-4000, 20000, rows)
    digits = [draw.choice([draw.randint(-(10**17), 10**17), 1]) for _ in range(rows)]
    return pa.table(
        {
            "ts": pa.array(rng.integers(0, 90, rows) * MINUTE, pa.timestamp("us", "UTC")),
            "k": pa.array(KEYS[rng.integers(0, len(KEYS), rows)]),
            "f": pa.array(HALVES[rng.integers(0, len(HALVES), rows)]),
            "day": pa.array(days.astype(np.int32), mask=rng.random(rows) < 0.1).cast(pa.date32()),
            "price": pa.array([Decimal(n).scaleb(-3) for n in digits], pa.decimal128(18, 3)),
            "whole": pa.array(rng.integers(-(2**63), 2**63 - 1, rows)),
            "took": pa.array(rng.integers(-(10**9), 10**9, rows)).cast(pa.duration("us")),
            "id": pa.array(range(rows)),
        }
    )


COLUMNS = {
    "apart": sf.range("day").over("20m"),
    "n": sf.count().over("1h"),
    "m": sf.mean("price").over("30m"),
    "i": sf.mean("whole").over("30m"),
    "d": sf.mean("took").over("30m"),
    "few": sf.sum("whole").over("1m", min_count=10**6),
    "p": sf.struct(p=sf.count(), r=sf.range("day")).over("20m"),
    "g": sf.geomean("id").over("20m"),
}


def test_batches_agree(spark: Any) -> None:
    table = table_of(300)
    keyed = sf.rolling(on="ts", by="k", order="id", columns=COLUMNS)
    both = sf.rolling(on="ts", by=["f", "k"], order="id", columns=COLUMNS)
    keyless = sf.rolling(on="ts", order="id", columns=COLUMNS)
    runs: list[tuple[Any, dict[str, Any]]] = [
        (keyed, {"partitions": 3}),
        (keyed, {"partitions": 3, "spill": True}),
        (keyed, {"partitions": 3, "skew": 0.1}),
        (both, {"partitions": 3}),
        (keyless, {"partitions": 4}),
        (sf.rolling(on="ts", by="k", every="10m", r=sf.range("day").over("20m")), {}),
    ]
    found = collected([d.run(frame(spark, table, 3), **options) for d, options in runs])
    for result, (definition, options) in zip(found, runs, strict=True):
        expected = definition.run(table)
        if definition.slide is not None:
            # Of equal keys any stands for all.
            assert len(result) == len(expected)
            assert sorted(map(str, result["r"].to_pylist())) == sorted(
                map(str, expected["r"].to_pylist())
            )
            continue
        got, expected = result.sort_by("id"), expected.sort_by("id")
        for name in COLUMNS:
            exact = got[name].to_pylist() == expected[name].to_pylist()
            assert exact or name == "g", (name, options)
        assert_same(got, expected, definition, str(options))


def test_unsigned_results(spark: Any) -> None:
    table = table_of(20)
    definition = sf.rolling(on="ts", order="id", u=Unsigned("id").over(3))
    found = collected([definition.run(frame(spark, table), partitions=1)])[0]
    field = found.schema.field("u").type
    assert [str(part.type) for part in field] == ["int16", "decimal128(20, 0)", "float"]
    due = sorted(row["b"] for row in definition.run(table)["u"].to_pylist())
    assert sorted(row["b"] for row in found["u"].to_pylist()) == due


def test_streams_agree(spark: Any, tmp_path: Path) -> None:
    table = table_of(120, 1).drop_columns(["took"])  # files have no durations
    far = pa.array([10**6 * MINUTE], pa.timestamp("us", "UTC"))
    files = Files(tmp_path / "in")
    files.add(table.slice(0, 60), table.slice(60), table.slice(0, 1).set_column(0, "ts", far))
    columns = {name: over for name, over in COLUMNS.items() if name != "d"}
    definition = sf.rolling(on="ts", by="k", order="id", columns=columns)
    drain(definition.run(files.stream(spark, "200 minutes"), buckets=3), tmp_path)
    found, expected = written(spark, tmp_path).sort_by("id"), definition.run(table).sort_by("id")
    assert found["id"].to_pylist() == expected["id"].to_pylist()
    for name in ("apart", "n", "m", "i", "few", "p"):
        assert found[name].to_pylist() == expected[name].to_pylist(), name


def test_spark_s_own_sums_that_are_not_asked_for(spark: Any) -> None:
    """Two values overflow, but a result needs three: it is null, as in every engine."""
    large, many = 2**62, Decimal(9 * 10**37)
    table = pa.table(
        {
            "ts": pa.array([0, 1, 20, 21, 22], pa.int64()),
            "x": pa.array([large, large, 1, 2, 3], pa.int64()),
            "d": pa.array([many, many, 1, 2, 3], pa.decimal128(38, 0)),
        }
    )
    definition = sf.rolling(
        on="ts",
        x3=sf.sum("x").over(sf.time(5), min_count=3),
        d3=sf.sum("d").over(sf.time(5), min_count=3),
    )
    rows = definition.run(frame(spark, table), engine="spark").orderBy("ts").collect()
    assert [row["x3"] for row in rows] == [None, None, None, None, 6]
    assert [row["d3"] for row in rows] == [None, None, None, None, 6]
    assert definition.run(table)["x3"].to_pylist() == [None, None, None, None, 6]
    for name in ("x", "d"):
        asked = sf.rolling(on="ts", s=sf.sum(name).over(sf.time(5), min_count=2))
        with pytest.raises(Exception, match="too large for its type"):
            asked.run(frame(spark, table), engine="spark").collect()
