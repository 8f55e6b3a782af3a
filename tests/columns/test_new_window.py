"""A window that the library does not know: it runs by its own answers, or is refused by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.definition.windows import Asked, Clock, Frames, Rows, SortedRows, WindowKind

TABLE = pa.table({"t": [1, 2, 3, 4, 5, 6], "x": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]})


@dataclass(frozen=True)
class Pair(WindowKind):
    """The current row and the row before it, from a class that no engine knows."""

    rule: str = "rows"  # as the engine of arrival order takes it

    def frames(self, rows: SortedRows) -> Frames:
        hi = np.arange(1, len(rows) + 1)
        return np.maximum(hi - 2, rows.group_start), hi

    def asked_frames(self, rows: SortedRows, asked: Asked) -> Frames:
        return Rows(2).asked_frames(rows, asked)

    def retention(self) -> str:
        return "two rows"

    @property
    def unbounded(self) -> str:
        return ""

    def text(self, default: str | None) -> str:
        return "Pair()"

    def engine_rule(self, clock: Clock, schema: Any) -> dict[str, Any]:
        return {"kind": self.rule, "most": 2, "with_row": True}


def definition(window: Any) -> sf.Rolling:
    return sf.rolling(on="t", s=sf.sum("x").over(window), m=sf.median("x").over(window))


def test_a_new_kind_runs_by_its_own_answers() -> None:
    made, known = definition(Pair()), definition(2)
    assert made.run(TABLE).equals(known.run(TABLE))
    asked = pa.table({"t": [0, 3, 9]})
    assert made.run(TABLE, at=asked).equals(known.run(TABLE, at=asked))
    live = made.live(lateness=1)
    assert pa.concat_tables([live.feed(TABLE), live.finish()]).equals(known.run(TABLE))
    assert "over Pair()" in made.explain(TABLE)


def test_a_kind_that_an_engine_does_not_know_is_refused() -> None:
    with pytest.raises(sf.errors.SlidefoldError, match="odd"):
        definition(Pair(rule="odd")).live(lateness=1).feed(TABLE)
    with pytest.raises(sf.errors.SlidefoldError, match="got Pair"):
        sf.Window(sf.sum(), Pair())  # type: ignore[arg-type]
    with pytest.raises(sf.errors.SlidefoldError, match="cannot be written"):
        definition(Pair()).to_dict()


def test_a_kind_must_answer_every_question() -> None:
    class Silent(Pair):
        engine_rule = WindowKind.engine_rule

    with pytest.raises(TypeError, match="engine_rule"):
        Silent()
