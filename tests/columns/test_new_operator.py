"""Adding an operator takes one record and one class; it then runs everywhere."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from tests.chunks.test_chunks import run_chunked
from tests.support.lopsided import expected, lopsidedness, registered

__all__ = ["registered"]

rng = random.Random(3)
TABLE = pa.table({"t": range(60), "x": [rng.gauss(0.0, 1.0) for _ in range(60)]})
DUE = [expected(TABLE["x"].to_pylist()[max(0, i - 19) : i + 1]) for i in range(60)]


def definition() -> sf.Rolling:
    """Return a definition as a file has it."""
    column = {"operator": "lopsidedness", "columns": "x", "over": {"time": 20}}
    return sf.Rolling.from_dict({"on": "t", "columns": {"skew": column}})


@pytest.mark.usefixtures("registered")
def test_it_runs_on_every_engine_in_process() -> None:
    made = definition()
    assert made.run(TABLE)["skew"].to_pylist() == pytest.approx(DUE)
    live = made.live(lateness=3)
    fed = pa.concat_tables([live.feed(TABLE), live.finish()])
    assert fed["skew"].to_pylist() == pytest.approx(DUE)
    window = sf.Window(lopsidedness(), sf.time(20))
    rows = TABLE.to_pylist()
    assert [window.push(row["t"], row["x"]) for row in rows] == pytest.approx(DUE)
    chunks, _ = run_chunked(made, TABLE, [17, 31, 45], [], random.Random(1))
    assert chunks.sort_by("t")["skew"].to_pylist() == pytest.approx(DUE)


@pytest.mark.usefixtures("registered")
def test_it_is_explained_and_documented() -> None:
    from tools.docs import operators as page

    assert "skew: Lopsidedness('x') of double over sf.time(20)" in definition().explain(TABLE)
    text = page.page()
    assert "### lopsidedness" in text
    assert "the third standardized moment" in text
    assert sf.check(lopsidedness()).examples == 200


@pytest.mark.usefixtures("registered")
def test_a_mistake_in_its_name_leads_to_it() -> None:
    wrong: Any = {
        "on": "t",
        "columns": {"s": {"operator": "lopsidednes", "columns": "x", "over": 3}},
    }
    with pytest.raises(sf.errors.DefinitionError, match="did you mean 'lopsidedness'"):
        sf.Rolling.from_dict(wrong)
