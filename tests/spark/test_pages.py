"""The blocks of pages about Spark run, with a session named `spark`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import ROOT, run_block

pytestmark = pytest.mark.spark
BLOCK = re.compile(r"^```py(?:thon)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Blocks of `py` run here only; what they need of other blocks has run before them.
PAGES = {"README.md": 4, "docs/spark.md": 2}


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page: str, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    names: dict[str, object] = {"spark": spark, "__name__": "__docs__"}
    for block in blocks:
        first_line = text[: block.start(1)].count("\n") + 1
        run_block(block[1], Path(page), first_line, names)
    assert len(blocks) == PAGES[page]
    if page == "docs/spark.md":
        assert "Spark: by card into" in capsys.readouterr().out
