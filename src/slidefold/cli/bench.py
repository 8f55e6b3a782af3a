"""`slidefold bench`."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from slidefold.algorithms import REGISTRY
from slidefold.cli.guard import guarded
from slidefold.cli.options import AsJson
from slidefold.cli.output import Output
from slidefold.errors import PairError, SlidefoldError, UsageError
from slidefold.operators import BUILT_IN, Operator
from slidefold.rolling import nearest

_COUNTED = 5  # windows full of rows on which combines are counted
_SLOW = 1000  # nanoseconds a row from which a part of the column is enough


def bench(
    operator: Annotated[str, typer.Argument(help="A built-in operator.")] = "mean",
    window: Annotated[int, typer.Option(min=1, help="The rows in the window.")] = 1000,
    rows: Annotated[int, typer.Option(min=10, help="The rows that pass through it.")] = 200_000,
    json: AsJson = False,
) -> None:
    """Measure every algorithm on one operator, on this machine.

    A step is evict, insert and query of a full window. Combines are the calls of the operator that
    a step needs, on average and at worst; the time is that of a row when a whole column slides in
    native code. A dash: the algorithm needs a property that the operator lacks.
    """
    out = Output(json)
    with guarded(out):
        made = _operator(operator)
        column = np.random.default_rng(1).normal(size=max(rows, 2 * window)).round(3)
        found = []
        with out.working("measuring", len(REGISTRY)) as bar:
            for name, kind in REGISTRY.items():
                bar.tell(f"measuring {name}")
                found.append([name, *_measure(kind, made, column, window)])
                bar.advance()
        names = ("algorithm", "combines a step", "worst step", "ns a row")
        if not json:
            found = [["-" if cell is None else cell for cell in row] for row in found]
        out.rows(names, found, f"{made} over {window:,} rows, {len(column):,} values")


def _operator(name: str) -> Operator:
    made: Any = BUILT_IN.get(name)
    if made is None:
        raise UsageError(f"there is no operator {name!r}{nearest(name, BUILT_IN)}")
    try:
        return made(dtype="float64")  # type: ignore[no-any-return]
    except (TypeError, SlidefoldError):
        raise UsageError(f"{name} does not take one column of numbers alone") from None


def _measure(kind: Any, operator: Operator, column: Any, window: int) -> list[Any]:
    try:
        combines = _combines(
            kind(operator, counted=True), column[: (_COUNTED + 1) * window].tolist(), window
        )
        return [*combines, _nanoseconds(kind(operator), column, window)]
    except PairError:
        return [None, None, None]


def _combines(counted: Any, values: Sequence[float], window: int) -> tuple[float, int]:
    for value in values[:window]:
        counted.insert(value)
    steps = []
    for value in values[window:]:
        before = counted.combines
        counted.evict()
        counted.insert(value)
        counted.query()
        steps.append(counted.combines - before)
    return round(sum(steps) / len(steps), 2), max(steps)


def _nanoseconds(algorithm: Any, column: Any, window: int) -> float:
    def best(values: Any) -> float:
        taken = []
        for _ in range(3):
            start = perf_counter()
            algorithm.slide(values, window)
            taken.append(perf_counter() - start)
        return float(min(taken) / len(values) * 1e9)

    part = best(column[: 2 * window])
    return round(part if part > _SLOW else best(column), 1)
