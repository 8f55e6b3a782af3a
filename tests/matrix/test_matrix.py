"""The matrix: a sample of its cells in every run, all of them with `-m exhaustive`.

A cell is an operator, a type, a window, nulls or none, a key or none, rows in order or not, and an
engine. Each agrees with the oracle, or is refused by a typed error and listed in `refusals.py`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from tests.matrix import events
from tests.matrix.cases import CASES, MISSING, Case
from tests.matrix.checking import Cell, Checker
from tests.matrix.engines import ENGINES
from tests.matrix.refusals import refused, refused_events, too_large
from tests.matrix.tables import Data, chosen
from tests.matrix.values import KINDS, NULLS, Kind
from tests.matrix.windows import FAR, FAR_SLIDES, PER_ROW, SLIDES

# Nulls and keys: each of both with and without the other.
DATA = (
    ("none", "no key"),
    ("none", "int key"),
    ("some", "no key"),
    ("some", "string key with nulls"),
    ("all", "float key"),
    ("wild", "no key"),
    ("wild some", "two keys"),
)
SLID = (DATA[0], DATA[3], DATA[4], DATA[6])
SCENARIOS = [(nulls, key, engine) for nulls, key in DATA for engine in ENGINES]
SAMPLED = 8  # of these, for each type
EVENTS = tuple(kind for kind in KINDS if kind.dtype is not None)
of_kinds = pytest.mark.parametrize("kind", KINDS, ids=str)
of_events = pytest.mark.parametrize("kind", EVENTS, ids=str)
of_data = pytest.mark.parametrize(("nulls", "key"), DATA, ids=lambda said: said.replace(" ", "_"))
of_slid = pytest.mark.parametrize(("nulls", "key"), SLID, ids=lambda said: said.replace(" ", "_"))
exhaustive = [pytest.mark.exhaustive, pytest.mark.slow]


def taken(kind: Kind, nulls: str) -> list[Case]:
    """Return the operators that must give results over such a column."""
    return [
        case
        for case in CASES
        if not refused(case, kind) and not too_large(case, kind, nulls, "columns")
    ]


def slid(kind: Kind, nulls: str, engine: str) -> list[Case]:
    """Return those of them that `every=` takes."""
    return [case for case in taken(kind, nulls) if not case.reads_row]


def pick(options: Any, *words: object) -> Any:
    """Return one of several, always the same one for the same words."""
    return options[chosen(" | ".join(map(str, words)), len(options))]


def fail_on(wrong: list[str]) -> None:
    """Fail with the first of what is wrong."""
    shown = "\n".join(said[:600] for said in wrong[:12])
    assert not wrong, f"{len(wrong)} cells are wrong:\n{shown}"


def test_every_registered_operator_is_in_the_matrix() -> None:
    assert not MISSING, f"the registry has {MISSING}: add cases with their oracle to cases.py"
    assert len({case.name for case in CASES}) == len(CASES)


# ---- a sample ------------------------------------------------------------------------------------


@of_kinds
def test_sample(kind: Kind) -> None:
    """Each operator once, over a window, nulls, a key and an engine that its name decides."""
    scenarios = sorted(SCENARIOS, key=lambda said: chosen(f"{kind} {said}", 2**32))[:SAMPLED]
    cells: dict[Any, list[Cell]] = defaultdict(list)
    for case in CASES:
        scenario = pick(scenarios, kind, case)
        if case in taken(kind, scenario[0]):
            cells[scenario].append((case, pick(PER_ROW, kind, case, "window")))
    wrong = []
    for (nulls, key, engine), of in cells.items():
        wrong += Checker(Data(kind, nulls, key)).check(engine, of)
    fail_on(wrong)


@of_kinds
def test_sample_of_slides(kind: Kind) -> None:
    nulls, key = pick(SLID, kind, "slid")
    checker = Checker(Data(kind, nulls, key))
    wrong = []
    for engine in ("columns shuffled", "live"):
        slide = pick(SLIDES, kind, engine)
        cells = [(case, pick(slide.windows, kind, case)) for case in slid(kind, nulls, engine)]
        wrong += checker.check(engine, cells, slide)
    fail_on(wrong)


def far_cells(case: Case, engine: str, windows: Any = FAR) -> list[Cell]:
    """Return the cells of an operator over windows that are far from the row."""
    return [
        (case, window)
        for window in windows
        if not (case.grows and window.kind == "lifetime")
        and not (engine == "live" and window.kind == "ahead")
    ]


@of_kinds
def test_sample_of_far_windows(kind: Kind) -> None:
    nulls, key, engine = pick(SCENARIOS, kind, "far")
    wrong = []
    for each in {engine, "live"}:
        cells = [pick(far_cells(case, each), kind, case) for case in taken(kind, nulls)]
        wrong += Checker(Data(kind, nulls, key)).check(each, cells)
    nulls, key = pick(SLID, kind, "slid far")
    checker = Checker(Data(kind, nulls, key))
    for each in ("columns shuffled", "live"):
        slide = pick(FAR_SLIDES, kind, each)
        cases = slid(kind, nulls, each)
        cells = [pick(far_cells(case, each, slide.windows), kind, case) for case in cases]
        wrong += checker.check(each, cells, slide)
    fail_on(wrong)


def test_refusals_of_far_windows() -> None:
    checker = Checker(Data(KINDS[0], "some", "int key"))
    wrong = [
        checker.refusal(engine, (case, window))
        for case in CASES
        for window in FAR
        for engine in ("columns in order", "live")
        if not refused(case, KINDS[0])
        and case.own is None
        and (case, window) not in far_cells(case, engine)
    ]
    fail_on([said for said in wrong if said])


@of_events
def test_sample_of_events(kind: Kind) -> None:
    wrong = []
    for case in CASES:
        nulls, window = pick(NULLS, kind, case), pick(events.WINDOWS, kind, case, "event")
        if not case.events:
            continue
        if not refused_events(case, kind) and not too_large(case, kind, nulls, "events"):
            late = window.kind == "time" and bool(chosen(f"{kind} {case} late", 2))
            wrong.append(events.check(case, Data(kind, nulls, "no key"), window, late))
    fail_on([said for said in wrong if said])


@of_kinds
def test_refusals(kind: Kind) -> None:
    """What is listed is refused, with one sentence, whatever the nulls, the key and the engine."""
    wrong = []
    for case in CASES:
        if refused(case, kind):
            nulls, key, engine = pick(SCENARIOS, kind, case, "refused")
            window = pick(PER_ROW, kind, case, "refused")
            wrong.append(Checker(Data(kind, nulls, key)).refusal(engine, (case, window)))
        elif case.reads_row:
            slide = pick(SLIDES, kind, case, "refused")
            cell = case, pick(slide.windows, kind, case)
            checker = Checker(Data(kind, "some", "int key"))
            wrong += [checker.refusal(engine, cell, slide) for engine in ("live", "threads")]
        if kind.dtype is not None and case.events and refused_events(case, kind):
            wrong.append(events.refusal(case, kind))
    fail_on([said for said in wrong if said])


# ---- all of it -----------------------------------------------------------------------------------


class TestAll:
    pytestmark = exhaustive

    @of_data
    @of_kinds
    def test_rows(self, kind: Kind, nulls: str, key: str) -> None:
        checker = Checker(Data(kind, nulls, key))
        wrong = []
        for engine in ENGINES:
            cells = [(case, window) for case in taken(kind, nulls) for window in PER_ROW]
            wrong += checker.check(engine, cells)
        fail_on(wrong)

    @of_slid
    @of_kinds
    def test_slides(self, kind: Kind, nulls: str, key: str) -> None:
        checker = Checker(Data(kind, nulls, key))
        wrong = []
        for slide in SLIDES:
            for engine in ("columns shuffled", "live"):
                cases = slid(kind, nulls, engine)
                cells = [(case, window) for case in cases for window in slide.windows]
                wrong += checker.check(engine, cells, slide)
        fail_on(wrong)

    @of_data
    @of_kinds
    def test_far_windows(self, kind: Kind, nulls: str, key: str) -> None:
        checker = Checker(Data(kind, nulls, key))
        wrong = []
        for engine in ENGINES:
            cases = taken(kind, nulls)
            wrong += checker.check(engine, [c for case in cases for c in far_cells(case, engine)])
        for engine in ("columns shuffled", "live"):
            for slide in FAR_SLIDES:
                cases = slid(kind, nulls, engine)
                cells = [c for case in cases for c in far_cells(case, engine, slide.windows)]
                wrong += checker.check(engine, cells, slide)
        fail_on(wrong)

    @of_events
    def test_events(self, kind: Kind) -> None:
        wrong = []
        for case in CASES:
            if not case.events or refused_events(case, kind):
                continue
            for nulls in NULLS:
                if too_large(case, kind, nulls, "events"):
                    continue
                data = Data(kind, nulls, "no key")
                for window in events.WINDOWS:
                    wrong.append(events.check(case, data, window, late=False))
                    if window.kind == "time":
                        wrong.append(events.check(case, data, window, late=True))
        fail_on([said for said in wrong if said])

    @of_data
    @of_kinds
    def test_refusals(self, kind: Kind, nulls: str, key: str) -> None:
        checker = Checker(Data(kind, nulls, key))
        cells = [
            (case, pick(PER_ROW, kind, case, nulls, key)) for case in CASES if refused(case, kind)
        ]
        wrong = [checker.refusal(engine, cell) for cell in cells for engine in ENGINES]
        fail_on([said for said in wrong if said])
