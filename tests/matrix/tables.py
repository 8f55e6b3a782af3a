"""The tables of the matrix: rows with ties and gaps, by key, in order or shuffled."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

import pyarrow as pa

from tests.matrix.values import INT, TEXT, Kind, array_of
from tests.matrix.windows import Length, Row

ROWS = 16
KEYS: dict[str, tuple[str, ...]] = {
    "no key": (),
    "int key": ("k",),
    "string key with nulls": ("ks",),
    "float key": ("kf",),
    "two keys": ("k", "ks"),
}
CLOCKS: dict[str, tuple[Any, int, str | None]] = {  # type, its steps in one of ours, our unit
    "int64": (pa.int64(), 1, None),
    "timestamp[us]": (pa.timestamp("us"), 10**6, "s"),
    "timestamp[ns, UTC]": (pa.timestamp("ns", "UTC"), 10**9, "s"),
    "date32": (pa.date32(), 1, "d"),
    "timestamp[s]": (pa.timestamp("s"), 1, "s"),
    "int16": (pa.int16(), 1, None),
    "date64": (pa.date64(), 86_400_000, "d"),
}
ORDERS = ("in order", "shuffled")
_TYPES = {"id": pa.int64(), "k": pa.int64(), "ks": pa.string(), "kf": pa.float64()}
_TYPES |= {"n": INT.arrow, "s": TEXT.arrow, "km": pa.int64(), "metres": pa.float64()}
_TYPES |= {"mark": pa.bool_()}


def chosen(text: str, share: int) -> int:
    """Return a number below `share` that a text always gives."""
    return crc32(text.encode()) % share


@dataclass(frozen=True)
class Data:
    """Rows of one type under test."""

    kind: Kind
    nulls: str
    key: str
    counts: str | None = None  # the type of the times, if not any

    @property
    def label(self) -> str:
        """Return what it is, for messages and to draw from."""
        return f"{self.kind} | nulls {self.nulls} | {self.key}"

    @cached_property
    def clock(self) -> str:
        """The type of the times, another one for other data."""
        if self.counts is not None:
            return self.counts
        return [*CLOCKS][chosen(self.label + " clock", len(CLOCKS))]

    @cached_property
    def ties(self) -> tuple[str, ...]:
        """What `order=` says."""
        return ("id",) if chosen(self.label + " ties", 2) else ()

    @property
    def by(self) -> tuple[str, ...]:
        """The columns of keys."""
        return KEYS[self.key]

    @property
    def length(self) -> Length:
        """Return how a length in steps is said."""
        unit = CLOCKS[self.clock][2]
        return (lambda steps: steps) if unit is None else (lambda steps: f"{steps}{unit}")

    @cached_property
    def rows(self) -> list[Row]:
        """The rows in time order, peers in no order."""
        rng = random.Random(self.label)
        now = -9
        x, n, s = (
            kind.draw(rng, ROWS, nulls)
            for kind, nulls in (
                (self.kind, self.nulls),
                (INT, self.nulls.replace("wild", "none").replace("none some", "some")),
                (TEXT, "some" if self.nulls.endswith("some") else "none"),
            )
        )
        found = []
        for i in range(ROWS):
            now += rng.choice((0, 0, 1, 1, 2, 3, 6))
            row: Row = {"id": i, "t": now, "x": x[i], "n": n[i], "s": s[i]}
            row |= {"k": rng.randrange(2), "ks": rng.choice(("a", "b", None))}
            row |= {"kf": rng.choice((0.0, -0.0, math.nan, -math.nan, 1.5))}
            row |= {"km": now * 4 // 3, "metres": now * 4 // 3 * 1.0}
            row |= {"mark": rng.choice((True, False, False, None))}
            found.append(row)
        ids = rng.sample(range(ROWS), ROWS)  # so that `order="id"` says something
        return [{**row, "id": ids[i]} for i, row in enumerate(found)]

    def table(self, rows: list[Row]) -> Any:
        """Return rows as an Arrow table."""
        clock, steps, _ = CLOCKS[self.clock]
        columns = {
            name: pa.array([row[name] for row in rows], kind) for name, kind in _TYPES.items()
        }
        columns["t"] = (
            array_of([row["t"] * steps for row in rows], clock)
            if clock != pa.int16()
            else pa.array([row["t"] for row in rows], clock)
        )
        columns["x"] = self.kind.array([row["x"] for row in rows])
        return pa.table(columns)

    def arranged(self, order: str) -> list[Row]:
        """Return the rows in time order, or shuffled."""
        rng = random.Random(self.label + order)
        return self.rows if order == "in order" else rng.sample(self.rows, ROWS)

    def batches(self, lateness: int) -> list[list[Row]]:
        """Return the rows as they might arrive, none of them so late."""
        rng = random.Random(self.label + "arrival")
        arriving = sorted(self.rows, key=lambda row: row["t"] + rng.random() * lateness)
        cuts = sorted(rng.sample(range(1, ROWS), 3))
        return [arriving[a:b] for a, b in zip([0, *cuts], [*cuts, ROWS], strict=True)]
