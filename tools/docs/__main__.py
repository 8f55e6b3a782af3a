"""Write the generated files: `python -m tools.docs`; with `--check`, only list stale files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.docs.pages import DOCS, stale, write


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the generated files; return 1 if `--check` finds a stale one."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    check = parser.parse_args(arguments).check
    paths = stale() if check else write()
    for path in paths:
        print(f"{'stale' if check else 'wrote'} {path.relative_to(DOCS.parent)}")
    return int(check and bool(paths))


if __name__ == "__main__":
    sys.exit(main())
