"""The stages of a stream without a cluster: DESIGN's small cases, late rows, timers, identity."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import slidefold as sf
from slidefold.errors import ColumnError, DefinitionError, StateError
from slidefold.spark.query_identity import differences
from slidefold.spark.types import known_type
from tests.support.golden import Case, cases, equal
from tests.support.streams import Stages
from tools.crash import workload

pytest.importorskip("pyspark")

FAR = 9_000_000_000_000_000  # a watermark in ms after all times of the cases
IDS = "slidefold row"


def in_microseconds(case: Case) -> Any:
    """Return the data of a case with times as Spark has them."""
    table = case.data
    kind = table.schema.field(case.definition["on"]).type
    if not pa.types.is_timestamp(kind):
        return table
    wanted = pa.timestamp("us", kind.tz)
    place = table.schema.get_field_index(case.definition["on"])
    return table.set_column(place, case.definition["on"], table.column(place).cast(wanted))


def takes(case: Case) -> bool:
    kind = case.data.schema.field(case.definition["on"]).type
    if case.definition.get("order") == "input" or pa.types.is_date(kind):
        return False
    return not (pa.types.is_timestamp(kind) and kind.unit == "ns")


CASES = [case for case in cases() if takes(case)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_small_cases(case: Case) -> None:
    """Rows that come one by one, in any order, give what a run over all of them gives."""
    data = in_microseconds(case)
    definition = sf.Rolling.from_dict(case.definition)
    rows = list(range(data.num_rows))
    random.Random(3).shuffle(rows)
    sent = data.append_column(IDS, pa.array(range(data.num_rows), pa.int64()))
    stages = Stages(definition, sent.schema)
    found = [stages.feed(sent.slice(row, 1)) for row in rows]
    assert all(part.num_rows == 0 for part in found)  # there was no watermark yet
    table = pa.concat_tables([*found, stages.advance(FAR)])
    expected = definition.run(data)
    if definition.slide is None:
        table = table.sort_by(IDS).drop_columns([IDS])
    else:
        order = [(name, "ascending") for name in (*definition.by, "window_end")]
        table, expected = table.sort_by(order), expected.sort_by(order)
    assert table.column_names == expected.column_names
    for name in expected.column_names:
        made = name in definition.columns  # and so of a type that Spark has
        due = expected[name].cast(known_type(expected[name].type)) if made else expected[name]
        assert equal(table[name], due), name


def test_most_of_the_small_cases_were_taken() -> None:
    assert len(CASES) >= 70


SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "x": pa.int64()})
TOTAL = sf.rolling(on="ts", by="k", total=sf.sum("x").over("10s"))


def rows(*seconds: float | None, k: str = "a") -> Any:
    times = [None if s is None else round(s * 1_000_000) for s in seconds]
    return pa.table(
        [pa.array(times, pa.int64()), [k] * len(times), [1] * len(times)], ["ts", "k", "x"]
    ).cast(SCHEMA)


def test_rows_come_out_when_the_watermark_passes_them_though_nothing_new_came() -> None:
    stages = Stages(TOTAL, SCHEMA)
    assert stages.feed(rows(5, 1, -3)).num_rows == 0
    assert stages.advance(999)["total"].to_pylist() == [1]
    assert stages.advance(1000)["total"].to_pylist() == [2]
    assert stages.advance(4999).num_rows == 0
    assert stages.advance(60_000)["total"].to_pylist() == [3]


def test_late_rows_come_out_with_a_reason() -> None:
    stages = Stages(TOTAL, SCHEMA, late="side")
    stages.feed(rows(5))
    assert stages.advance(5000)["late"].to_pylist() == [False]
    found = stages.feed(rows(5.000001, 5, None, 2))
    assert found["late"].to_pylist() == [True] * 3
    before, unknown = "at or before the watermark", "null time"
    assert found["late_reason"].to_pylist() == [before, unknown, before]
    assert found["total"].to_pylist() == [None] * 3
    assert stages.advance(6000)["total"].to_pylist() == [2]


def test_arriving_rows_come_out_at_once_over_what_is_known() -> None:
    stages = Stages(TOTAL, SCHEMA, emit="arrival")
    assert stages.feed(rows(1, 5))["total"].to_pylist() == [1, 2]
    assert stages.feed(rows(2))["total"].to_pylist() == [2]  # 1 and 2
    assert stages.advance(3000).num_rows == 0
    assert stages.feed(rows(3, 4))["total"].to_pylist() == [3]  # 3 itself is late


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_revisions_go_on_counting_after_the_engine_was_rebuilt(cache_bytes: int) -> None:
    stages = Stages(TOTAL, SCHEMA, emit="revise", id="ts", cache_bytes=cache_bytes, late="side")
    shown = ["ts", "total", "revision", "late"]
    found = [stages.feed(rows(*seconds)).select(shown) for seconds in ((1, 5), (2,), (0,))]
    assert [
        [(row["ts"].second, row["total"], row["revision"]) for row in part.to_pylist()]
        for part in found
    ] == [
        [(1, 1, 0), (5, 2, 0)],
        [(2, 2, 0), (5, 3, 1)],
        [(0, 1, 0), (1, 2, 1), (2, 3, 1), (5, 4, 2)],
    ]
    assert stages.advance(3000).num_rows == 0
    assert stages.feed(rows(2))["late"].to_pylist() == [True]


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_the_last_revisions_are_a_run_over_the_accepted_rows(cache_bytes: int) -> None:
    batches = [workload.rows(4, number) for number in range(5)]
    options: dict[str, Any] = {"emit": "revise", "id": "id", "cache_bytes": cache_bytes}
    stages = Stages(workload.FEATURES, batches[0].schema, **options)
    last: dict[int, dict[str, Any]] = {}
    newest = 0
    for batch in batches:
        parts = [stages.feed(batch.slice(first, 100)) for first in range(0, len(batch), 100)]
        for row in pa.concat_tables(parts).to_pylist():
            revision = row.pop("revision")
            assert revision == (0 if row["id"] not in last else last[row["id"]]["revision"] + 1)
            last[row["id"]] = {**row, "revision": revision}
        newest = max(newest, pc.max(batch["ts"].cast(pa.int64())).as_py())
        assert stages.advance((newest - workload.DELAY) // 1000).num_rows == 0
    accepted, _ = workload.judged(batches, "ts", workload.DELAY)
    expected = {row["id"]: row for row in workload.FEATURES.run(accepted).to_pylist()}
    assert max(row.pop("revision") for row in last.values()) > 1
    assert last == expected


@pytest.mark.parametrize("cache_bytes", [0, 1 << 20])
def test_results_that_do_not_change_are_not_repeated(cache_bytes: int) -> None:
    peak = sf.rolling(on="ts", by="k", peak=sf.max("x").over("10s"))
    stages = Stages(peak, SCHEMA, emit="change", cache_bytes=cache_bytes)
    stages.feed(rows(1, 2, 3))
    assert stages.advance(2500)["ts"].to_pylist()[0].second == 1
    assert stages.advance(9000).num_rows == 0


def test_emits_that_a_definition_cannot_have_are_refused() -> None:
    slides = sf.rolling(on="ts", by="k", every="5s", total=sf.sum("x").over("10s"))
    with pytest.raises(DefinitionError, match="emit='revise' needs id="):
        Stages(TOTAL, SCHEMA, emit="revise")
    with pytest.raises(ColumnError, match="no column 'number', which id= names"):
        Stages(TOTAL, SCHEMA, emit="revise", id="number")
    with pytest.raises(DefinitionError, match="emit='arrival' gives one result per row"):
        Stages(slides, SCHEMA, emit="arrival")


def test_the_state_of_another_definition_is_refused_with_what_differs() -> None:
    stages = Stages(TOTAL, SCHEMA)
    stages.feed(rows(5))
    other = Stages(sf.rolling(on="ts", by="k", total=sf.sum("x").over("20s")), SCHEMA)
    stages.processor.job = other.job
    kept = dict(stages.tester.handle.value_states["head"].state)
    with pytest.raises(StateError, match=r'another definition.*columns.total was.*"10s".*"20s"'):
        stages.feed(rows(6))
    assert stages.tester.handle.value_states["head"].state == kept


def test_a_column_that_the_kept_rows_can_answer_may_be_added() -> None:
    stages = Stages(TOTAL, SCHEMA)
    stages.feed(rows(1, 5))
    stages.advance(2000)
    shorter = {"total": sf.sum("x").over("10s"), "most": sf.max("x").over("8s", closed="both")}
    added = Stages(sf.rolling(on="ts", by="k", columns=shorter, n=sf.count().over("2s")), SCHEMA)
    stages.job = stages.processor.job = added.job
    stages.feed(rows(4))
    found = stages.advance(9000)
    assert found.select(["total", "most", "n"]).to_pylist() == [
        {"total": 2, "most": 1, "n": 1},
        {"total": 3, "most": 1, "n": 2},
    ]
    longer = {**shorter, "n": sf.count().over("2s"), "more": sf.sum("x").over("11s")}
    refused = Stages(sf.rolling(on="ts", by="k", columns=longer), SCHEMA)
    stages.processor.job = refused.job
    with pytest.raises(StateError, match=r"columns\.more is new"):
        stages.feed(rows(10))


def test_differences_are_named() -> None:
    before = '{"buckets":16,"by":["k"],"columns":{"a":{"operator":"sum"}}}'
    now = '{"buckets":8,"columns":{"a":{"operator":"max"},"b":1}}'
    assert differences(before, now) == (
        'buckets was 16 and is 8; by was ["k"] and is removed; '
        'columns.a was {"operator": "sum"} and is {"operator": "max"}; and 1 more'
    )
