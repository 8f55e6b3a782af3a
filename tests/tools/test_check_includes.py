"""The include rules: a clean tree passes, and each rule catches its mistake."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CLEAN = {
    "include/slidefold/operator.hpp": "#include <concepts>",
    "include/slidefold/storage/ring.hpp": "#include <vector>",
    "include/slidefold/operators/max.hpp": '#include "slidefold/operator.hpp"',
    "include/slidefold/algorithms/daba.hpp": "#include <slidefold/storage/ring.hpp>",
    "include/slidefold/columns/rows.hpp": '#include "slidefold/algorithms/daba.hpp"',
    "bindings/module.cpp": "#include <nanobind/nanobind.h>\n"
    '#include "slidefold/operators/max.hpp"\n#include "slidefold/algorithms/daba.hpp"',
}


def check(tmp_path: Path, changes: dict[str, str]) -> tuple[int, list[str]]:
    for name, text in (CLEAN | changes).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    command = [sys.executable, str(ROOT / "tools" / "check_includes.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_a_clean_tree_passes(tmp_path: Path) -> None:
    assert check(tmp_path, {}) == (0, [])


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        (
            "operators/max.hpp",
            '#include "slidefold/algorithms/daba.hpp"',
            "operators/max.hpp must not include include/slidefold/algorithms/daba.hpp",
        ),
        (
            "algorithms/daba.hpp",
            '#  include "../operators/max.hpp"',
            "algorithms/daba.hpp must not include include/slidefold/operators/max.hpp",
        ),
        (
            "storage/ring.hpp",
            '#include "slidefold/operators/max.hpp"',
            "algorithms/daba.hpp must not include include/slidefold/operators/max.hpp "
            "(through include/slidefold/storage/ring.hpp)",
        ),
        (
            "columns/rows.hpp",
            '#include "slidefold/operators/max.hpp"\n#include "slidefold/algorithms/daba.hpp"',
            "columns/rows.hpp includes both operators and algorithms; only the bindings may",
        ),
        (
            "operator.hpp",
            "#include <Python.h>",
            "operator.hpp includes Python.h; only the bindings may include Python",
        ),
        (
            "columns/rows.hpp",
            "#include <nanobind/ndarray.h>",
            "columns/rows.hpp includes nanobind/ndarray.h; only the bindings may include Python",
        ),
        (
            "operator.hpp",
            "#include <slidefold/gone.hpp>",
            "operator.hpp includes slidefold/gone.hpp, which does not exist",
        ),
    ],
)
def test_each_rule_catches_its_mistake(tmp_path: Path, file: str, text: str, said: str) -> None:
    status, lines = check(tmp_path, {f"include/slidefold/{file}": text})
    assert status == 1
    assert f"include/slidefold/{said}" in lines


def test_headers_that_include_each_other_end(tmp_path: Path) -> None:
    changes = {
        "include/slidefold/operators/a.hpp": '#include "b.hpp"',
        "include/slidefold/operators/b.hpp": '#include "a.hpp"',
    }
    assert check(tmp_path, changes) == (0, [])
