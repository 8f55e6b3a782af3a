"""Broken rows of text files: found one by one, without giving up the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

Record = tuple[int, bytes]  # the number of its first line, and its text


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be read: where it is, why, and what it says."""

    file: str
    line: int
    reason: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}"


def records(text: bytes, delimiter: bytes) -> list[Record]:
    r"""Cut CSV text into records: a line break in a quoted value does not end one.

    >>> records(b'a,b\n1,"x\ny"\n\n2,z', b",")
    [(1, b'a,b'), (2, b'1,"x\ny"'), (5, b'2,z')]
    """
    lines = text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
    found: list[Record] = []
    at = 0
    while at < len(lines):
        end = _end(lines, at, delimiter)
        joined = b"\n".join(lines[at:end])
        if joined.strip():
            found.append((at + 1, joined))
        at = end
    return found


def _end(lines: Sequence[bytes], at: int, delimiter: bytes) -> int:
    """Return the line after the record that begins here."""
    if b'"' not in lines[at]:
        return at + 1
    inside = False
    for end in range(at, len(lines)):
        inside = _inside_after(lines[end], delimiter, inside)
        if not inside:
            return end + 1
    # A quote that nobody closes breaks its own line, not the rest of the file.
    return at + 1


def _inside_after(line: bytes, delimiter: bytes, inside: bool) -> bool:
    """Tell whether a line ends within quotes; they count at the start of a value only."""
    if inside:
        closing = _CLOSING.match(line)
        if closing is None:
            return True
        line = line[closing.end() - 1 :]  # the closing quote stands for the value
        line = b"x" + line[1:]
    return never_closed(line, delimiter)


_CLOSING = re.compile(rb'(?:[^"]++|"")*+"(?!")')


def never_closed(text: bytes, delimiter: bytes) -> bool:
    """Tell whether a quote is open at the end of the text: a reader takes all of it for a value.

    >>> never_closed(b'1,"a, ""b"" c"', b","), never_closed(b'1,5" pipe', b",")
    (False, False)
    >>> never_closed(b'1,"a', b",")
    True
    """
    if b'"' not in text:
        return False
    quoted = re.compile(rb'(?:\A|[\n%b])"(?:[^"]++|"")*+("|\Z)' % re.escape(delimiter))
    return any(not found[1] for found in quoted.finditer(text))


def salvage(
    file: Path,
    found: Sequence[Record],
    parse: Callable[[bytes], Any],
    schema: Any,
    note: Callable[[BadRow], None],
    unclosed: Callable[[bytes], bool] = lambda _text: False,
) -> Any:
    """Parse what can be parsed, by halving what cannot; broken records go to `note`, in order.

    A few broken records among n cost about log2(n) more parses each. A record that would swallow
    those behind it is `unclosed`, and is never parsed.
    """
    parts: list[Any] = []
    start = 0
    for at in [i for i, (_, text) in enumerate(found) if unclosed(text)]:
        parts += _halves(file, found[start:at], parse, note)
        line, text = found[at]
        said = "a quote is never closed"
        note(BadRow(str(file), line, said, text.decode("utf-8", "replace")))
        start = at + 1
    parts += _halves(file, found[start:], parse, note)
    whole = [part.select(schema.names) for part in parts]
    return pa.concat_tables(whole) if whole else schema.empty_table()


def _halves(
    file: Path,
    found: Sequence[Record],
    parse: Callable[[bytes], Any],
    note: Callable[[BadRow], None],
) -> Iterator[Any]:
    if not found:
        return
    try:
        yield parse(b"\n".join(text for _, text in found) + b"\n")
        return
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError) as error:
        if len(found) == 1:
            line, text = found[0]
            reason = (str(error).splitlines() or ["cannot be read"])[0]
            note(BadRow(str(file), line, _plain(reason), text.decode("utf-8", "replace")))
            return
    middle = len(found) // 2
    yield from _halves(file, found[:middle], parse, note)
    yield from _halves(file, found[middle:], parse, note)


def _plain(reason: str) -> str:
    """Leave out of Arrow's reason what is about the piece of the file that it was given.

    >>> _plain("In CSV column #1: CSV conversion error to double: invalid value 'x'")
    "column 2: no double: invalid value 'x'"
    """
    reason = re.sub(r"^(CSV|JSON) parse error: |Row #\d+: | in row \d+", "", reason)
    column = re.match(r"In CSV column #(\d+): CSV conversion error to (.*)", reason)
    return f"column {int(column[1]) + 1}: no {column[2]}" if column else reason
