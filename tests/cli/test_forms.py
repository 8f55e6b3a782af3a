"""What columns of a pipeline file may say: parameters, windows, and files that are bombs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import slidefold as sf
from slidefold.definition.files import read
from slidefold.errors import DefinitionError, PipelineError
from slidefold.pipeline import load
from tests.cli.support import PIPELINE, slidefold, write

FORMS: dict[str, tuple[str, str, Any]] = {
    # in short, in full, in Python
    "a parameter": (
        'operator = "quantile", columns = "x", q = 0.99, over = "1h"',
        'operator = "quantile", columns = ["x"], params = { q = 0.99 }, over = "1h"',
        sf.quantile("x", 0.99).over("1h"),
    ),
    "parameters in part": (
        'operator = "quantile", columns = "x", q = 0.9, params = {interpolation="lower"}, over = 5',
        'operator = "quantile", columns = "x", params = {q = 0.9, interpolation="lower"}, over = 5',
        sf.quantile("x", 0.9, interpolation="lower").over(5),
    ),
    "edges": (
        'operator = "histogram", columns = "x", edges = [0, 1, 2.5], over = 5',
        'operator = "histogram", columns = "x", params = { edges = [0, 1, 2.5] }, over = 5',
        sf.histogram("x", edges=[0, 1, 2.5]).over(5),
    ),
    "a session": (
        'operator = "count", over = { session = "20m" }',
        'operator = "count", over = { kind = "session", gap = "20m" }',
        sf.count().over(sf.session("20m")),
    ),
    "a distance": (
        'operator = "max", columns = "x", over = { delta = 2.5, on = "km", closed = "both" }',
        'operator = "max", columns = "x", closed = "both", '
        'over = { kind = "delta", range = 2.5, on = "km" }',
        sf.max("x").over(sf.delta(2.5, on="km", closed="both")),
    ),
    "marks": (
        'operator = "count", over = { punctuated = "landed" }',
        'operator = "count", over = { kind = "punctuated", column = "landed" }',
        sf.count().over(sf.punctuated("landed")),
    ),
    "times that are numbers": (
        'operator = "count", over = { time = 60 }',
        'operator = "count", over = { kind = "time", range = 60 }',
        sf.count().over(sf.time(60)),
    ),
    "rows": (
        'operator = "count", over = { rows = 10, closed = "left" }',
        'operator = "count", over = 10, closed = "left"',
        sf.count().over(10, closed="left"),
    ),
    "parts with parameters": (
        'operator = "struct", over = "1h", '
        'parts = { p = { operator = "quantile", columns = "x", q = 0.9 } }',
        'operator = "struct", over = "1h", '
        'parts = { p = { operator = "quantile", columns = "x", params = { q = 0.9 } } }',
        sf.struct(p=sf.quantile("x", 0.9)).over("1h"),
    ),
    "a delay": (
        'operator = "count", over = { time = "1h", delay = "1d" }',
        'operator = "count", over = { kind = "time", range = "1h", delay = "1d" }',
        sf.count().over(sf.time("1h", delay="1d")),
    ),
    "a lifetime": (
        'operator = "count", over = "lifetime", closed = "left"',
        'operator = "count", over = { kind = "lifetime", closed = "left" }',
        sf.count().over("lifetime", closed="left"),
    ),
    "a condition": (
        "operator = \"count\", where = \"x > 1 and s in ['a', 'b']\", over = 5",
        "operator = \"count\", where = \"(x > 1) & (s in ['a', 'b'])\", over = 5",
        sf.count().where((sf.col("x") > 1) & sf.col("s").is_in(["a", "b"])).over(5),
    ),
    "a flag": (
        'operator = "sum", columns = "x", where = "ok", over = 5',
        'operator = "sum", columns = ["x"], where = "col(\'ok\')", over = 5',
        sf.sum("x").where("ok").over(5),
    ),
    "an expression": (
        'operator = "sum", columns = { expr = "x * y" }, over = 5',
        'operator = "sum", columns = [{ expr = "x*y" }], over = 5',
        sf.sum(sf.col("x") * sf.col("y")).over(5),
    ),
    "an expression of windows": (
        'expr = "x / m", windows.m = { operator = "mean", columns = "x", over = 5 }',
        'expr = "x / w1", windows = { w1 = { operator = "mean", columns = "x", over = 5 } }',
        sf.col("x") / sf.mean("x").over(5),
    ),
    "a window of its own": (
        'operator = "lag", columns = "x", n = 2',
        'operator = "lag", columns = ["x"], params = { n = 2 }',
        sf.lag("x", 2),
    ),
}


@pytest.mark.parametrize("case", FORMS.values(), ids=FORMS)
def test_short_forms_mean_what_long_ones_mean(case: tuple[str, str, Any]) -> None:
    *texts, over = case
    definition = sf.rolling(on="t", c=over)
    for text in texts:
        column = tomllib.loads(f"c = {{ {text} }}")
        assert sf.Rolling.from_dict({"on": "t", "columns": column}) == definition
    assert sf.Rolling.from_dict(definition.to_dict()) == definition


GUESSES = {
    # what is guessed, the key at fault, where the message leads
    "a wrong parameter": (
        'operator = "quantile", columns = "x", p = 0.9, over = 5',
        "columns.c.p",
        "quantile takes q, interpolation",
    ),
    "a parameter in brackets": (
        'operator = "quantile(0.9)", columns = "x", over = 5',
        "columns.c.operator",
        '{ operator = "quantile", q = ... }',
    ),
    "no parameter": (
        'operator = "histogram", columns = "x", over = 5',
        "columns.c.operator",
        "has no 'edges', but histogram needs it",
    ),
    "a parameter twice": (
        'operator = "quantile", columns = "x", q = 0.9, params = { q = 0.5 }, over = 5',
        "columns.c.operator",
        "'q' twice",
    ),
    "one of another's": (
        'operator = "struct", q = 0.9, parts = { n = { operator = "count" } }, over = 5',
        "columns.c.q",
        "has an unknown key 'q'",
    ),
    "of an operator of one's own": (
        'operator = "my.module:Name", params = { q = 0.9 }, over = 5',
        "columns.c.operator",
        "parameters, but 'my.module:Name' takes none",
    ),
    "a window in words": (
        'operator = "count", over = "session 20m"',
        "columns.c.over",
        '{ session = "30m" }',
    ),
    "a window of no kind": (
        'operator = "count", over = { gap = "20m" }',
        "columns.c.over",
        '{ session = "30m" }',
    ),
    "a window of two kinds": (
        'operator = "count", over = { rows = 3, time = "20m" }',
        "columns.c.over",
        '{ session = "30m" }',
    ),
    "half a window": (
        'operator = "count", over = { delta = 3 }',
        "columns.c.over",
        "a delta window needs 'on'",
    ),
    "a number that is none": ('operator = "count", over = 1.5', "columns.c.over", "number of rows"),
    "a part that is a word": (
        'operator = "struct", parts = { n = "count" }, over = 5',
        "columns.c.operator",
        'needs a table such as { operator = "mean"',
    ),
    "a condition with one =": (
        'operator = "count", where = "x = 1", over = 5',
        "columns.c.where",
        "cannot be read at character",
    ),
    "a window that there is already": (
        'operator = "lag", columns = "x", over = 5',
        "columns.c.over",
        "has an unknown key 'over'",
    ),
    "an expression without its key": (
        'expr = "x + 1", window = { m = { operator = "count", over = 5 } }',
        "columns.c.window",
        "did you mean 'windows'",
    ),
    "a column that is a word": ('operator = "count"', "columns.c", 'over = "1h"'),
}


@pytest.mark.parametrize("case", GUESSES.values(), ids=GUESSES)
def test_a_wrong_guess_leads_to_the_right_form(case: tuple[str, str, str]) -> None:
    text, key, said = case
    ((at, error),) = read({"on": "t", "columns": tomllib.loads(f"c = {{ {text} }}")})[1]
    assert (at, said in str(error)) == (key, True), str(error)


def test_columns_that_need_others(tmp_path: Path) -> None:
    """With every=, some columns are valid only beside a time window, and some have no row."""
    columns = """
