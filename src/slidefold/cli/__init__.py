"""The command line: `slidefold`, or `python -m slidefold.cli`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say how to install the packages that it needs."""
    try:
        from slidefold.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit("the command line needs typer and rich: pip install 'slidefold[cli]'")
    app()
