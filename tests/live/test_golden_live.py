"""Live runs of every format that ever was go on as they did."""

from __future__ import annotations

import json
import random
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

import slidefold as sf
from slidefold.state import FORMAT
from tools.make_golden_live import CASES, answers, before, golden

FOLDER = Path(__file__).parents[1] / "golden" / "live"
FILES = sorted(FOLDER.glob("v*/*.bin"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_goes_on_as_it_did(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert _sorted(answers(sf.Live.from_bytes(path.read_bytes()))) == _sorted(expected)


def _sorted(batches: list[list[dict[str, Any]]]) -> list[list[str]]:
    """Return the rows of each batch in an order that does not depend on how they came out."""
    return [sorted(map(repr, rows)) for rows in batches]


@pytest.mark.parametrize("name", CASES)
def test_as_if_it_had_never_been_saved(name: str) -> None:
    definition, options = CASES[name]
    live = sf.rolling(**definition).live(lateness=6, **options)
    for rows in before(name):
        live.feed(rows)
    again = sf.Live.from_bytes(golden(name), sf.rolling(**definition))
    assert (again.late, again.pending, again.watermark) == (live.late, live.pending, live.watermark)
    assert answers(again) == answers(live)


@pytest.mark.parametrize("name", CASES)
def test_damage_under_a_right_checksum(name: str) -> None:
    """Whatever the bytes say, they are refused in one sentence or make a run."""
    rng = random.Random(5)
    whole = golden(name)[:-16]
    refused = 0
    for _ in range(60):
        data = bytearray(whole)
        data[rng.randrange(24, len(data))] ^= 1 << rng.randrange(8)
        data += blake2b(data, digest_size=16).digest()
        try:
            answers(sf.Live.from_bytes(bytes(data)))
        except sf.errors.StateError:
            refused += 1
        except sf.errors.SlidefoldError:
            pass  # a changed name or type is seen when rows are fed
    assert refused > 30


def test_every_format_has_its_files() -> None:
    assert {path.parent.name for path in FILES} == {f"v{n}" for n in range(1, FORMAT + 1)}
    assert {path.stem for path in FILES if path.parent.name == f"v{FORMAT}"} == {*CASES}
