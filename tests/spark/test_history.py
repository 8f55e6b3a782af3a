"""A history that windows start with: what comes out does not depend on how it is packed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import slidefold as sf
from slidefold.spark.bucket import step
from slidefold.spark.cache import Cache, NoCache
from slidefold.spark.engines import maker_of
from slidefold.spark.log import DictStore, Log
from tests.support.streams import MINUTE, Files, drain, written

SCHEMA = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.int64(), "id": pa.int64()})
ENDED = 100  # the newest time of the history
ROWS = sf.rolling(
    on="t",
    by="k",
    order="id",
    s=sf.sum("x").over(sf.time(30)),
    ids=sf.collect("id").over(4),
    all=sf.sum("x").over("lifetime"),
    run=sf.count().over(sf.session(8)),
)
ENDS = sf.rolling(on="t", by="k", every=sf.time(10), s=sf.sum("x").over(sf.time(25)))
FILLED = sf.rolling(on="t", by="k", every=sf.time(10), fill=True, s=sf.sum("x").over(sf.time(10)))
CASES = [
    *((ROWS, emit) for emit in ("final", "arrival", "change", "revise")),
    *((ENDS, emit) for emit in ("final", "change", "revise")),
    *((FILLED, emit) for emit in ("final", "change")),
]


def rows(random: Random, count: int, low: int, high: int, first: int) -> Any:
    columns = {
        "t": [random.randint(low, high) for _ in range(count)],
        "k": [random.choice("ab") for _ in range(count)],
        "x": [random.randint(0, 2) for _ in range(count)],
        "id": list(range(first, first + count)),
    }
    return pa.table(columns, SCHEMA)


def lines(table: Any) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def outcomes(definition: sf.Rolling, emit: str, packets: list[Any], batches: Any) -> list[Any]:
    """Return what each batch sends out, after a history in packets."""
    id = ("id",) if emit == "revise" and definition is ROWS else ()
    maker, store = maker_of(definition, SCHEMA, emit, id), DictStore()
    for packet in packets:
        log = Log(store, SCHEMA, "same")
        log.remember(ENDED)
        log.append(packet, "t", log.head.emitted)
        log.save()
    found = []
    cache: Cache = NoCache()
    for batch, watermark in batches:
        log = Log(store, SCHEMA, "same")
        found.append(step(log, maker, cache, ("q", 0), batch, watermark).due)
        log.save()
    return found


@pytest.mark.parametrize(("definition", "emit"), CASES)
def test_a_history_in_any_number_of_packets_gives_the_same_results(
    definition: sf.Rolling, emit: str
) -> None:
    random = Random(1)
    for _ in range(4):
        history = rows(random, 24, 40, ENDED, 0)
        batches = [
            (rows(random, 6, ENDED - 5 + 10 * i, ENDED + 20 + 10 * i, 100 * i + 100), mark)
            for i, mark in enumerate((ENDED, ENDED + 8, ENDED + 19, ENDED + 80))
        ]
        whole = outcomes(definition, emit, [history], batches)
        shuffled = history.take(random.sample(range(24), 24))
        packets = [shuffled.slice(at, 5) for at in range(0, 24, 5)]
        found = outcomes(definition, emit, packets, batches)
        assert list(map(lines, found)) == list(map(lines, whole))
        if emit == "final":
            expected = definition.run(pa.concat_tables([history, *_accepted(batches)]))
            when = "t" if definition is ROWS else "window_end"
            due = (pc.field(when) > ENDED) & (pc.field(when) <= ENDED + 80)
            assert lines(pa.concat_tables(whole)) == lines(expected.filter(due))


def _accepted(batches: Any) -> list[Any]:
    return [batch.filter(pc.field("t") > watermark) for batch, watermark in batches]


def test_the_first_revision_of_an_end_with_history_is_0() -> None:
    history = pa.table({"t": [95], "k": ["a"], "x": [1], "id": [0]}, SCHEMA)
    batch = pa.table({"t": [104], "k": ["a"], "x": [2], "id": [1]}, SCHEMA)
    (found,) = outcomes(ENDS, "revise", [history], [(batch, ENDED)])
    assert [(row["window_end"], row["s"], row["revision"]) for row in found.to_pylist()] == [
        (110, 3, 0),
        (120, 3, 0),
    ]


@pytest.mark.spark
@pytest.mark.parametrize("emit", [pytest.param("revise", marks=pytest.mark.exhaustive), "change"])
def test_a_history_in_many_partitions(spark: Any, tmp_path: Path, emit: str) -> None:
    begin = 1_700_000_040_000_000

    def table(minutes: list[int], first: int) -> Any:
        times = pa.array([begin + minute * MINUTE for minute in minutes], pa.timestamp("us", "UTC"))
        ids = list(range(first, first + len(minutes)))
        return pa.table({"ts": times, "k": ["a"] * len(ids), "x": ids, "id": ids})

    history, batch = table(list(range(12)), 0), table([12, 15, 60], 100)
    files = Files(tmp_path / "in")
    files.add(batch)
    definition = sf.rolling(on="ts", by="k", s=sf.sum("x").over("10m"))
    past = spark.createDataFrame(history).repartition(4)
    options: Any = {"id": "id"} if emit == "revise" else {}
    stream = files.stream(spark, "5 minutes")
    drain(definition.run(stream, emit=emit, buckets=1, initial=past, **options), tmp_path)
    expected = definition.run(pa.concat_tables([history, batch])).slice(12)
    if emit == "change":
        expected = expected.slice(0, 2)  # the last row waits for the watermark
    found = written(spark, tmp_path)
    assert lines(found.select(expected.column_names)) == lines(expected)
