"""How every command ends: its errors as sentences, its exit codes, Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from slidefold.cli.output import Output
from slidefold.errors import PipelineError, SlidefoldError, UsageError

FAILED, WRONG_USE, STOPPED = 1, 2, 130


@contextmanager
def guarded(out: Output) -> Iterator[None]:
    """Turn errors into sentences and exit codes; being terminated is like Ctrl-C."""
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    except PipelineError as error:
        mistakes = [
            {"file": error.file, "key": key, "reason": reason} for key, reason in error.mistakes
        ]
        out.error(str(error), mistakes=mistakes)
        raise typer.Exit(WRONG_USE) from None
    except UsageError as error:
        out.error(str(error))
        raise typer.Exit(WRONG_USE) from None
    except SlidefoldError as error:
        out.error(str(error))
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt as stop:
        out.error(f"stopped: {str(stop) or 'nothing was written'}", stopped=True)
        raise typer.Exit(STOPPED) from None
    except BrokenPipeError:
        # Whoever read the output has gone; Python would complain once more at its end.
        sys.stdout = None
        raise typer.Exit(FAILED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminated(_number: int, _frame: Any) -> None:
    raise KeyboardInterrupt
