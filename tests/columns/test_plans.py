"""The plan is what runs: the kernels that were called are those that it names."""

from __future__ import annotations

import pytest

import slidefold as sf
from slidefold.columns.expressions import core_schema
from slidefold.columns.trace import traced
from slidefold.planner import plan_table
from tests.support.golden import Case, cases

CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_ran_is_what_was_planned(case: Case) -> None:
    definition = sf.Rolling.from_dict(case.definition)
    planned = {
        (column.kernel, column.algorithm)
        for column in plan_table(definition, core_schema(definition, case.data.schema)).columns
    }
    with traced() as ran:
        definition.run(case.data)
    assert {*ran} == planned


def test_a_null_a_tie_and_a_key_change_no_kernel() -> None:
    import pyarrow as pa

    plain = pa.table({"t": [1, 2, 3, 4], "k": [0, 0, 0, 0], "x": [1.0, 2.0, 3.0, 4.0]})
    other = pa.table({"t": [1, 1, 3, 2], "k": [0, 1, 1, 0], "x": [1.0, None, 3.0, 4.0]})
    for operator in (sf.sum("x"), sf.mean("x"), sf.max("x"), sf.std("x"), sf.count("x")):
        for window in (2, sf.time(2)):
            found = []
            for table, by in ((plain, ()), (other, "k")):
                with traced() as ran:
                    sf.rolling(on="t", by=by, r=operator.over(window)).run(table)
                found.append(list(ran))
            assert found[0] == found[1], (operator, window)
            assert found[0][0][0] == "windows"


def test_expressions_are_explained() -> None:
    import pyarrow as pa

    definition = sf.rolling(
        on="t",
        value=sf.sum(sf.col("x") * sf.col("n")).over(3),
        large=sf.count().where(sf.col("x") > 2).over(3),
        ratio=sf.col("x") / sf.mean("x").over(5),
        share=sf.col("large") / 3,
        quiet=sf.since_last().over(sf.time(9, closed="left")),
        before=sf.lag("x"),
    )
    schema = pa.schema({"t": pa.int64(), "x": pa.float64(), "n": pa.int64()})
    text = definition.explain(schema).partition(")\n")[2]
    details = ("  algorithm: ", "  kernel: ", "  cost: ", "  keeps: ")
    heads = [line for line in text.splitlines() if not line.startswith(details)]
    assert heads == [
        "computed from each row, before the windows:",
        "  x * n (double)",
        "  True where x > 2 (bool)",
        "value: sf.sum('x * n') of double over sf.rows(3)",
        "large: sf.count('True where x > 2') of bool over sf.rows(3)",
        "mean('x').over(5): sf.mean('x') of double over sf.rows(5)",
        "max('t').over(time(9, closed='left')): sf.max('t') of int64 over "
        "sf.time(9, closed='left')",
        "before: sf.nth('x', nulls='keep') of double over sf.rows(1, closed='left')",
        "computed from results, after the windows:",
        "  ratio: x / mean('x').over(5)",
        "  share: large / 3",
        "  quiet: t - max('t').over(time(9, closed='left'))",
    ]
    assert "  x * n\n" in definition.explain()
    plain = sf.rolling(on="t", n=sf.count().over(3)).explain(schema)
    assert "computed from" not in plain
    with pytest.raises(sf.errors.ColumnError, match="no column 'y'"):
        sf.rolling(on="t", r=sf.col("y") / sf.mean("x").over(5)).explain(schema)