last = { operator = "last", columns = "price", over = 2 }
ever = { operator = "count", over = "lifetime" }
first = { expr = "symbol == 'A'" }
night = { expr = "window_end < datetime('2024-01-01T06:00:00')" }
quiet = { operator = "since_last", over = "1h" }
"""
    text = PIPELINE.replace('by = "symbol"', 'by = "symbol"\nevery = "1h"')
    loaded = load(write(tmp_path, text.replace("[sink]", f"{columns}\n[sink]")))
    assert list(loaded.features.columns)[-5:] == ["last", "ever", "first", "night", "quiet"]
    wrong = text.replace("[sink]", 'no = { expr = "sybmol == 1" }\n[sink]')
    with pytest.raises(PipelineError, match="reads 'sybmol' of a row, but with every="):
        load(write(tmp_path, wrong))
    mixed = PIPELINE.replace("[sink]", 'no = { expr = "symbol / price" }\n[sink]')
    with pytest.raises(PipelineError, match=r"features\.columns\.no: 'symbol / price' takes numb"):
        load(write(tmp_path, mixed))


def test_a_definition_without_a_floor_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"parts": deep}
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    wide: list[Any] = []
    for _ in range(99):
        wide = [wide, wide]
    for column in (deep, {"operator": "mean", "columns": cyclic}, {"columns": wide}):
        with pytest.raises(DefinitionError, match="nested more than 100 levels deep"):
            sf.Rolling.from_dict({"on": "t", "columns": {"c": column}})


BOMBS = {
    "lists": f"x = {'[' * 50_000}{']' * 50_000}",
    "tables": f"x = {'{a = ' * 50_000}1{'}' * 50_000}",
    "nested a little too deep": f"x = {'[' * 150}{']' * 150}",
    "a key": f"{'a.' * 200_000}a = 1",
    "a quoted key": '"a" . ' * 50_000 + "a = 1",
    "a header": f"[{'a.' * 100_000}a]",
    "a number": f"x = {'9' * 5_000}",
    "a long file": "# " + "x" * (1 << 20),
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_one_sentence(tmp_path: Path, text: str) -> None:
    file = write(tmp_path, f"{text}\n{PIPELINE}")
    with pytest.raises(PipelineError) as raised:
        load(file)
    ((key, reason),) = raised.value.mistakes
    assert key == ""
    assert len(reason) < 120
    assert "\n" not in reason


def test_long_values_are_not_repeated(tmp_path: Path) -> None:
    file = write(tmp_path, PIPELINE.replace('"trades.csv"', str(list(range(10_000)))))
    with pytest.raises(PipelineError, match=r"must be a string, got \[0, 1, .*\.\.\.$") as raised:
        load(file)
    assert len(str(raised.value)) < 300


def test_numbers_are_bounded(tmp_path: Path) -> None:
    text = PIPELINE.replace("[sink]", f"[stream]\nbatch = {10**30}\n[sink]")
    with pytest.raises(PipelineError, match=r"stream\.batch: must be from 1 to 2147483647, got 1"):
        load(write(tmp_path, text))


def test_samples_that_are_a_bomb(tmp_path: Path) -> None:
    done = slidefold(tmp_path, "check", "max", "--samples", "[" * 20_000 + "]" * 20_000)
    assert (done.code, done.err) == (2, "--samples is nested too deeply\n")
