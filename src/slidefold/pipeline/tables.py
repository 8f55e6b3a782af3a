"""Reading the tables of a TOML file: every value checked, every mistake noted, nothing raised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slidefold.definition.wording import short
from slidefold.errors import PipelineError, nearest

_MOST = 2**31 - 1  # for counts, also those that Spark takes


@dataclass
class Mistakes:
    """The mistakes of one file: the key and the reason of each."""

    file: Path
    found: list[tuple[str, str]] = field(default_factory=list)

    def note(self, key: str, reason: object) -> None:
        """Add a mistake; the same one is said once."""
        if (key, str(reason)) not in self.found:
            self.found.append((key, str(reason)))

    def at(self, key: str) -> bool:
        """Tell whether something is wrong with a key or within it."""
        return any(each == key or each.startswith(f"{key}.") for each, _ in self.found)

    def require_none(self) -> None:
        """Raise all mistakes, if there are any."""
        if self.found:
            raise PipelineError(str(self.file), self.found)


class Table:
    """One table of the file. What is never asked for is a mistake, found by `finish`."""

    def __init__(self, mistakes: Mistakes, key: str, told: Any) -> None:
        self.mistakes, self.key = mistakes, key
        self.known: dict[str, None] = {}
        self.told: Mapping[str, Any] = {}
        if isinstance(told, Mapping):
            self.told = told
        else:
            mistakes.note(key, f"must be a table, got {short(told)}")

    def note(self, name: str, reason: object) -> None:
        """Add a mistake about a key of this table."""
        self.mistakes.note(f"{self.key}.{name}" if self.key else name, reason)

    def value(
        self, name: str, kinds: type | tuple[type, ...], due: str, default: Any = None
    ) -> Any:
        """Return a value if it is of these types; the default where nothing is said."""
        self.known[name] = None
        if name not in self.told:
            return default
        value = self.told[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            self.note(name, f"must be {due}, got {short(value)}")
            return default
        return value

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return a string."""
        found: str | None = self.value(name, str, "a string", default)
        if found == "":
            self.note(name, "must not be empty")
        return found

    def word(self, name: str, choices: Iterable[str], default: str) -> str:
        """Return one of some words."""
        choices = list(choices)
        found = self.text(name, default) or default
        if found not in choices:
            self.note(
                name,
                f"{found!r} is none of {', '.join(choices)}{nearest(found, choices)}",
            )
            return default
        return found

    def whole(self, name: str, default: int, least: int = 1) -> int:
        """Return an integer."""
        found: int = self.value(name, int, "a whole number", default)
        if not least <= found <= _MOST:
            self.note(name, f"must be from {least} to {_MOST}, got {short(found)}")
            return default
        return found

    def names(self, name: str) -> tuple[str, ...]:
        """Return a list of strings, or the one string, in a tuple."""
        found = self.value(name, (str, list), "a string or a list of strings", [])
        found = [found] if isinstance(found, str) else found
        if not all(isinstance(each, str) for each in found):
            self.note(name, f"must be a string or a list of strings, got {short(found)}")
            return ()
        return tuple(found)

    def within(self, name: str) -> Table:
        """Return a table in this one; an empty one where nothing is said."""
        self.known[name] = None
        key = f"{self.key}.{name}" if self.key else name
        return Table(self.mistakes, key, self.told.get(name, {}))

    def finish(self) -> None:
        """Note every key that nobody asked for."""
        for name in self.told:
            if name not in self.known:
                choices = ", ".join(self.known)
                hint = nearest(name, self.known) or f"; there are {choices}"
                self.note(name, f"there is no such key{hint}")
