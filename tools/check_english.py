"""Find habits of wording that a reader has to read twice; CONTRIBUTING.md asks for plain English.

Looks at the strings and comments of src/, examples/ and cpp/, and at the pages in docs/ and
README.md without their code. Prints file, line, phrase and a better form, and exits with 1 if there
are any. A line with the comment "english: ok" may keep its wording, because programs read it.

    python tools/check_english.py [folder of the repository]
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Habit(NamedTuple):
    """A phrase, and the form to write instead."""

    pattern: re.Pattern[str]
    instead: str


UNITS = "row|key|state|event|step|value|slide|window|second|query|batch|entry|node|group|column"
HABITS = [
    Habit(re.compile(r"\b(?:is|are) due\b"), "expected X, got Y"),
    Habit(
        re.compile(r"(?:(?<!here)\s|^)(?:is|are|was|were) no (?!longer\b|more\b|less\b|such\b)"),
        "is not a",
    ),
    Habit(
        re.compile(
            r"(?:^|[.;]\s+|\n\s*\n\s*)what (?:is|are|was|were|has|comes|came|it|they)\b"
            r"(?![^.;\n]*\?)",  # unless it is a question
            re.IGNORECASE,
        ),
        "name the thing: 'rows that', 'values that'",
    ),
    Habit(
        re.compile(
            rf"\b(?:bytes?|states?|results?|combines?|calls?|copies|rows?|ns|us|ms|once|twice) "
            rf"an? (?:{UNITS})\b"
        ),
        "per row, for each row",
    ),
    Habit(re.compile(r"\b(?:nobody's|no one's)\b"), "say who, or use the passive"),
    Habit(re.compile(r"\bsays? of\b"), "describes"),
    Habit(re.compile(r"\bsuch a one\b"), "it"),
]
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
CPP = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')


def found_in(text: str, first_line: int, habits: list[Habit]) -> Iterator[tuple[int, str, str]]:
    """Yield line, phrase and better form of every habit in a text."""
    for habit in habits:
        for match in habit.pattern.finditer(text):
            phrase = match.group().strip(" .;:\n")
            yield first_line + text.count("\n", 0, match.start()), phrase, habit.instead


def in_python(source: str) -> Iterator[tuple[int, str, str]]:
    """Look at all comments and strings of a module; an f-string is looked at in parts."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from found_in(token.string.lstrip("# "), token.start[0], HABITS)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from found_in(node.value, node.lineno, HABITS)


def in_cpp(source: str) -> Iterator[tuple[int, str, str]]:
    """Look at all comments and strings."""
    for match in CPP.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        yield from found_in(match.group().strip('"/ '), line, HABITS)


def in_page(source: str) -> Iterator[tuple[int, str, str]]:
    """Look at a page without its code."""
    blank = CODE.sub(lambda match: "`" + "\n" * match.group().count("\n") + "`", source)
    yield from found_in(blank, 1, HABITS)


READERS = {".py": in_python, ".pyi": in_python, ".cpp": in_cpp, ".hpp": in_cpp, ".md": in_page}


def files(root: Path) -> Iterator[Path]:
    """Yield the files with text that users and contributors read."""
    yield from (root / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"))
    for folder in ("src", "docs", "cpp", "examples"):
        yield from sorted(p for p in (root / folder).rglob("*") if p.suffix in READERS)


def main(root: Path) -> int:
    """Print every habit; return the exit code."""
    code = 0
    for path in files(root):
        source = path.read_text(encoding="utf-8")
        for line, phrase, instead in READERS[path.suffix](source):
            if "english: ok" in source.splitlines()[line - 1]:
                continue
            print(f"{path.relative_to(root)}:{line}: {phrase!r}; better: {instead}")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
