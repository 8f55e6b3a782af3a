"""Define slidefold's errors: each is a `SlidefoldError` and the built-in error it resembles."""

from collections import abc
from difflib import get_close_matches
from typing import Self


def nearest(word: object, known: abc.Iterable[object], written: str = "{!r}") -> str:
    """Return a "did you mean" ending for an unknown word, or "" if no known word is close.

    >>> nearest("summ", ["sum", "max"]), nearest("thread", ["threads"], "{}=")
    ("; did you mean 'sum'?", '; did you mean threads=?')
    """
    names = [name for name in known if isinstance(name, str)]
    near = get_close_matches(str(word), names, n=1)
    return f"; did you mean {written.format(near[0])}?" if near else ""


def first_line(error: BaseException) -> str:
    r"""Return the first line of a message; the name of the error's class if it has no message.

    >>> first_line(ValueError("bad\nmore")), first_line(ValueError())
    ('bad', 'ValueError')
    """
    return next(iter(str(error).splitlines()), type(error).__name__)


class SlidefoldError(Exception):
    """Base class of all errors that slidefold raises on purpose."""

    row: int | None = None  # the input row that caused the error, if there is one

    def at(self, row: int) -> Self:
        """Set the row that caused the error."""
        self.row = row
        return self

    @property
    def sentence(self) -> str:
        """Return the message without the row."""
        return super().__str__()

    def __str__(self) -> str:
        return self.sentence if self.row is None else f"{self.sentence} at row {self.row}"


class EmptyWindowError(SlidefoldError, IndexError):
    """The window is empty or does not hold the requested value."""


class ValueTypeError(SlidefoldError, TypeError):
    """A value or an array does not have the type that the operator or the window expects."""


class ResultOverflowError(SlidefoldError, OverflowError):
    """An integer result needs more than 64 bits."""


class PairError(SlidefoldError, TypeError):
    """An algorithm needs a property that the operator does not have."""


class OperatorError(SlidefoldError, TypeError):
    """A user's operator is not well formed."""


class LawError(SlidefoldError, AssertionError):
    """`check` found an example for which an operator breaks a law."""


class TimeOrderError(SlidefoldError, ValueError):
    """Time went backwards where events must arrive in order."""


class WindowError(SlidefoldError, ValueError):
    """A window or a duration is invalid."""


class DefinitionError(SlidefoldError, ValueError):
    """A rolling definition is invalid."""


class ColumnError(SlidefoldError, LookupError):
    """A column is missing, or two columns would have the same name."""


class DataError(SlidefoldError, ValueError):
    """A column holds values that the definition does not accept."""


class CapacityError(SlidefoldError, ValueError):
    """A structure of fixed capacity is full."""


class BusyError(SlidefoldError, RuntimeError):
    """A window or a live run was used from inside one of its own calls, such as its operator."""


class InvariantError(SlidefoldError, AssertionError):
    """`check()` found a broken invariant: a bug in slidefold or in an operator."""


class StateError(SlidefoldError, ValueError):
    """Bytes are not a saved state of the expected kind, or a state cannot be saved."""


class UsageError(SlidefoldError, ValueError):
    """A command got an invalid argument."""


class PipelineError(SlidefoldError, ValueError):
    """A pipeline file is invalid: lists every mistake with its key.

    >>> print(PipelineError("p.toml", [("sink.path", "is missing"), ("source", "is missing")]))
    p.toml: sink.path: is missing
    p.toml: source: is missing
    """

    def __init__(self, file: str, mistakes: list[tuple[str, str]]) -> None:
        self.file, self.mistakes = file, mistakes
        lines = (": ".join(part for part in (file, *mistake) if part) for mistake in mistakes)
        super().__init__("\n".join(lines))
