"""Cells of the matrix run together, and compared one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import slidefold as sf
from slidefold.errors import ResultOverflowError, SlidefoldError
from tests.matrix import asked
from tests.matrix.asked import Asked
from tests.matrix.cases import Case
from tests.matrix.engines import ENGINES
from tests.matrix.oracle import OVERFLOW
from tests.matrix.tables import CLOCKS, Data
from tests.matrix.values import read, steps_per_second
from tests.matrix.windows import Row, Slide, Window, frames, ordered, slides

Cell = tuple[Case, Window]
TOGETHER = 128  # cells in one definition
# What a user's operator returns is known from its results alone, unless it declares it.
UNDECLARED = "user plain"
# The differences of dates are durations.
DIFFERENCES = ("range", "longest_gap", "change")
TYPES: dict[tuple[str, str], tuple[str, str]] = {}  # of results, where they were first seen


@dataclass
class Checker:
    """The oracle over one set of rows; results of equal windows are folded once."""

    data: Data
    typed: bool = True  # whether an engine has Arrow's types, as Spark has not
    folded: dict[Any, Any] = field(default_factory=dict)
    known: dict[Any, Any] = field(default_factory=dict)  # what is expected of cells

    def results(
        self, cell: Cell, held: Sequence[Row], row: Row | None, end: int
    ) -> tuple[Any, list[tuple[Any, ...]]]:
        """Return the result over these rows, and what was folded.

        `row` is the row that asks, None with `every=`; `end` is where the window ends.
        """
        case, window = cell
        rows = [tuple(row[name] for name in case.columns) for row in held]
        if case.asks is not None:
            at = Asked([*held], row, end, self.data.clock, window.least or 1)
            return case.asks(at, self.data.kind), rows
        key = (case.name, window.least, tuple(row["id"] for row in held))
        if key not in self.folded:
            self.folded[key] = case.result(rows, self.data.kind, window.least or 1), rows
        return self.folded[key]  # type: ignore[no-any-return]

    def check(self, engine: str, cells: Sequence[Cell], slide: Slide | None = None) -> list[str]:
        """Run cells and say which are wrong."""
        cells = [cell for cell in cells if slide is None or cell[1] in slide.windows]
        parts = [cells[i : i + TOGETHER] for i in range(0, len(cells), TOGETHER)]
        return [said for part in parts for said in self._check(engine, part, slide)]

    def _check(self, engine: str, cells: Sequence[Cell], slide: Slide | None) -> list[str]:
        expected = self.expected(tuple(cells), slide)
        beyond = [i for i in range(len(cells)) if self._overflows(expected, i)]
        wrong = []
        fine = [cell for i, cell in enumerate(cells) if i not in beyond]
        for i in beyond:
            wrong += self._overflow(engine, cells[i], slide)
        if len(fine) < len(cells):
            return wrong + (self._check(engine, fine, slide) if fine else [])
        try:
            table = self._run(engine, cells, slide)
        except Exception as error:  # of one of them, or of several
            if len(cells) > 1:
                half = len(cells) // 2
                parts = (cells[:half], cells[half:])
                return wrong + [said for part in parts for said in self._check(engine, part, slide)]
            return [self._said(engine, cells[0], slide, f"raised {type(error).__name__}: {error}")]
        return wrong + self.compare(engine, cells, slide, table, expected)

    def definition(self, cells: Sequence[Cell], slide: Slide | None) -> sf.Rolling:
        """Return the definition of cells; with `every`, its largest window comes along."""
        length = self.data.length
        columns = {f"c{i}": case.over(window, length) for i, (case, window) in enumerate(cells)}
        said = {} if slide is None else slide.said(length)
        if slide is not None:
            for i, window in enumerate(slide.windows):
                columns[f"all{i}"] = window.over(sf.count(), length)
        # The last column by which peers are told apart.
        own = Window("rows", 1) if slide is None else slide.windows[0]
        columns["tie"] = own.over(sf.last("id"), length)
        order = self.data.ties
        return sf.rolling(on="t", by=self.data.by, order=order, columns=columns, **said)

    def refusal(self, engine: str, cell: Cell, slide: Slide | None = None) -> str:
        """Return what is wrong with how a cell is refused, empty if nothing."""
        try:
            self._run(engine, [cell], slide)
        except SlidefoldError as error:
            said = str(error)
            return "" if said and "\n" not in said else self._said(engine, cell, None, repr(said))
        except Exception as error:
            return self._said(engine, cell, None, f"raised {type(error).__name__}: {error}")
        return self._said(engine, cell, None, "is listed as refused, and is not")

    def _run(self, engine: str, cells: Sequence[Cell], slide: Slide | None) -> Any:
        return ENGINES[engine](self.definition(cells, slide), self.data)

    def _groups(self, cells: Sequence[Cell], slide: Slide | None) -> list[list[Row]]:
        used = [
            name for case, window in cells for name in (*case.columns, *_looks(case.own or window))
        ]
        if slide is not None:
            used += [name for window in slide.windows for name in _looks(window)]
        used.append("id")
        return ordered(self.data.rows, self.data.by, (*self.data.ties, *dict.fromkeys(used)))

    def expected(self, cells: tuple[Cell, ...], slide: Slide | None) -> Any:
        """Return what each cell gives: by row, or by key a list of results."""
        key = (slide, *((case.name, window) for case, window in cells))
        if key not in self.known:
            self.known[key] = self._asked(cells, slide)
        return self.known[key]

    def _asked(self, cells: tuple[Cell, ...], slide: Slide | None) -> Any:
        groups = self._groups(cells, slide)
        if slide is None:
            by_row: dict[int, list[Any]] = defaultdict(list)
            needed = {case.own or window for case, window in cells}
            windows = {window: [frames(window, group) for group in groups] for window in needed}
            for cell in cells:
                for group, each in zip(groups, windows[cell[0].own or cell[1]], strict=True):
                    for row, held in zip(group, each, strict=True):
                        end = cell[1].end(row["t"])
                        by_row[row["id"]].append(self.results(cell, held, row, end))
            return by_row
        found: dict[Any, list[Any]] = {}
        place = [slide.windows.index(window) for _, window in cells]
        for group in groups:
            key = tuple(_key(group[0][name]) for name in self.data.by)
            found[key] = [
                (
                    start,
                    end,
                    [
                        self.results(c, held[p], None, c[1].end(end))
                        for c, p in zip(cells, place, strict=True)
                    ],
                )
                for start, end, held in slides(slide, group)
            ]
        return found

    def _overflows(self, expected: Any, cell: int) -> bool:
        return any(results[cell][0] is OVERFLOW for results in _flat(expected.values()))

    def _overflow(self, engine: str, cell: Cell, slide: Slide | None) -> list[str]:
        try:
            self._run(engine, [cell], slide)
        except ResultOverflowError:
            return []
        except Exception as error:
            said = f"raised {type(error).__name__} instead of ResultOverflowError: {error}"
            return [self._said(engine, cell, slide, said)]
        return [self._said(engine, cell, slide, "did not raise ResultOverflowError")]

    def compare(
        self, engine: str, cells: Sequence[Cell], slide: Slide | None, table: Any, expected: Any
    ) -> list[str]:
        """Say which cells of a table are not as expected."""
        wrong = []
        for i, cell in enumerate(cells):
            said = self._type_of(cell, table.schema.field(f"c{i}").type, f"{engine} {slide}")
            if said:
                wrong.append(self._said(engine, cell, slide, said))
        columns = [self._read(cell, table[f"c{i}"]) for i, cell in enumerate(cells)]
        if slide is None:
            places = [(expected[id], i) for i, id in enumerate(table["id"].to_pylist())]
        else:
            places, said = self._places(table, expected)
            if said:
                return [*wrong, self._said(engine, cells[0], slide, said)]
        for i, cell in enumerate(cells):
            for results, place in places:
                due, rows = results[i]
                got = columns[i][place]
                if not cell[0].agrees(got, due, rows, self.data.kind):
                    said = f"row {place}: got {got!r}, expected {due!r} of {rows}"
                    wrong.append(self._said(engine, cell, slide, said))
                    break
        return wrong

    def _read(self, cell: Cell, column: Any) -> list[Any]:
        """Return a column as the oracle reads it; days apart are a duration."""
        if cell[0].spans:
            return asked.spans(column)
        if cell[0].registered in DIFFERENCES and pa.types.is_date32(self.data.kind.arrow):
            steps = 86400 * int(steps_per_second(column.type) or 0)
            return [None if value is None else value / steps for value in read(column)]
        return read(column)

    def _places(self, table: Any, expected: Any) -> tuple[list[Any], str]:
        """Return which expected results stand at which place of a table of slides."""
        steps = CLOCKS[self.data.clock][1]
        keys = [read(table[name]) for name in self.data.by]
        starts, ends = read(table["window_start"]), read(table["window_end"])
        found: dict[Any, list[int]] = defaultdict(list)
        for place in range(len(table)):
            found[tuple(_key(column[place]) for column in keys)].append(place)
        due = {key for key, results in expected.items() if results}
        if found.keys() != due:
            return [], f"has the keys {[*found]}, expected {[*due]}"
        places = []
        for key in due:
            got = [(starts[place], ends[place]) for place in found[key]]
            right = [
                (starts[place] if start is None else start * steps, end * steps)
                for (start, end, _), place in zip(expected[key], found[key], strict=False)
            ]
            if got != right or len(got) != len(expected[key]):
                said = [(start, end) for start, end, _ in expected[key]]
                return [], f"has for {key} the windows {got}, expected {said} in steps of {steps}"
            places += [(r, p) for (_, _, r), p in zip(expected[key], found[key], strict=True)]
        return places, ""

    def _type_of(self, cell: Cell, got: Any, where: str) -> str:
        case, kind = cell[0], self.data.kind
        if not self.typed:
            return ""
        label = f"{where} {cell[1]} {self.data.label}"
        if case.name == UNDECLARED and got == pa.null():
            return ""
        of = kind.name
        if case.spans:  # a delay is in microseconds
            of = f"{self.data.clock} {cell[1].delay > 0 or cell[1].kind == 'ahead'}"
        first, seen = TYPES.setdefault((case.name, of), (str(got), label))
        if str(got) != first:
            return f"gives {got}, but {first} in {seen}"
        due = case.type_of(kind) if case.type_of and "x" in case.columns else None
        return "" if due is None or got == due else f"gives {got}, documented is {due}"

    def _said(self, engine: str, cell: Cell, slide: Slide | None, what: str) -> str:
        where = f"{cell[1]} | {slide}" if slide else str(cell[1])
        clock = f"{self.data.clock} {self.data.ties}"
        return f"{cell[0]} | {where} | {self.data.label} | {clock} | {engine}: {what}"


def _looks(window: Window) -> tuple[str, ...]:
    if window.kind == "delta":
        return (window.on,)
    return ("mark",) if window.kind == "punctuated" else ()


def _key(value: Any) -> Any:
    return "NaN" if value != value else value


def _flat(rows: Any) -> Any:
    """Yield the results of the cells, of rows or of slides."""
    for results in rows:
        if results and len(results[0]) == 3:
            yield from (each for _, _, each in results)
        elif results:
            yield results
