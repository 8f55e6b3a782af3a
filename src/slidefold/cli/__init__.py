"""The command line: `slidefold`, or `python -m slidefold.cli`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; its packages are an extra, so they may be missing."""
    try:
        from slidefold.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit("the command line needs typer and rich: pip install 'slidefold[cli]'")
    app()
