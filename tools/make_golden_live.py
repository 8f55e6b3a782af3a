"""Write the golden files of saved live runs for the current format, one for each `emit`.

    python tools/make_golden_live.py [folder]

Beside each NAME.bin lies NAME.json with the results of feeding more rows. Rows are saved as Arrow
streams, whose bytes may differ between versions of Arrow, so tests read the files and do not
compare bytes. `tests/live/test_golden_live.py` reads the files of every format so far.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

import slidefold as sf
from slidefold.state import FORMAT

FOLDER = Path(__file__).parents[1] / "tests" / "golden" / "live" / f"v{FORMAT}"
WINDOW = sf.time(10)
COLUMNS: dict[str, Any] = {
    "total": sf.sum("x").over(WINDOW),
    "words": sf.concat("word").over(WINDOW),
    "last": sf.collect("word").over(3),
}
EVERY: dict[str, Any] = {"on": "t", "by": "k", "every": sf.time(5), "columns": COLUMNS}
PER_ROW: dict[str, Any] = {"on": "t", "by": "k", "columns": COLUMNS}
FOREVER = {**PER_ROW, "columns": {**COLUMNS, "ever": sf.max_by("word", "x").over(sf.lifetime())}}
SLICED = {
    **EVERY,
    "columns": {
        "total": sf.sum("x").over(sf.time(15)),
        "top": sf.max_by("word", "x").over(sf.time(10)),
    },
}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "final": (PER_ROW, {"late": "side"}),
    "arrival": (PER_ROW, {"emit": "arrival"}),
    "revise": (PER_ROW, {"emit": "revise", "id": "id"}),
    "change": (PER_ROW, {"emit": "change"}),
    "every": (EVERY, {}),
    "revise_every": (EVERY, {"emit": "revise"}),
    "lifetime": (FOREVER, {"emit": "arrival"}),
    "lifetime_change": (FOREVER, {"emit": "change"}),
    "slices": (SLICED, {}),
    "slices_change": (SLICED, {"emit": "change"}),
}


def batch(first: int, *times: int | None) -> Any:
    """Return rows with these times; the other columns follow from the row number."""
    rows = [
        {"id": i, "t": t, "k": "ab"[i % 2], "x": i, "word": "pqrst"[i % 5]}
        for i, t in enumerate(times, first)
    ]
    kinds = {"id": pa.int64(), "t": pa.int64(), "k": pa.string(), "x": pa.int64()}
    return pa.Table.from_pylist(rows, pa.schema({**kinds, "word": pa.string()}))


BEFORE = batch(0, 3, 5, 4, 9, 12, 11, 10), batch(7, 14, 13, None, 2, 16)
MANY = (batch(100, *(i // 20 for i in range(240))), *BEFORE)  # enough to become slices
AFTER = batch(12, 15, 12, 20, 13, 14)


def answers(live: sf.Live) -> list[Any]:
    """Return the results of feeding the remaining rows."""
    return [table.to_pylist() for table in (live.feed(AFTER), live.finish())]


def golden(name: str) -> bytes:
    """Return the bytes of a live run after the first rows."""
    definition, options = CASES[name]
    live = sf.rolling(**definition).live(lateness=6, **options)
    for rows in before(name):
        live.feed(rows)
    return live.to_bytes()


def before(name: str) -> tuple[Any, ...]:
    """Return the rows that a live run was fed before it was saved."""
    return MANY if "slices" in name else BEFORE


def main(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in CASES:
        data = golden(name)
        (folder / f"{name}.bin").write_bytes(data)
        text = json.dumps(answers(sf.Live.from_bytes(data)), indent=1)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
