"""Single events: `sf.Window` against the oracle, in order and out of it."""

from __future__ import annotations

import random
from typing import Any

import slidefold as sf
from slidefold.errors import ResultOverflowError, SlidefoldError
from tests.matrix.cases import Case
from tests.matrix.oracle import OVERFLOW
from tests.matrix.sketched import of_events
from tests.matrix.tables import Data
from tests.matrix.values import Kind, unread
from tests.matrix.windows import PER_ROW, Row, Window, frames

LATENESS = 3
_DAY = 86_400_000_000  # microseconds
WINDOWS = tuple(w for w in PER_ROW if w.kind in ("rows", "time") and w.least is None)


def _event(case: Case, kind: Kind, row: Row) -> Any:
    """Return the event of a row: a value, a pair of them, or a dict for the parts of a struct."""
    of = zip(case.columns, case.kinds(kind), strict=True)
    event = [column.event(row[name]) for name, column in of]
    if case.parts:
        return {"x": event[0]}
    return event[0] if len(event) == 1 else tuple(event) or row["id"]


def _arriving(rows: list[Row], late: bool) -> list[Row]:
    """Return rows in order, or out of it by less than the lateness."""
    rng = random.Random(len(rows))
    return sorted(rows, key=lambda row: row["t"] + rng.random() * LATENESS * late)


def _seen(window: Window, rows: list[Row]) -> list[Row]:
    """Return the rows in the window of the last one that came, of those that have come."""
    if window.kind == "rows":
        return frames(window, [{**row, "t": i} for i, row in enumerate(rows)])[-1]
    known = sorted(rows, key=lambda row: row["t"])
    place = next(i for i, row in enumerate(known) if row is rows[-1])
    return frames(window, known)[place]


def _pushed(made: Any, case: Case, kind: Kind, window: Window, row: Row, held: list[Row]) -> Any:
    value = _event(case, kind, row)
    got = unread(made.push(value) if window.kind == "rows" else made.push(row["t"], value))
    if got is None:
        return None
    if case.registered == "m4":
        return dict(zip(("first", "last", "min", "max"), got, strict=True))
    if case.registered in ("range", "longest_gap") and kind.family == "date":
        return got / _DAY
    if case.registered in ("bloom", "count_min"):
        there = [_event(case, kind, r) for r in held if r["x"] is not None]
        return of_events(got, there)
    return got


def check(case: Case, data: Data, window: Window, late: bool) -> str:
    """Push rows one by one; what is wrong, or nothing."""
    kind = data.kind
    said = f"{case} | {window} | {data.label} | Window{' late' if late else ''}: "
    try:
        lateness = LATENESS if late else None
        made = sf.Window(case.live(kind), window.window(lambda steps: steps), lateness=lateness)
        rows = _arriving(data.rows, late)
        for i, row in enumerate(rows):
            seen = _seen(window, rows[: i + 1])
            held = [tuple(r[name] for name in case.columns) for r in seen]
            due = case.result(held, kind)
            try:
                got = _pushed(made, case, kind, window, row, seen)
            except ResultOverflowError as error:
                return "" if due is OVERFLOW else said + f"row {i}: raised {error}"
            if due is OVERFLOW or not case.agrees(got, due, held, kind):
                return said + f"row {i}: got {got!r}, expected {due!r} of {held}"
    except Exception as error:
        return said + f"raised {type(error).__name__}: {error}"
    return ""


def refusal(case: Case, kind: Kind) -> str:
    """Return what is wrong with how `sf.Window` refuses a type, empty if nothing."""
    said = f"{case} | {kind} | Window: "
    data = Data(kind, "none", "no key")
    try:
        made = sf.Window(case.live(kind), sf.rows(2))
        for row in data.rows:
            made.push(_event(case, kind, row))
    except SlidefoldError as error:
        return "" if str(error) and "\n" not in str(error) else said + repr(str(error))
    except Exception as error:
        return said + f"raised {type(error).__name__}: {error}"
    return said + "is listed as refused, and is not"
