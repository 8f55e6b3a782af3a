"""Real queries: what each `emit` sends out, and what is refused before a query starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidefold as sf
from slidefold.errors import DefinitionError, StateError
from slidefold.spark import tail
from tests.support.streams import MINUTE, Files, drain, written

pytestmark = pytest.mark.spark

BEGIN = 1_700_000_040_000_000  # a whole minute
MOST = sf.rolling(on="ts", by="k", most=sf.max("x").over("10m"))
# Minutes, values and ids; the watermark is five minutes behind the newest row of earlier batches.
BATCHES = [
    [(0, 1, 0), (6, 2, 1)],
    [(4, 4, 2), (12, 8, 3)],
    [(40, 16, 4)],
]
# Row 1 comes before row 2, which is older and larger: its result is 2 at first, and 4 then.
EMITTED = {
    "arrival": [(0, 1), (1, 2), (2, 4), (3, 8), (4, 16)],
    "revise": [(0, 1, 0), (1, 2, 0), (1, 4, 1), (2, 4, 0), (3, 8, 0), (4, 16, 0)],
    # In order of time 1, 4, 4, 8: the second 4 is nothing new. Row 4 waits for the watermark.
    "change": [(0, 1), (2, 4), (3, 8)],
}


@pytest.fixture
def few(spark: Any) -> Iterator[Any]:
    """The session with one partition, which is enough for a few rows."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    spark.conf.set(name, "1")
    yield spark
    spark.conf.set(name, before)


def files_of(folder: Path, batches: list[list[tuple[int, int, int]]]) -> Files:
    files = Files(folder / "in")
    for batch in batches:
        minutes, values, ids = zip(*batch, strict=True)
        times = [BEGIN + minute * MINUTE for minute in minutes]
        files.add(
            pa.table(
                {
                    "ts": pa.array(times, pa.timestamp("us", "UTC")),
                    "k": ["a"] * len(batch),
                    "x": list(values),
                    "id": list(ids),
                }
            )
        )
    return files


@pytest.mark.parametrize("emit", EMITTED)
def test_each_emit_sends_out_what_it_says(few: Any, tmp_path: Path, emit: str) -> None:
    stream = files_of(tmp_path, BATCHES).stream(few, "5 minutes")
    options: Any = {"id": "id"} if emit == "revise" else {}
    drain(MOST.run(stream, emit=emit, buckets=1, **options), tmp_path)
    columns = ["id", "most", "revision"] if emit == "revise" else ["id", "most"]
    found = written(few, tmp_path).select(columns).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == EMITTED[emit]
    waiting = tail(str(tmp_path / "checkpoint")).toArrow()
    assert waiting.column_names == ["ts", "k", "x", "id", "most"]
    assert {"id": 4, "most": 16} in waiting.select(["id", "most"]).to_pylist()


def test_a_checkpoint_of_another_query_is_refused_before_it_starts(
    few: Any, tmp_path: Path
) -> None:
    stream = files_of(tmp_path, BATCHES).stream(few, "5 minutes")
    checkpoint = str(tmp_path / "checkpoint")
    drain(MOST.run(stream, buckets=2, checkpoint=checkpoint), tmp_path)
    MOST.run(stream, buckets=2, checkpoint=checkpoint)
    longer = sf.rolling(on="ts", by="k", most=sf.max("x").over("1h"))
    with pytest.raises(
        StateError, match=r"belongs to another definition.*columns\.most.* was .*10m"
    ):
        longer.run(stream, buckets=2, checkpoint=checkpoint)
    with pytest.raises(StateError, match=r"belongs to another definition.*buckets was 2 and is 16"):
        MOST.run(stream, checkpoint=checkpoint)
    drain(stream, tmp_path / "plain")
    with pytest.raises(StateError, match="is the checkpoint of a query without slidefold"):
        MOST.run(stream, checkpoint=str(tmp_path / "plain" / "checkpoint"))


def test_explain_warns_where_state_has_no_bound(few: Any, tmp_path: Path) -> None:
    stream = files_of(tmp_path, BATCHES).stream(few, "5 minutes")
    plain = MOST.explain(stream, buckets=4)
    assert "Spark: 4 buckets in 1 shuffle partitions" in plain
    assert "the watermark removes rows from the state: the rows of the last 10m" in plain
    assert "warning" not in plain
    assert "emit='change' keeps the last result of each key" in MOST.explain(stream, emit="change")
    assert MOST.explain(stream, buckets=4, metrics="mine", cache_bytes=10**6) == plain
    with pytest.raises(DefinitionError, match=r"^explain has no bucket=; did you mean buckets=\?$"):
        MOST.explain(stream, bucket=4)  # type: ignore[call-overload]
    with pytest.raises(DefinitionError, match=r"^partitions= of run is for Spark DataFrames only"):
        MOST.run(stream, partitions=4)
    few.conf.set("spark.sql.shuffle.partitions", 9)  # `few` sets it back
    assert "warning: 5 partitions have no bucket" in MOST.explain(stream, buckets=4)
    windows: dict[str, Any] = {
        "rows": sf.rows(3),
        "session": sf.session("5m"),
        "delta": sf.delta(5, on="x"),
        "punctuated": sf.punctuated("end"),
    }
    for kind, window in windows.items():
        definition = sf.rolling(
            on="ts", by="k", most=sf.max("x").over("10m"), other=sf.count().over(window)
        )
        marked = stream.selectExpr("*", "x > 5 AS end")
        warned = [line for line in definition.explain(marked).splitlines() if "unbounded" in line]
        assert len(warned) == 1, kind
        assert str(window) in warned[0], kind


def test_batches_that_touch_no_bucket_have_zeros_for_metrics(few: Any, tmp_path: Path) -> None:
    """A file without rows, and the batch without data that moves the watermark."""
    files = files_of(tmp_path, BATCHES[:1])
    files.add(pq.read_table(tmp_path / "in" / "00000.parquet").slice(0, 0))
    out = MOST.run(files.stream(few, "5 minutes"), emit="arrival", buckets=1)
    progress = drain(out, tmp_path)
    counts = [each["observedMetrics"]["slidefold"].asDict() for each in progress]
    assert len(counts) > 1
    assert all(value is not None for each in counts for value in each.values())
    assert [each["rows_in"] for each in counts] == [len(BATCHES[0]), *[0] * (len(counts) - 1)]
    assert not any(counts[-1].values())


def test_more_ends_than_there_can_be_stop_a_query(few: Any, tmp_path: Path) -> None:
    definition = sf.rolling(on="ts", by="k", every="1us", s=sf.sum("x").over("3650d"))
    stream = files_of(tmp_path, BATCHES).stream(few, "5 minutes")
    with pytest.raises(Exception, match=r"DataError: every='1us' gives [\d,]+ results for"):
        drain(definition.run(stream, emit="revise", buckets=1), tmp_path)
