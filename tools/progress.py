"""Run a command and show its progress: `progress.py LABEL USUALLY -- COMMAND ...`.

The output of the command is shown only if it fails. Lines such as `[12/57] ...` of ninja give the
progress. On a terminal one line is updated every second; elsewhere a line is printed at every tenth
of the work. Compiler warnings are shown at once.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from time import monotonic

STEP = re.compile(r"^\s*(?:\*\*\* )?\[(\d+)/(\d+)\]")


class Line:
    """The line that shows the progress of the command."""

    def __init__(self, label: str, usually: str) -> None:
        """Print what will be done, and how long it usually takes."""
        self.label = label
        self.live = sys.stdout.isatty()
        self.start = monotonic()
        self.done = self.total = self.tenths = 0
        self.ended = threading.Event()
        print(f"{label} (usually {usually})", flush=True)
        if self.live:
            threading.Thread(target=self._tick, daemon=True).start()

    def step(self, done: int, total: int) -> None:
        """Record the progress."""
        self.done, self.total = done, total
        tenths = 10 * done // max(total, 1)
        if not self.live and total >= 10 and tenths > self.tenths:
            self.tenths = tenths
            print(f"  {self._text()}", flush=True)

    def clear(self) -> None:
        """Clear the line before other output."""
        if self.live:
            print("\r\033[K", end="", flush=True)

    def end(self, good: bool) -> None:
        """Print how long it took."""
        self.ended.set()
        self.clear()
        word = "done" if good else "FAILED"
        print(f"  {word} in {monotonic() - self.start:.0f} s", flush=True)

    def _text(self) -> str:
        count = f"{self.done} of {self.total}, " if self.total else ""
        return f"{count}{monotonic() - self.start:.0f} s"

    def _tick(self) -> None:
        while not self.ended.wait(1):
            print(f"\r\033[K  {self._text()}", end="", flush=True)


def run(label: str, usually: str, command: list[str]) -> int:
    """Run the command and return its status."""
    line = Line(label, usually)
    kept: list[str] = []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    assert process.stdout is not None
    try:
        for text in process.stdout:
            kept.append(text)
            if step := STEP.match(text):
                line.step(int(step[1]), int(step[2]))
            elif "warning:" in text:
                line.clear()
                print(text, end="", flush=True)
        status = process.wait()
    except KeyboardInterrupt:
        process.wait()
        status = 130
    line.end(status == 0)
    if status:
        sys.stdout.writelines(kept)
    return status


if __name__ == "__main__":
    split = sys.argv.index("--")
    label, usually = sys.argv[1:split]
    sys.exit(run(label, usually, sys.argv[split + 1 :]))
