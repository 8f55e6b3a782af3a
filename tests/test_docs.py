"""The documentation is true: blocks and docstrings run, links lead somewhere, tables are complete.

The blocks of a page run in order, in a folder of their own. Python blocks share their names; a line
`expression  # -> text` must give an object whose repr is that text. A block with `title="name"` is
written to a file of that name. In a console block `$ slidefold ...  # exit 2` is a command and its
exit code (0 if not said); the lines below must be among what it says, in that order.
"""

import ast
import doctest
import importlib
import pkgutil
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import slidefold
from slidefold import errors
from slidefold.algorithms import REGISTRY
from tests.cli.support import slidefold as slidefold_command
from tests.support.for_each import for_each

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(
    r"^```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<source>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"^\$ slidefold (?P<words>.*?)(?:\s+# exit (?P<code>\d+))?$")
CLAIM = re.compile(r"#\s*->\s*(.*)$")


def run_block(source: str, path: Path, first_line: int, names: dict[str, object]) -> None:
    """Run one block, with line numbers of its page, and check its claims."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        claim = CLAIM.search(lines[(node.end_lineno or node.lineno) - 1])
        ast.increment_lineno(node, first_line - 1)
        if claim is None:
            exec(compile(ast.Module([node], []), path, "exec"), names)
        else:
            assert isinstance(node, ast.Expr), f"{path.name}:{node.lineno} claims, but has no value"
            value = eval(compile(ast.Expression(node.value), path, "eval"), names)
            assert repr(value) == claim[1].strip(), f"{path.name}:{node.lineno}"


def run_console(source: str, page: Path) -> None:
    """Run the commands of a block, in the current folder, and look for what they should say."""
    said: Iterator[str] = iter(())
    for line in source.splitlines():
        command = COMMAND.match(line)
        if command is None:
            assert any(line.strip() == each.strip() for each in said), f"{page.name}: {line}"
            continue
        done = slidefold_command(Path.cwd(), *shlex.split(command["words"]))
        assert done.code == int(command["code"] or 0), done.out + done.err
        said = iter([*done.out.splitlines(), *done.err.splitlines()])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__docs__"}
    for block in BLOCK.finditer(text):
        if block["title"]:
            Path(block["title"]).write_text(block["source"], encoding="utf-8")
        elif block["kind"] == "console":
            run_console(block["source"], page)
        elif block["kind"] == "python":
            line = text.count("\n", 0, block.start("source")) + 1
            run_block(block["source"], page, line, names)
    names.clear()  # a window, its operator's functions and these names are a cycle


def test_a_false_claim_is_found() -> None:
    run_block("1 + 1  # -> 2\n", Path("page.md"), 1, {})
    with pytest.raises(AssertionError, match=r"page\.md:8"):
        run_block("x = 1\n\nx + 1  # -> 3\n", Path("page.md"), 6, {})


def test_what_a_command_does_not_say_is_found() -> None:
    run_console(
        "$ slidefold --help\nCompute sliding-window features that a pipeline file defines.\n",
        Path("p"),
    )
    with pytest.raises(AssertionError, match="Never said"):
        run_console("$ slidefold --help\nNever said\n", Path("p"))
    with pytest.raises(AssertionError, match="No such command"):
        run_console("$ slidefold nothing\n", Path("p"))


MADE_BY_THE_SITE = {ROOT / "docs" / "reference" / "api.md"}


@pytest.mark.parametrize(
    "page",
    [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_links_lead_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
        path = (page.parent / target).resolve()
        assert path.exists() or path in MADE_BY_THE_SITE, f"{page.name} links to {target}"


def rows_of(page: str) -> set[str]:
    """The names in backquotes with which the rows of its tables begin."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE))


def test_the_table_of_costs_has_every_algorithm() -> None:
    assert (
        sorted({cls.__name__ for cls in REGISTRY.values()} - rows_of("docs/algorithms/index.md"))
        == []
    )


def test_the_page_of_errors_has_every_error() -> None:
    named = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert named - {"SlidefoldError"} == rows_of("docs/reference/errors.md")


MODULES = [module.name for module in pkgutil.walk_packages(slidefold.__path__, prefix="slidefold.")]


@for_each("name", MODULES)
def test_docstrings_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
