"""Write what is generated: `python -m tools.docs`; with `--check`, only say what is stale."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tools.docs.pages import DOCS, stale, write


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if something is stale and was not to be written."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    check = parser.parse_args(arguments).check
    found = stale() if check else write()
    for path in found:
        print(f"{'stale' if check else 'wrote'} {path.relative_to(DOCS.parent)}")
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main())
