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
