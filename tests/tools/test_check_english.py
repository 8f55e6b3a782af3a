"""tools/check_english.py finds the habits, where users and contributors read, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_english import READERS, main

ROOT = Path(__file__).parents[2]


def phrases(suffix: str, source: str) -> list[str]:
    return [phrase for _, phrase, _ in READERS[suffix](source)]


def test_the_repository_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(ROOT)
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("a string is due, got 3", "is due"),
        ("it is no monoid", "is no"),
        ("What is late is dropped.", "What is"),
        ("Sort the rows; what is in order stays.", "what is"),
        ("one result a row", "result a row"),
        ("8 bytes a state", "bytes a state"),
    ],
)
def test_a_habit_is_found_in_strings_and_pages(text: str, phrase: str) -> None:
    assert phrases(".py", f'raise ValueError("{text}")') == [phrase]
    assert phrases(".cpp", f'fail("ValueTypeError", "{text}");') == [phrase]
    assert phrases(".md", f"# Title\n\n{text}\n") == [phrase]


@pytest.mark.parametrize(
    "text",
    [
        "there is no such key",
        "rows are no longer needed",
        "there\nis no partial output",
        "What is a window?",
        "one result per row",
        "describe what is kept",
    ],
)
def test_plain_english_passes(text: str) -> None:
    assert phrases(".md", text) == []


def test_comments_are_read_and_code_is_not() -> None:
    assert phrases(".py", "due = 1  # a string is due") == ["is due"]
    assert phrases(".md", "`a string is due`\n```\nit is no monoid\n```\n") == []
    assert phrases(".cpp", "int due = 1;  // it is no monoid") == ["is no"]


def test_lines_are_those_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"):
        (tmp_path / name).write_text("Plain.\n")
    (tmp_path / "src").mkdir()
    kept = 'KEYS = "ns a row"  # english: ok\n'
    (tmp_path / "src" / "a.py").write_text(kept + "\n" + 'X = "it is no sum"\n')
    assert main(tmp_path) == 1
    assert capsys.readouterr().out.startswith("src/a.py:3: 'is no'")
