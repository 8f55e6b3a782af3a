"""A stream that is killed with -9 loses no row, doubles none, and answers as if nothing was."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tools.crash import __main__ as tool
from tools.crash.workload import FEATURES, add_file, faults, judged, rows

pytestmark = pytest.mark.spark


@pytest.mark.slow
@pytest.mark.exhaustive  # `.ci/run` kills a stream a few times by itself
@pytest.mark.xdist_group("spark")  # there is not room for two of them at a time
def test_a_few_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setattr(tool, "AHEAD", 5)
    crash = tool.Crash(tmp_path / "stream", seed=20)
    crash.live(2, last=False)
    assert crash.finish() == []
    assert crash.kills.total() > 0


def test_faults_are_found() -> None:
    """The comparison itself: a row that is lost, doubled or wrong is told."""
    batches = [rows(1, number) for number in range(4)]
    accepted, watermark = judged(batches, "ts", 20_000_000)
    done = FEATURES.run(accepted)
    done = done.filter(pa.compute.less_equal(done["ts"].cast(pa.int64()), watermark))
    count = done.num_rows
    right = done.append_column("late", pa.array([False] * count))
    given = pa.concat_tables(batches)
    others = given.filter(
        pa.compute.invert(pa.compute.is_in(given["id"], accepted["id"].combine_chunks()))
    )
    late = pa.table(
        [
            others[field.name]
            if field.name in others.column_names
            else pa.nulls(len(others), field.type)
            for field in done.schema
        ],
        schema=done.schema,
    ).append_column("late", pa.array([True] * len(others)))
    found = pa.concat_tables([right, late])
    assert len(others) > 0
    assert faults(batches, found) == []
    assert faults(batches, found.slice(1)) == ["results: 1 lost, 0 too many"]
    assert faults(batches, pa.concat_tables([found, found.slice(0, 2)])) == [
        "results: 0 lost, 2 too many"
    ]
    assert faults(batches, found.slice(0, found.num_rows - 1)) == ["late rows: 1 lost, 0 too many"]
    totals = pa.compute.add(found["total"], 1)
    worse = found.set_column(found.column_names.index("total"), "total", totals)
    assert faults(batches, worse) == [f"results: {count} lost, {count} too many"]


def test_files_appear_whole(tmp_path: Path) -> None:
    add_file(tmp_path, rows(1, 0), 0)
    assert [path.name for path in tmp_path.iterdir()] == ["000000.parquet"]
