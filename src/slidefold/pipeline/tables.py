"""Read the tables of a TOML file: check every value and collect every mistake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slidefold.definition.wording import short
from slidefold.errors import PipelineError, nearest

_MOST = 2**31 - 1  # the largest count; Spark's counts have 32 bits


@dataclass
class Mistakes:
    """The mistakes of one file, each with its key and reason."""

    file: Path
    found: list[tuple[str, str]] = field(default_factory=list)

    def note(self, key: str, reason: object) -> None:
        """Add a mistake, unless it was added before."""
        if (key, str(reason)) not in self.found:
            self.found.append((key, str(reason)))

    def at(self, key: str) -> bool:
        """Tell whether there is a mistake at a key or below it."""
        return any(noted == key or noted.startswith(f"{key}.") for noted, _ in self.found)

    def require_none(self) -> None:
        """Raise all mistakes if there are any."""
        if self.found:
            raise PipelineError(str(self.file), self.found)


class Table:
    """One table of the file; `finish` notes every key that was never read."""

    def __init__(self, mistakes: Mistakes, key: str, content: Any) -> None:
        self.mistakes, self.key = mistakes, key
        self.known: dict[str, None] = {}
        self.content: Mapping[str, Any] = {}
        if isinstance(content, Mapping):
            self.content = content
        else:
            mistakes.note(key, f"must be a table, got {short(content)}")

    def note(self, name: str, reason: object) -> None:
        """Add a mistake about a key of this table."""
        self.mistakes.note(f"{self.key}.{name}" if self.key else name, reason)

    def value(
        self, name: str, kinds: type | tuple[type, ...], expected: str, default: Any = None
    ) -> Any:
        """Return a value of one of these types; the default if the key is missing."""
        self.known[name] = None
        if name not in self.content:
            return default
        value = self.content[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            self.note(name, f"must be {expected}, got {short(value)}")
            return default
        return value

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return a string."""
        text: str | None = self.value(name, str, "a string", default)
        if text == "":
            self.note(name, "must not be empty")
        return text

    def path(self, name: str) -> str | None:
        """Return a path: a string that a file system accepts."""
        text = self.text(name)
        if text is not None and "\0" in text:
            self.note(name, f"must not contain a NUL character, got {text!r}")
            return None
        return text

    def word(self, name: str, choices: Iterable[str], default: str) -> str:
        """Return one of the choices."""
        choices = list(choices)
        word = self.text(name, default) or default
        if word not in choices:
            self.note(
                name,
                f"must be one of {', '.join(choices)}, got {word!r}{nearest(word, choices)}",
            )
            return default
        return word

    def whole(self, name: str, default: int, least: int = 1) -> int:
        """Return an integer."""
        number: int = self.value(name, int, "an integer", default)
        if not least <= number <= _MOST:
            self.note(name, f"must be from {least} to {_MOST}, got {short(number)}")
            return default
        return number

    def names(self, name: str) -> tuple[str, ...]:
        """Return a string or a list of strings as a tuple."""
        value = self.value(name, (str, list), "a string or a list of strings", [])
        values = [value] if isinstance(value, str) else value
        if not all(isinstance(item, str) for item in values):
            self.note(name, f"must be a string or a list of strings, got {short(values)}")
            return ()
        return tuple(values)

    def within(self, name: str) -> Table:
        """Return a table inside this one; an empty table if the key is missing."""
        self.known[name] = None
        key = f"{self.key}.{name}" if self.key else name
        return Table(self.mistakes, key, self.content.get(name, {}))

    def finish(self) -> None:
        """Note every key that was never read."""
        for name in self.content:
            if name not in self.known:
                choices = ", ".join(self.known)
                hint = nearest(name, self.known) or f"; the keys are {choices}"
                self.note(name, f"there is no such key{hint}")
