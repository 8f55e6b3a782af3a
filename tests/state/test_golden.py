"""Golden files of every format that ever was stay readable and answer what they did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import slidefold as sf
from slidefold.state import FORMAT
from tests.support.algorithms import REGISTERED
from tools.make_golden_state import CASES, asked, golden, run

FOLDER = Path(__file__).parents[1] / "golden" / "state"
FILES = sorted(FOLDER.glob("v*/*.bin"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_stays_readable(path: Path) -> None:
    answers = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    name = answers["class"]
    cls = sf.Window if name == "Window" else getattr(sf.algorithms, name)
    made = cls.from_bytes(path.read_bytes())
    made.check()
    assert len(made) == answers["len"]
    assert asked(made) == answers["query"]
    assert run(made, answers["steps"]) == answers["answers"]
    made.check()


def test_the_current_format_is_written_as_it_was() -> None:
    """Other bytes for the same state are another format: it needs a number and files of its own."""
    written = {name: data for name, data, _ in golden()}
    kept = {path.stem: path.read_bytes() for path in FILES if path.parent.name == f"v{FORMAT}"}
    assert {*written} == {*kept}
    assert [name for name in written if written[name] != kept[name]] == []


def test_every_format_has_its_files() -> None:
    assert {path.parent.name for path in FILES} == {f"v{n}" for n in range(1, FORMAT + 1)}
    assert {getattr(cls, "name", name) for name, cls in REGISTERED.items()} <= {*CASES}
