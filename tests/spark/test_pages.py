"""The blocks of the pages on Spark run, with a session named `spark`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import run_block

pytestmark = pytest.mark.spark
DOCS = Path(__file__).parents[2] / "docs"
# Blocks of `py` run here only; those of `python` before them may make what they need.
BLOCK = re.compile(r"^```py(?:thon)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(page: Path, spark: Any, blocks: int) -> dict[str, Any]:
    """Run the blocks of a page, of which there are so many; return the names that they made."""
    text = page.read_text(encoding="utf-8")
    found = list(BLOCK.finditer(text))
    names: dict[str, Any] = {"spark": spark, "__name__": "__docs__"}
    for block in found:
        first_line = text[: block.start(1)].count("\n") + 1
        run_block(block[1], page, first_line, names)
    assert len(found) == blocks
    return names


def test_readme(spark: Any) -> None:
    run_page(DOCS.parent / "README.md", spark, 4)


def test_batch(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_page(DOCS / "spark.md", spark, 3)
    assert "Spark: by card into" in capsys.readouterr().out


def test_backfill(spark: Any) -> None:
    run_page(DOCS / "backfill.md", spark, 3)


def test_streaming(spark: Any) -> None:
    names = run_page(DOCS / "spark-streaming.md", spark, 5)
    spark.streams.removeListener(names["listener"])


def test_capacity(spark: Any) -> None:
    run_page(DOCS / "capacity.md", spark, 1)
