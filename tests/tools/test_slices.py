"""The short slice of a large suite: always the same cases. Which tests run in one worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import APART, group, pytest_collection_modifyitems


class Item:
    """A case of a test, as pytest lists it."""

    def __init__(self, nodeid: str, n: int | None) -> None:
        self.nodeid = nodeid
        self.markers = [] if n is None else [pytest.mark.sampled(n).mark]

    def get_closest_marker(self, name: str) -> Any:
        return next((marker for marker in self.markers if marker.name == name), None)

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        self.markers.append(marker.mark)


def short(names: list[str], n: int | None) -> list[str]:
    """The cases that are left in the slice."""
    items: Any = [Item(name, n) for name in names]
    pytest_collection_modifyitems(items)
    return [item.nodeid for item in items if item.get_closest_marker("exhaustive") is None]


def test_one_case_in_n_is_left_whatever_else_is_collected() -> None:
    names = [f"tests/x.py::test_y[{algorithm}-{i}]" for i in range(200) for algorithm in "abcde"]
    chosen = short(names, 5)
    assert 150 < len(chosen) < 250
    assert short(names[::3], 5) == [name for name in names[::3] if name in chosen]
    for algorithm in "abcde":
        assert sum(f"[{algorithm}-" in name for name in chosen) > 20


def test_other_tests_stay_as_they_are() -> None:
    assert short(["tests/x.py::test_y"], None) == ["tests/x.py::test_y"]


def test_only_tests_that_need_a_session_of_spark_wait_for_one_another() -> None:
    root = Path(__file__).parents[2]
    for file in sorted(root.glob("tests/spark/test_*.py")):
        needs = "mark.spark" in file.read_text()
        name = str(file.relative_to(root))
        assert (name not in APART) == needs, name
        assert (group(f"{name}::test_x") == f"{name}::test_x") == (name in APART)
