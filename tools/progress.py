"""Run a command and show how far it is: `progress.py LABEL USUALLY -- COMMAND ...`.

What the command writes is kept and shown only if it fails. Lines such as `[12/57] ...` of ninja and
`[ 45%]` of pytest say how far it is; on a terminal one line follows them and the clock, elsewhere a
line comes every tenth of the way. Warnings of a compiler are shown as they come.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from time import monotonic

STEP = re.compile(r"^\s*(?:\*\*\* )?\[(\d+)/(\d+)\]")


class Line:
    """The line that says how far the command is."""

    def __init__(self, label: str, usually: str) -> None:
        """Say what is about to be done, and how long it usually takes."""
        self.label = label
        self.live = sys.stdout.isatty()
        self.start = monotonic()
        self.done = self.total = self.tenths = 0
        self.ended = threading.Event()
        print(f"{label} (usually {usually})", flush=True)
        if self.live:
            threading.Thread(target=self._tick, daemon=True).start()

    def step(self, done: int, total: int) -> None:
        """Take note that so many of all are done."""
        self.done, self.total = done, total
        tenths = 10 * done // max(total, 1)
        if not self.live and total >= 10 and tenths > self.tenths:
            self.tenths = tenths
            print(f"  {self._text()}", flush=True)

    def clear(self) -> None:
        """Wipe the line, for something that stays on the screen."""
        if self.live:
            print("\r\033[K", end="", flush=True)

    def end(self, good: bool) -> None:
        """Say how long it took."""
        self.ended.set()
        self.clear()
        word = "done" if good else "FAILED"
        print(f"  {word} in {monotonic() - self.start:.0f} s", flush=True)

    def _text(self) -> str:
        far = f"{self.done} of {self.total}, " if self.total else ""
        return f"{far}{monotonic() - self.start:.0f} s"

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
            if found := STEP.match(text):
                line.step(int(found[1]), int(found[2]))
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
