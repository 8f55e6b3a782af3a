"""What `make` shows of a command that takes long."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PROGRESS = Path(__file__).parents[2] / "tools" / "progress.py"


def shown(script: str) -> tuple[int, list[str]]:
    """The status and the lines of a command, with its seconds taken out."""
    command = [sys.executable, str(PROGRESS), "Building", "a while", "--", "sh", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, re.sub(r"\b\d+ s\b", "N s", done.stdout).splitlines()


def test_steps_are_shown_as_they_are_done() -> None:
    status, lines = shown("for i in 1 2 3 4 5 6 7 8 9 10; do echo [$i/10] file $i; done; echo end")
    assert status == 0
    assert lines[0] == "Building (usually a while)"
    assert lines[1:-1] == [f"  {i} of 10, N s" for i in range(1, 11)]
    assert lines[-1] == "  done in N s"


def test_a_line_comes_every_tenth_of_the_way() -> None:
    status, lines = shown("i=0; while [ $i -lt 200 ]; do i=$((i + 1)); echo [$i/200]; done")
    assert status == 0
    assert lines[1:-1] == [f"  {20 * i} of 200, N s" for i in range(1, 11)]


def test_what_failed_is_shown_with_its_status() -> None:
    status, lines = shown("echo [1/2] one; echo it broke >&2; exit 3")
    assert status == 3
    assert lines == ["Building (usually a while)", "  FAILED in N s", "[1/2] one", "it broke"]


def test_warnings_are_shown_although_all_went_well() -> None:
    status, lines = shown("echo 'a.cpp:1:2: warning: odd'; echo noise")
    assert status == 0
    assert lines == ["Building (usually a while)", "a.cpp:1:2: warning: odd", "  done in N s"]
