"""The errors that slidefold raises: each is a `SlidefoldError` and the built-in it resembles."""

from collections import abc
from difflib import get_close_matches
from typing import Self


def nearest(word: object, known: abc.Iterable[object], written: str = "{!r}") -> str:
    """Return the end of a sentence about an unknown word: the nearest known one, if any is near.

    >>> nearest("summ", ["sum", "max"]), nearest("thread", ["threads"], "{}=")
    ("; did you mean 'sum'?", '; did you mean threads=?')
    """
    names = [name for name in known if isinstance(name, str)]
    near = get_close_matches(str(word), names, n=1)
    return f"; did you mean {written.format(near[0])}?" if near else ""


class SlidefoldError(Exception):
    """The root of every error that slidefold raises on purpose."""

    row: int | None = None  # of the input, where one row is at fault

    def at(self, row: int) -> Self:
        """Name the row that is at fault."""
        self.row = row
        return self

    @property
    def sentence(self) -> str:
        """What went wrong, without the row."""
        return super().__str__()

    def __str__(self) -> str:
        return self.sentence if self.row is None else f"{self.sentence} at row {self.row}"


class EmptyWindowError(SlidefoldError, IndexError):
    """Something was asked of a window that does not hold it."""


class ValueTypeError(SlidefoldError, TypeError):
    """A value or an array is not of the type that the operator or the window takes."""


class ResultOverflowError(SlidefoldError, OverflowError):
    """An integer result needs more than 64 bits."""


class PairError(SlidefoldError, TypeError):
    """An algorithm needs a property that the operator does not have."""


class OperatorError(SlidefoldError, TypeError):
    """A user's operator is not well formed."""


class LawError(SlidefoldError, AssertionError):
    """`check` found an example for which an operator does not keep a law."""


class TimeOrderError(SlidefoldError, ValueError):
    """Time went backwards where events must come in order."""


class WindowError(SlidefoldError, ValueError):
    """A window or a duration makes no sense."""


class DefinitionError(SlidefoldError, ValueError):
    """A rolling definition makes no sense."""


class ColumnError(SlidefoldError, LookupError):
    """A column is missing, or there would be two of one name."""


class DataError(SlidefoldError, ValueError):
    """The values in a column are not what the definition needs."""


class CapacityError(SlidefoldError, ValueError):
    """A structure of fixed capacity is full."""


class BusyError(SlidefoldError, RuntimeError):
    """A window or a live run was used from inside one of its own calls, such as its operator."""


class InvariantError(SlidefoldError, AssertionError):
    """`check()` found a broken invariant: a bug in slidefold or in an operator."""


class StateError(SlidefoldError, ValueError):
    """Bytes are not the saved state of what is to be made of them, or a state cannot be saved."""


class UsageError(SlidefoldError, ValueError):
    """A command was given something that it cannot use."""


class PipelineError(SlidefoldError, ValueError):
    """A pipeline file is wrong: every mistake in it, each with its key.

    >>> print(PipelineError("p.toml", [("sink.path", "is missing"), ("source", "is missing")]))
    p.toml: sink.path: is missing
    p.toml: source: is missing
    """

    def __init__(self, file: str, mistakes: list[tuple[str, str]]) -> None:
        self.file, self.mistakes = file, mistakes
        lines = (": ".join(part for part in (file, *each) if part) for each in mistakes)
        super().__init__("\n".join(lines))
