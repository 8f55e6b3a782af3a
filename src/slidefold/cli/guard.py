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
    asked: list[int] = []

    def stop(number: int, _frame: Any) -> None:
        asked.append(number)
        raise KeyboardInterrupt

    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
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
        # A call of Spark that was stopped fails with an error of the connection.
        out.error("stopped" if asked else str(error))
        raise typer.Exit(STOPPED if asked else FAILED) from None
    except KeyboardInterrupt as error:
        out.error(f"stopped: {str(error) or 'nothing was written'}", stopped=True)
        raise typer.Exit(STOPPED) from None
    except BrokenPipeError:
        # Whoever read the output has gone; Python would complain once more at its end.
        sys.stdout = None
        raise typer.Exit(FAILED) from None
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
