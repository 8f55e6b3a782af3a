"""Errors, exit codes and Ctrl-C, the same for every command."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from slidefold.cli.output import Output
from slidefold.errors import PipelineError, SlidefoldError, UsageError

FAILED, WRONG_USE, STOPPED = 1, 2, 130


@contextmanager
def guarded(out: Output) -> Iterator[None]:
    """Print errors as sentences and set the exit code; SIGTERM acts like Ctrl-C."""
    received: list[int] = []

    def stop(number: int, _frame: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt

    def ignored(error: Any) -> None:
        """Send the signal again: Python drops errors in `__del__` and in callbacks of weakrefs."""
        if received and issubclass(error.exc_type, KeyboardInterrupt):
            main = threading.main_thread().ident
            threading.Timer(0.05, signal.pthread_kill, (main, received[-1])).start()
        else:
            hook(error)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    hook, sys.unraisablehook = sys.unraisablehook, ignored
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
        # An interrupted call to Spark fails with a connection error.
        out.error("stopped" if received else str(error))
        raise typer.Exit(STOPPED if received else FAILED) from None
    except KeyboardInterrupt as error:
        out.error(f"stopped: {str(error) or 'nothing was written'}", stopped=True)
        raise typer.Exit(STOPPED) from None
    except BrokenPipeError:
        # The reader of the output is gone; without this Python reports it again at exit.
        sys.stdout = None
        raise typer.Exit(FAILED) from None
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
