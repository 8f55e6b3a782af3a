"""The API reference that the site is built with: complete, and readable as tables."""

from __future__ import annotations

import re

import pytest

import slidefold as sf
from slidefold.options import IN_PROCESS, OPTIONS
from tools.docs import api, comparisons, parameters
from tools.docs.words import LINE, markdown, signature

pytest.importorskip("typer")
PAGE = api.page()


def section(title: str) -> str:
    """The text from a heading to the next one."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def test_every_public_name_has_its_section() -> None:
    assert api.leftovers() == []


def test_bars_of_types_are_not_escaped_inside_code() -> None:
    assert "`str | Sequence[str]`" in section("rolling")
    assert "\\|" not in section("rolling")


def test_rolling_and_run_describe_all_their_parameters() -> None:
    for title, names in (
        ("rolling", ("on", "by", "every", "offset", "zone", "fill", "order", "closed", "columns")),
        ("Rolling.run", ("data", *OPTIONS[IN_PROCESS])),
    ):
        for name in names:
            row = re.search(rf"^\| `{name}` \|.*\| (\S.*) \|$", section(title), re.MULTILINE)
            assert row, (title, name)


def test_what_only_engines_ask_is_not_listed() -> None:
    assert "#### Rolling.run" in PAGE
    assert "Rolling.bare_beside" not in PAGE


def test_arguments_are_a_table_and_not_prose() -> None:
    assert "Args:" not in markdown(sf.rolling.__doc__ or "")
    assert "sf.col(" in markdown(sf.rolling.__doc__ or "")
    assert parameters.meaning("on", sf.rolling.__doc__ or "") == "The time column."


def test_long_signatures_are_broken_between_parameters() -> None:
    text = signature(sf.rolling, "sf.rolling")
    assert max(map(len, text.splitlines())) <= LINE
    joined = " ".join(text.split())
    assert joined.startswith("sf.rolling( *, on, by=(), every=None, ")


def test_a_lost_case_reads_as_words() -> None:
    row = {"part": "5% late", "operator": "sum", "keys": 1000, "window": 1000}
    words = comparisons.case(row, ("part", "operator", "keys", "window"))
    assert words == "5% late, sum, 1,000 keys, window of 1,000"
