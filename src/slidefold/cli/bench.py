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
from slidefold.definition.operators import BUILT_IN, Operator, QuantileOperator
from slidefold.definition.rolling import rolling
from slidefold.errors import PairError, SlidefoldError, UsageError, nearest
from slidefold.planner import ORDER_ALGORITHM

_COUNTED = 5  # windows full of rows on which combines are counted
_LONGEST = 5.0  # seconds after which those that were counted are enough
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
    native code. A dash: the algorithm needs a property that the operator lacks. Medians and
    quantiles fold nothing and have an algorithm of their own.
    """
    out = Output(json)
    with guarded(out):
        made = _operator(operator)
        column = np.random.default_rng(1).normal(size=max(rows, 2 * window)).round(3)
        if made.dtype == "int64":
            column = (column * 1000).astype(np.int64)
        found: list[list[Any]] = []
        with out.working("measuring", len(REGISTRY)) as bar:
            if isinstance(made, QuantileOperator):
                found.append([ORDER_ALGORITHM, None, None, _ordered(operator, column, window)])
            for name, kind in REGISTRY.items() if not found else ():
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
    inputs = [each for each in signature(made).parameters.values() if each.default is None]
    for given in ({"dtype": "float64"}, {}):
        try:
            operator = made(**given)
        except (TypeError, SlidefoldError):
            continue
        if len(inputs) == 1 and operator.dtype in ("float64", "int64"):
            return operator  # type: ignore[no-any-return]
    raise UsageError(
        f"bench measures operators of one column of numbers that need no parameters, and {name} "
        "is none of these"
    )


def _ordered(name: str, column: Any, window: int) -> float:
    table = pa.table({"row": np.arange(len(column)), "x": column})
    made: Any = BUILT_IN[name]
    definition = rolling(on="row", columns={"result": made("x").over(window)})
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
