"""Live runs of every format that ever was go on as they did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import slidefold as sf
from slidefold.state import FORMAT
from tools.make_golden_live import BEFORE, CASES, answers, golden

FOLDER = Path(__file__).parents[1] / "golden" / "live"
FILES = sorted(FOLDER.glob("v*/*.bin"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_goes_on_as_it_did(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert answers(sf.Live.from_bytes(path.read_bytes())) == expected


@pytest.mark.parametrize("name", CASES)
def test_as_if_it_had_never_been_saved(name: str) -> None:
    definition, options = CASES[name]
    live = sf.rolling(**definition).live(lateness=6, **options)
    for rows in BEFORE:
        live.feed(rows)
    again = sf.Live.from_bytes(golden(name), sf.rolling(**definition))
    assert (again.late, again.pending, again.watermark) == (live.late, live.pending, live.watermark)
    assert answers(again) == answers(live)


def test_every_format_has_its_files() -> None:
    assert {path.parent.name for path in FILES} == {f"v{n}" for n in range(1, FORMAT + 1)}
    assert {path.stem for path in FILES if path.parent.name == f"v{FORMAT}"} == {*CASES}
