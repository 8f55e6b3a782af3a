"""`slidefold bench`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from slidefold.algorithms import REGISTRY
from slidefold.cli.guard import guarded
from slidefold.cli.options import AsJson
from slidefold.cli.output import Output
from slidefold.definition.arguments import rolling
from slidefold.definition.operators import BUILT_IN, Operator, QuantileOperator
from slidefold.errors import PairError, SlidefoldError, UsageError, nearest
from slidefold.planner import ORDER_ALGORITHM

_COUNTED = 5  # combines are counted over this many windows' worth of rows
_LONGEST = 5.0  # seconds after which counting stops
_SLOW = 1000  # nanoseconds per row above which only a part of the column is timed
_HEADINGS = ("algorithm", "combines per step", "worst step", "ns per row")
_KEYS = ("algorithm", "combines a step", "worst step", "ns a row")  # in JSON; english: ok


def bench(
    operator: Annotated[str, typer.Argument(help="A built-in operator, or `capacity`.")] = "mean",
    window: Annotated[int, typer.Option(min=1, help="The number of rows in the window.")] = 1000,
    rows: Annotated[int, typer.Option(min=10, help="The number of rows to process.")] = 200_000,
    json: AsJson = False,
) -> None:
    """Measure every algorithm with one operator on this machine.

    A step evicts, inserts and queries once on a full window. The table shows how many calls of
    `combine` a step needs, on average and at worst, and the time per row when native code slides
    over a whole column. A dash means that the algorithm needs a property that the operator lacks.
    Medians and quantiles have no `combine` and run on their own algorithm.

    `slidefold bench capacity` runs batches over `--rows` rows on Spark instead, and compares the
    estimates of `explain(df, scale=...)` with them.
    """
    out = Output(json)
    with guarded(out):
        if operator == "capacity":
            from slidefold.cli.capacity import calibrate

            calibrate(out, rows)
            return
        measured = _operator(operator)
        column = np.random.default_rng(1).normal(size=max(rows, 2 * window)).round(3)
        if measured.dtype == "int64":
            column = (column * 1000).astype(np.int64)
        results: list[list[Any]] = []
        with out.working("measuring", len(REGISTRY)) as bar:
            if isinstance(measured, QuantileOperator):
                results.append([ORDER_ALGORITHM, None, None, _ordered(operator, column, window)])
            for name, kind in REGISTRY.items() if not results else ():
                bar.tell(f"measuring {name}")
                results.append([name, *_measure(kind, measured, column, window)])
                bar.advance()
        if not json:
            results = [["-" if cell is None else cell for cell in row] for row in results]
        title = f"{measured} over {window:,} rows, {len(column):,} values"
        out.rows(_KEYS if json else _HEADINGS, results, title)


def _operator(name: str) -> Operator:
    factory: Any = BUILT_IN.get(name)
    if factory is None:
        raise UsageError(f"there is no operator {name!r}{nearest(name, BUILT_IN)}")
    inputs = [one for one in signature(factory).parameters.values() if one.default is None]
    for arguments in ({"dtype": "float64"}, {}):
        try:
            operator = factory(**arguments)
        except (TypeError, SlidefoldError):
            continue
        if len(inputs) == 1 and operator.dtype in ("float64", "int64"):
            return operator  # type: ignore[no-any-return]
    raise UsageError(
        f"bench expects an operator that takes one numeric column and no parameters, got {name}"
    )


def _ordered(name: str, column: Any, window: int) -> float:
    table = pa.table({"row": np.arange(len(column)), "x": column})
    factory: Any = BUILT_IN[name]
    definition = rolling(on="row", columns={"result": factory("x").over(window)})
    return round(_best(lambda: definition.run(table)) / len(column) * 1e9, 1)


def _best(call: Callable[[], object]) -> float:
    taken = []
    for _ in range(3):
        start = perf_counter()
        call()
        taken.append(perf_counter() - start)
    return min(taken)


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
    steps: list[int] = []
    end = perf_counter() + _LONGEST
    for value in values[window:]:
        if perf_counter() > end:
            break
        before = counted.combines
        counted.evict()
        counted.insert(value)
        counted.query()
        steps.append(counted.combines - before)
    return round(sum(steps) / len(steps), 2), max(steps)


def _nanoseconds(algorithm: Any, column: Any, window: int) -> float:
    def best(values: Any) -> float:
        return _best(lambda: algorithm.slide(values, window)) / len(values) * 1e9

    part = best(column[: 2 * window])
    return round(part if part > _SLOW else best(column), 1)
