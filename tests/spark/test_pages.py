"""The blocks of docs/spark.md run, with a session named `spark`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.test_docs import run_block

pytestmark = pytest.mark.spark
PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_blocks_run(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    names: dict[str, object] = {"spark": spark}
    for block in blocks:
        first_line = text[: block.start(1)].count("\n") + 1
        run_block(block[1], PAGE, first_line, names)
    assert len(blocks) == 2
    assert "Spark: by card into" in capsys.readouterr().out
