"""Logs of streams in every format that ever was go on as they did. No Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slidefold.spark.log import Log
from slidefold.state import FORMAT
from tools.make_golden_live import AFTER
from tools.make_golden_log import CASES, answers, golden, read

FILES = sorted((Path(__file__).parents[1] / "golden" / "log").glob("v*/*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_goes_on_as_it_did(path: Path) -> None:
    saved = json.loads(path.read_text(encoding="utf-8"))
    store = read(saved["state"])
    if path.stem != "final":  # whose log needs no snapshot: old entries are dropped
        assert snapshots_and_entries(Log(store, AFTER.schema, "golden")) == [True, False]
    assert answers(path.stem, store) == saved["answers"]


@pytest.mark.parametrize("name", CASES)
def test_the_current_format_gives_the_same(name: str) -> None:
    first = next(path for path in FILES if path.stem == name)
    saved = json.loads(first.read_text(encoding="utf-8"))
    assert answers(name, golden(name)) == saved["answers"]


def snapshots_and_entries(log: Log) -> list[bool]:
    """Tell for each part of the log whether it is a snapshot."""
    return [logged.snapshot is not None for logged in log.read(log.head.oldest)]


def test_every_format_has_its_files() -> None:
    expected = {(f"v{n}", name) for n in range(1, FORMAT + 1) for name in CASES}
    assert {(path.parent.name, path.stem) for path in FILES} == expected
