"""The matrix over Spark's types: every operator, by key, without one, and in a stream.

Results are compared with the oracle of `tests/matrix`, and their types with those in process.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from slidefold.definition.operators import RECORDS
from tests.matrix.cases import CASES
from tests.matrix.checking import UNDECLARED, Cell, Checker
from tests.matrix.refusals import refused
from tests.matrix.tables import Data, chosen
from tests.matrix.values import KINDS, Kind
from tests.matrix.windows import PER_ROW, Window
from tests.spark.conftest import ZONE

pytestmark = pytest.mark.spark

# Those that Spark has are those of single events, but for unsigned integers.
TYPES = tuple(k for k in KINDS if k.dtype is not None and not k.name.startswith("uint"))
KEYS = {"by key": "two keys", "without key": "no key"}
WINDOWS = (
    Window("time", 4),
    Window("time", 4, "left", 2),
    Window("rows", 2),
    Window("session", 2),
    Window("punctuated"),
    Window("delta", 6),
)
SAMPLED = 40  # cells of each type and key
STREAMED = "timestamp[us]"  # event time of streams
_NO_STREAM = ("delta", "punctuated")


def cells_of(kind: Kind, windows: tuple[Window, ...], most: int | None = None) -> list[Cell]:
    """Return the cells of a type, in an order that is always the same; at most so many."""
    taken = [case for case in CASES if not refused(case, kind) and case.name != UNDECLARED]
    cells = [(case, window) for case in taken for window in windows]
    order = sorted(cells, key=lambda cell: chosen(f"{kind} {cell[0]} {cell[1]}", 2**32))
    return order[:most]


def check(spark: Any, kinds: tuple[Kind, ...], nulls: str, most: int | None) -> None:
    """Run the cells of some types by key and without one, collect all in one job, and compare."""
    from slidefold.spark.types import known_type
    from tests.spark.support import collected, frame

    runs = []
    for kind in kinds:
        for key in KEYS.values():
            checker = Checker(Data(kind, nulls, key), typed=False)
            cells = cells_of(kind, WINDOWS, most)
            table = checker.data.table(checker.data.arranged("shuffled"))
            definition = checker.definition(cells, None)
            runs.append((checker, cells, definition.run(frame(spark, table, 3)), definition, table))
    wrong = []
    for run, found in zip(runs, collected([run[2] for run in runs]), strict=True):
        checker, cells, _, definition, table = run
        due = definition.run(table).schema
        for i, (case, window) in enumerate(cells):
            got, expected = (schema.field(f"c{i}").type for schema in (found.schema, due))
            # Lists name their items in other words, and instants have the session's zone.
            named = str(got).replace("element", "item").replace(ZONE, "UTC")
            if named != str(known_type(expected)):
                wrong.append(f"{case} {window} {checker.data.label}: {got}, not {expected}")
        wrong += checker.compare("Spark", cells, None, found, checker.expected(tuple(cells), None))
    assert not wrong, f"{len(wrong)} cells are wrong:\n" + "\n".join(s[:600] for s in wrong[:12])


def test_sample(spark: Any) -> None:
    check(spark, TYPES[::4], "some", SAMPLED)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("nulls", ["none", "some"])
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_all(spark: Any, kind: Kind, nulls: str) -> None:
    check(spark, (kind,), nulls, None)


def streamed(kind: Kind, most: int | None) -> list[str]:
    """Send rows through the stages of a stream, in this process, and say what is wrong."""
    from tests.spark.support import spark_table
    from tests.support.streams import Stages

    checker = Checker(Data(kind, "some", "two keys", STREAMED), typed=False)
    windows = tuple(window for window in PER_ROW if window.kind not in _NO_STREAM)
    every = cells_of(kind, windows, most)
    tables = [spark_table(checker.data.table(batch)) for batch in checker.data.batches(3)]
    # Expressions need types that native code reads, in all columns of a definition.
    wrong = []
    for made in (True, False):
        cells = [cell for cell in every if is_made(cell[0].registered) == made]
        if not cells:
            continue
        stages = Stages(checker.definition(cells, None), tables[0].schema)
        found = [stages.feed(table) for table in tables]
        found.append(stages.advance(10**9))
        whole = pa.concat_tables(found)
        expected = checker.expected(tuple(cells), None)
        wrong += checker.compare("stream", cells, None, whole, expected)
    return wrong


def is_made(name: str) -> bool:
    """Tell whether an operator is an expression of others, or reads the row."""
    record = RECORDS.get(name)
    return record is not None and (record.expands is not None or record.reads_row)


def test_sample_of_streams() -> None:
    wrong = [said for kind in TYPES for said in streamed(kind, SAMPLED)]
    assert not wrong, "\n".join(said[:600] for said in wrong[:12])


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_all_streams(kind: Kind) -> None:
    wrong = streamed(kind, None)
    assert not wrong, "\n".join(said[:600] for said in wrong[:12])
