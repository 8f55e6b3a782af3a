"""The rules of ARCHITECTURE.md that no linter knows."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import slidefold
from slidefold.columns.folds import FOLDS
from slidefold.columns.middles import PICKS
from slidefold.columns.windows import ONE_PASS
from slidefold.definition import windows
from slidefold.definition.operators import RECORDS, Record
from slidefold.definition.windows import WindowKind

SOURCE = Path(slidefold.__file__).parent
# Every class of a window or a slide, those without a name in a file too.
WINDOWS = {
    name
    for name, kind in vars(windows).items()
    if isinstance(kind, type) and (issubclass(kind, WindowKind) or hasattr(kind, "slide"))
} - {"WindowKind", "Every"}


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Return all nodes of a module, with their parents known."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    for node in nodes:
        for child in ast.iter_child_nodes(node):
            child.parent = node  # type: ignore[attr-defined]
    return nodes


def sources(outside: str) -> Iterator[tuple[Path, list[ast.AST]]]:
    """Yield the modules of the package outside of a folder, with their nodes."""
    for path in SOURCE.rglob("*.py"):
        if (SOURCE / outside) not in path.parents:
            yield path, nodes_of(path)


def is_operator_name(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "name"
        and re.search(r"(^|\.)(operator|op|leaf|inner)$", ast.unparse(node.value)) is not None
    )


def test_nobody_decides_by_the_name_of_an_operator() -> None:
    """A user's operator may have any name; what an operator is stands in its record."""
    found = []
    for path, nodes in sources("definition/operators"):
        for node in nodes:
            if not is_operator_name(node):
                continue
            above: Any = node.parent  # type: ignore[attr-defined]
            looked_up = isinstance(above, ast.Subscript) and above.slice is node
            asked = isinstance(above, ast.Call) and ast.unparse(above.func).endswith(".get")
            if isinstance(above, ast.Compare) or looked_up or asked:
                found.append(f"{path.relative_to(SOURCE)}:{above.lineno}: {ast.unparse(above)}")
    # Files name an operator by the function that makes it, and only files do.
    assert [line for line in found if "NAMED[operator.name]" not in line] == []


def test_nobody_looks_at_the_class_of_a_window() -> None:
    found = []
    for path, nodes in sources("definition/windows"):
        for node in nodes:
            checked: ast.AST | None = None
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "isinstance",
                "issubclass",
            ):
                checked = node.args[1]
            elif isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("type("):
                checked = node
            elif isinstance(node, ast.MatchClass):
                checked = node.cls
            if checked is not None:
                names = {part.id for part in ast.walk(checked) if isinstance(part, ast.Name)}
                if names & WINDOWS:
                    found.append(f"{path.relative_to(SOURCE)}: {ast.unparse(node)}")
    assert found == []


def test_what_the_checks_look_for_is_found() -> None:
    """The two tests above would pass if they saw nothing at all."""
    looked = [nodes for path, nodes in sources("no") if path.name in ("base.py", "every_time.py")]
    nodes = [node for some in looked for node in some]
    calls = [ast.unparse(node) for node in nodes if isinstance(node, ast.Call)]
    assert "isinstance(window, Time)" in calls
    assert {"Rows", "Time", "Lifetime", "Session", "EveryTime", "EveryRows"} <= WINDOWS
    compared = ast.parse("over.operator.name == 'sum'").body[0].value  # type: ignore[attr-defined]
    assert is_operator_name(compared.left)


@pytest.mark.parametrize("name", RECORDS)
def test_every_word_of_a_record_is_known(name: str) -> None:
    record: Record = RECORDS[name]
    assert record.column in FOLDS
    assert record.reads in ("numbers", "compared", "hashed", "truths", "bits", "labels")
    assert not record.one_pass or record.one_pass in ONE_PASS
    assert record.engine in ("fold", "multiset", "bounds")
    assert record.middle in ("state", "rows", "whole")
    assert (record.picks in PICKS) == (record.middle == "rows")
    assert bool(record.algorithm) == bool(record.because)


def test_stubs_name_what_the_native_module_has(tmp_path: Path) -> None:
    """What nanobind makes is not quite what a stub can say; names and arguments are."""
    # The types are mypy's business. Without them it need not read numpy and the whole package.
    stub = (SOURCE / "_native_ext.pyi").read_text(encoding="utf-8")
    stub = re.sub(r"^import numpy.*$", "", stub, flags=re.M)
    stub = re.sub(
        r"^from slidefold.* import (\w+)$", r"from typing import Any as \1", stub, flags=re.M
    )
    stub = re.sub(r"npt\.NDArray\[[^]]*\]", "Any", stub)
    (tmp_path / "slidefold").mkdir()
    (tmp_path / "slidefold" / "__init__.pyi").touch()
    (tmp_path / "slidefold" / "_native_ext.pyi").write_text(stub, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "slidefold._native_ext", "--concise"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(tmp_path)},
    )
    ours = ("disjoint base", "metaclass differs", "is not a function", "cannot be subclassed")
    said = [line for line in run.stdout.splitlines() if line.startswith("slidefold.")]
    wrong = [line for line in said if not any(words in line for words in ours)]
    assert [line for line in wrong if "stub does not have *args" not in line] == [], run.stderr
    assert said, run.stdout + run.stderr


def test_only_one_module_compares_versions_of_spark() -> None:
    """What differs between versions stands in spark/compat.py, so that one can be dropped there."""
    reads = re.compile(r"pyspark\.__version__|version_of|\bHERE\b|[sS]ession\.version")
    found = {
        path.relative_to(SOURCE).as_posix(): reads.findall(path.read_text(encoding="utf-8"))
        for path in SOURCE.rglob("*.py")
        if path != SOURCE / "spark" / "compat.py"
    }
    # The version of a session is passed on to compat.py, and nowhere looked at.
    assert {name: hits for name, hits in found.items() if hits} == {
        "spark/__init__.py": ["Session.version"]
    }
    assert "require_version(data.sparkSession.version" in (
        SOURCE / "spark" / "__init__.py"
    ).read_text(encoding="utf-8")


def test_the_map_of_where_to_add_things_is_exact() -> None:
    """Every path in ARCHITECTURE.md exists, and every registry is in a file of its row."""
    root = SOURCE.parents[1]
    page = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = page.partition("## Where do I add X?")[2].partition("\n\nPaths without")[0]
    rows = [line for line in table.splitlines() if line.startswith(("| a", "| it"))]
    assert len(rows) > 12
    for row in rows:
        names = re.findall(r"`([^`]+)`", row)
        paths = [name for name in names if re.search(r"/|\.(py|hpp|cpp|txt|md|yml)$", name)]
        folders = [root, SOURCE]
        files: list[Path] = []
        for path in paths:
            pattern = re.sub(r"<\w+>", "*", path).rstrip("/")
            matches = [file for folder in folders for file in folder.glob(pattern)]
            assert matches, f"{path} of {row}"
            files += matches
            folders += [file.parent for file in matches]  # names "next to it" follow
        text = "".join(file.read_text(encoding="utf-8") for file in files if file.is_file())
        for name in set(names) - set(paths):
            assert re.search(rf"\b{re.escape(name.lstrip('@').partition('(')[0])}\b", text), row
