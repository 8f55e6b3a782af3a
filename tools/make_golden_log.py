"""Write the golden files of stream logs for the current format: snapshots and later entries.

    python tools/make_golden_log.py [folder]

Each file has the state of one bucket as Spark keeps it, and the results of more rows. No Spark is
needed. `tests/live/test_golden_log.py` reads the files of every format so far.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import slidefold as sf
from slidefold.spark.bucket import step
from slidefold.spark.cache import NoCache
from slidefold.spark.engines import maker_of
from slidefold.spark.log import DictStore, Log
from slidefold.state import FORMAT
from tools.make_golden_live import AFTER, BEFORE, EVERY, FOREVER, PER_ROW, batch

FOLDER = Path(__file__).parents[1] / "tests" / "golden" / "log" / f"v{FORMAT}"
CASES: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "final": (PER_ROW, "final", ()),
    "revise": (PER_ROW, "revise", ("id",)),
    "change": (PER_ROW, "change", ()),
    "lifetime": (FOREVER, "final", ()),
    "revise_every": (EVERY, "revise", ()),
}
_END = 1000


def steps(name: str, store: DictStore, batches: list[tuple[Any, int]]) -> list[Any]:
    """Process batches, each with an engine made from the log; return the results."""
    arguments, emit, id = CASES[name]
    # Without slack the log is compacted as soon as it has twice the rows that are needed.
    maker = maker_of(sf.rolling(**arguments), AFTER.schema, emit, id, slack=0)
    found = []
    for rows, watermark in batches:
        log = Log(store, AFTER.schema, "golden", entry_bytes=1000)
        found.append(step(log, maker, NoCache(), ("q", 0), rows, watermark).due.to_pylist())
        log.save()
    return found


def golden(name: str) -> DictStore:
    """Return the state of a bucket after the first rows: a snapshot and an entry after it."""
    store = DictStore()
    steps(name, store, [(BEFORE[0], -9), (BEFORE[1], 6), (batch(30, *range(7, 17)), 6)])
    steps(name, store, [(batch(40, *range(18, 30)), 16), (batch(60, 33, 31), 30)])
    steps(name, store, [(batch(65, 34, 35), 30)])
    return store


def answers(name: str, store: DictStore) -> list[Any]:
    """Return the results of more rows."""
    return steps(name, store, [(batch(70, 32, 38, 36), 31), (batch(80, 41, 40), 38), (None, _END)])


def written(store: DictStore) -> dict[str, Any]:
    """Return the state as JSON takes it."""
    entries = {at: b64encode(data).decode() for at, data in store.entries.items()}
    return {"head": store.head, "entries": entries, "marks": store.marks}


def read(saved: dict[str, Any]) -> DictStore:
    """Return the state that `written` returned."""
    store = DictStore()
    store.head = tuple(saved["head"])
    store.entries = {int(at): b64decode(text) for at, text in saved["entries"].items()}
    store.marks = {int(at): tuple(mark) for at, mark in saved["marks"].items()}
    return store


def main(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in CASES:
        state = written(golden(name))
        answer = answers(name, read(json.loads(json.dumps(state))))
        text = json.dumps({"state": state, "answers": answer}, indent=1)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
