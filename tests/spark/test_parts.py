"""A partition that is too large for a worker: its keys go to files, and none is torn apart."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.spark.parts import by_parts
from slidefold.spark.segments import key_tuples

BY = ("k", "s")
DEFINITION = sf.rolling(on="t", by=BY, order="n", text=sf.concat("w").over(sf.time(9)))


def table(rows: int, keys: int) -> pa.Table:
    rng = random.Random(rows + keys)
    odd = [None, float("nan"), 0.0, -0.0]
    floats = [odd[i] if i < 4 else float(i) for i in range(keys)]
    return pa.table(
        {
            "t": [rng.randrange(50) for _ in range(rows)],
            "k": pa.array([rng.choice(floats) for _ in range(rows)], pa.float64()),
            "s": [rng.choice(["a", "b", None]) for _ in range(rows)],
            "w": [rng.choice("xyz") for _ in range(rows)],
            "n": range(rows),
        }
    )


def pieces(data: pa.Table) -> Iterator[Any]:
    return iter(data.to_batches(max_chunksize=70))


@pytest.mark.parametrize("keys", [5, 40, 1000])
@pytest.mark.parametrize("limit", [1, 9_000, 20_000])
def test_parts_hold_whole_keys_and_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: int, limit: int
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'missing'},{tmp_path}")
    data, folders = table(2000, keys), 0
    held: Counter[Any] = Counter()
    results = []
    for part in by_parts(pieces(data), BY, limit):
        folders = max(folders, len(list(tmp_path.iterdir())))
        held.update(set(key_tuples(part, BY, range(len(part)))))
        results.append(DEFINITION.run(part))
    assert len(results) > 2
    assert set(held.values()) == {1}
    assert folders == 1
    assert list(tmp_path.iterdir()) == []
    found = pa.concat_tables(results).sort_by("n")
    expected = DEFINITION.run(data)
    assert found["n"].to_pylist() == list(range(2000))
    assert found["text"].to_pylist() == expected["text"].to_pylist()


def test_small_partitions_and_those_without_a_key_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "none"))
    data = table(500, 10)
    (one,) = by_parts(pieces(data), BY)
    assert one["n"].equals(data["n"])
    (one,) = by_parts(pieces(data), (), 1)
    assert one["n"].equals(data["n"])
    assert list(by_parts(iter([]), BY)) == []


def test_files_go_when_a_reader_stops_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    parts: Any = by_parts(pieces(table(2000, 40)), BY, 1)
    next(parts)
    assert len(list(tmp_path.iterdir())) == 1
    parts.close()
    assert list(tmp_path.iterdir()) == []
