"""What is generated in docs/ is as its sources say, and nothing is left out."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import slidefold as sf
from benchmarks import goals, harness
from slidefold.cli.app import app
from slidefold.definition.operators import BUILT_IN
from slidefold.options import BATCH, OPTIONS, STREAM
from tools.docs import api, comparisons, curves, operators, pages, parameters
from tools.docs.__main__ import main
from tools.docs.algorithms import filled
from tools.docs.words import header, invariants

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_nothing_is_stale() -> None:
    found = [str(path.relative_to(ROOT)) for path in pages.stale()]
    assert found == [], "run `python -m tools.docs` (or `make docs`) and commit what it writes"


def test_what_is_stale_is_found_and_written(tmp_path: Path) -> None:
    assert pages.write(tmp_path)
    (tmp_path / "page.md").write_text("<!-- generated: cost recalc -->\nfree\n<!-- end -->\n")
    picture = tmp_path / "img" / "trace-daba.svg"
    picture.write_text(picture.read_text().replace("insert a", "insert b"))
    assert pages.stale(tmp_path) == [picture, tmp_path / "page.md"]
    pages.write(tmp_path)
    assert pages.stale(tmp_path) == []
    assert "Query takes n - 1 combines" in (tmp_path / "page.md").read_text()


def test_check_only_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "kind",
    [
        value
        for name in sf.algorithms.__all__
        if isinstance(value := getattr(sf.algorithms, name), type)
        and (name == "KeyedWindows" or not value.__subclasses__())
    ],
    ids=lambda kind: kind.__name__,
)
def test_every_algorithm_has_its_page(kind: type) -> None:
    spelled = re.sub(r"(?<!^)([A-Z])", r"_\1", kind.__name__).lower()
    slug = getattr(kind, "name", spelled).replace("_", "-")
    text = (DOCS / "algorithms" / f"{slug}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {kind.__name__}\n")
    if kind is not sf.algorithms.KeyedWindows:  # a set of windows: no readable version to draw
        for part in (f"trace-{slug}.svg", "curve-", "generated: invariants", "generated: cost"):
            assert part in text, part


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"- (?:[\w ]+: )?(\S+\.md)$", text, re.MULTILINE))
    there = {str(path.relative_to(DOCS)) for path in DOCS.glob("**/*.md")}
    assert there - listed == set()
    assert listed - there == {"reference/api.md"}  # made while the site is built


# ---- operators ----------------------------------------------------------------------------------


# "State: 8 bytes.", "State: 16 bytes for floats, 32 bytes for integers.", "...; 40 for strings."
SIZES = re.compile(
    r"State: (\d+) bytes(?:[.;](?! \d+ for)|(?: for \w+,|;) (\d+)(?: bytes)? for \w+\.)"
)


@pytest.mark.parametrize("name", operators.everything())
def test_docstrings_say_what_the_registry_says(name: str) -> None:
    """Algebra and size are written for people; here they are held against the native code."""
    doc = " ".join((inspect.getdoc(operators.everything()[name]) or "").split())
    assert ">>> " in doc
    others = operators.computed_from(name)
    if others:
        stated = doc[doc.index("Computed from") :].split(" >>> ")[0]
        assert re.findall(r"`(\w+)`", stated) == others
        assert "State" not in doc
        return
    assert "State" in doc
    properties, variants = operators.algebra(name), operators.variants(name)
    monoid = all(variant.monoid for variant in variants.values())
    assert ("no associative combine" not in doc) == monoid
    assert bool(properties) == monoid
    if not monoid:
        return
    commutes = re.search(r"\bCommutative|[Nn]ot commutative", doc)
    assert commutes, "the docstring does not say whether it commutes"
    assert (commutes[0] == "Commutative") == (properties["commutative"] == "yes")
    assert ("invertible" in doc) == (properties["invertible"] != "no")
    assert ("elective" in doc) == (properties["selective"] == "yes")
    sized = re.search(SIZES, doc)
    if sized:
        sizes = {int(size) for size in sized.groups() if size}
        assert sizes == {variant.traits.state_bytes for variant in variants.values()}


def test_the_page_has_every_operator_once() -> None:
    text = operators.page()
    sections = re.findall(r"^### (\w+)$", text, re.MULTILINE)
    assert len(sections) == len(set(sections))
    public = {name for name in sf.__all__ if name in BUILT_IN or name in sections}
    assert set(sections) == public
    assert set(BUILT_IN) <= set(sections)


# ---- curves ------------------------------------------------------------------------------------


def test_a_figure_that_is_recorded_later_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "<!-- generated: late -->\n<!-- end -->\n"
    recorded = [
        {"part": "distance, constant", "x": x, "side": side, "million_slides_per_second": 5.0}
        for side in ("fiba", "btree")
        for x in (0, 16, 1024)
    ]
    machine = {"cores": 2, "cpu": "a fast one"}
    document = {"rows": recorded, "date": "2026-01-02T", "commit": "c" * 40, "machine": machine}
    monkeypatch.setattr(curves, "RESULTS", tmp_path)
    assert "not recorded yet" in filled(page)
    assert curves.late_throughput() is None
    (tmp_path / "late_data.json").write_text(json.dumps(document))
    assert "curve-late-time.svg" in filled(page)
    assert "2026-01-02, commit `cccccccccc`, 2 cores of a fast one" in filled(page)
    picture = curves.late_throughput()
    assert picture is not None
    assert picture.count("<circle") == 4  # a logarithm has no place for 0
    assert ">btree<" in picture


# ---- headers and the API ------------------------------------------------------------------------


def test_invariants_are_taken_from_a_header() -> None:
    class Module:
        """Title.

        Layout: a row.

        Invariants (v is the window):
          I1  one,
              and a half.
          I2  v[0] * v[1] |A|.

        Cost in combines: none.
        """

    assert header(Module)["Cost"] == "in combines: none."
    assert invariants(Module) == (
        "v is the window.\n\n| | |\n|---|---|\n| I1 | one, and a half. |\n"
        "| I2 | v[0] \\* v[1] \\|A\\|. |"
    )


def test_text_outside_the_marks_is_left_alone() -> None:
    text = "before\n<!-- generated: paper daba -->\nold\n<!-- end -->\nafter\n"
    done = filled(text)
    assert done.startswith("before\n<!-- generated: paper daba -->\nTangwongsan")
    assert done.endswith("\n<!-- end -->\nafter\n")
    assert filled(done) == done


def test_the_api_page_has_every_public_name() -> None:
    text = api.page()
    headings = set(re.findall(r"^### (\w+)$", text, re.MULTILINE))
    missing = set(sf.__all__) - headings - api.SHOWN_ELSEWHERE
    assert missing == set()
    assert {"EmptyWindowError", "DabaLite"} <= headings
    assert "#### Window.push" in text


def test_the_api_has_every_option_and_command() -> None:
    text = api.page()
    spark = text[text.index("## On Spark") : text.index("## Command line")]
    for kind in (BATCH, STREAM):
        for option in OPTIONS[kind]:
            if option != "at":  # the title of its part
                row = re.search(rf"^\| `{option}` \|.*\| ([^|]+) \|$", spark, re.MULTILINE)
                assert row, option
                assert row[1].strip(), f"{option} has no meaning"
    commands: Any = get_command(app)
    for name in commands.commands:
        assert f"### slidefold {name}\n" in text
    for name in ("Live", "RollingFeatures", "SlidefoldError"):
        assert name in text


def test_a_meaning_is_the_sentence_that_names_the_parameter() -> None:
    doc = """Do it.

    `one` is the first. It is not `two`. `two=3` is another,
    over two lines.

    Args:
        three: what it is,
            at length.
        four: another.
    """
    assert parameters.meaning("one", doc) == "`one` is the first."
    assert "another, over two lines." in parameters.meaning("two", doc)
    assert parameters.meaning("three", doc) == "What it is, at length."
    assert parameters.meaning("five", doc) == ""


def test_the_page_of_benchmarks_shows_losses_and_every_goal() -> None:
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    for figure, read in goals.READERS.items():
        assert f"{{ #{figure.replace('_', '-')} }}" in text
        for goal in read(harness.load(figure, harness.RESULTS)):
            assert goal.goal in text
    for figure, side, where, _ in comparisons.losses():
        assert f"| [{side}](#{figure.replace('_', '-')}) | {where} |" in text
