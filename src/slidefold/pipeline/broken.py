"""Find the broken rows of text files and keep all other rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidefold.pipeline.types import word_of

Record = tuple[int, bytes]  # the number of the first line, and the text


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be read: its file and line, the reason, and its text."""

    file: str
    line: int | None  # None if it is not known
    reason: str
    text: str

    def __str__(self) -> str:
        if self.line is None:
            return f"{self.file}: {self.reason}"
        unit = "row" if self.file.endswith((".parquet", ".pq")) else "line"
        return f"{self.file}, {unit} {self.line}: {self.reason}"


def records(text: bytes, delimiter: bytes) -> list[Record]:
    r"""Split CSV text into records: a line break in a quoted value does not end a record.

    >>> records(b'a,b\n1,"x\ny"\n\n2,z', b",")
    [(1, b'a,b'), (2, b'1,"x\ny"'), (5, b'2,z')]
    """
    lines = text.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").split(b"\n")
    result: list[Record] = []
    at = 0
    while at < len(lines):
        end = _end(lines, at, delimiter)
        joined = b"\n".join(lines[at:end])
        if joined.strip():
            result.append((at + 1, joined))
        at = end
    return result


def _end(lines: Sequence[bytes], at: int, delimiter: bytes) -> int:
    """Return the line after the record that begins here."""
    if b'"' not in lines[at]:
        return at + 1
    inside = False
    for end in range(at, len(lines)):
        inside = _inside_after(lines[end], delimiter, inside)
        if not inside:
            return end + 1
    # A quote that is never closed breaks its own line, not the rest of the file.
    return at + 1


def _inside_after(line: bytes, delimiter: bytes, inside: bool) -> bool:
    """Tell whether a line ends inside quotes; quotes count only at the start of a value."""
    if inside:
        closing = _CLOSING.match(line)
        if closing is None:
            return True
        line = line[closing.end() - 1 :]  # from the closing quote on; "x" replaces the value
        line = b"x" + line[1:]
    return never_closed(line, delimiter)


_CLOSING = re.compile(rb'(?:[^"]++|"")*+"(?!")')


def never_closed(text: bytes, delimiter: bytes) -> bool:
    """Tell whether a quote is still open at the end of the text.

    >>> never_closed(b'1,"a, ""b"" c"', b","), never_closed(b'1,5" pipe', b",")
    (False, False)
    >>> never_closed(b'1,"a', b",")
    True
    """
    if b'"' not in text:
        return False
    quoted = re.compile(rb'(?:\A|[\n%b])"(?:[^"]++|"")*+("|\Z)' % re.escape(delimiter))
    return any(not match[1] for match in quoted.finditer(text))


def lacking(table: Any, required: Sequence[str]) -> list[tuple[int, str]]:
    """Return the rows that lack a value in a required column, each with the reason.

    >>> lacking(pa.table({"t": [1, None], "x": [1.5, float("nan")]}), ["t", "x"])
    [(1, "the column 't' is null")]
    """
    reasons: dict[int, str] = {}
    for name in required:
        values = table[name]
        for test, word in ((pc.is_null, "null"), (pc.is_nan, "NaN")):
            if (word == "null" and not values.null_count) or (
                word == "NaN" and not pa.types.is_floating(values.type)
            ):
                continue
            mask = pc.fill_null(test(values), False).to_numpy()
            for row in np.flatnonzero(mask).tolist():
                reasons.setdefault(row, f"the column {name!r} is {word}")
    return sorted(reasons.items())


def without(table: Any, rows: Sequence[int]) -> Any:
    """Return a table without some of its rows."""
    kept = np.ones(len(table), np.bool_)
    kept[list(rows)] = False
    return table.filter(pa.array(kept))


@dataclass(frozen=True)
class Salvage:
    """Parses all valid records by halving what fails; broken records go to `note`, in order.

    Each broken record among n costs about log2(n) more parses. A record with an `unclosed` quote
    would swallow the records behind it, so it is never parsed. A record without a value in a
    `required` column is broken too.
    """

    file: Path
    parse: Callable[[bytes], Any]
    note: Callable[[BadRow], None]
    required: Sequence[str] = ()
    unclosed: Callable[[bytes], bool] = lambda _text: False

    def table(self, entries: Sequence[Record], schema: Any) -> Any:
        """Return the table of the valid records."""
        parts: list[Any] = []
        start = 0
        for at in [i for i, (_, text) in enumerate(entries) if self.unclosed(text)]:
            parts += self._halves(entries[start:at])
            self._broken(entries[at], "a quote is never closed")
            start = at + 1
        parts += self._halves(entries[start:])
        whole = [part.select(schema.names) for part in parts]
        return pa.concat_tables(whole) if whole else schema.empty_table()

    def _broken(self, record: Record, reason: str) -> None:
        line, text = record
        self.note(BadRow(str(self.file), line, reason, text.decode("utf-8", "replace")))

    def _halves(self, entries: Sequence[Record]) -> Iterator[Any]:
        if not entries:
            return
        try:
            table = self.parse(b"\n".join(text for _, text in entries) + b"\n")
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowKeyError) as error:
            if len(entries) == 1:
                reason = (str(error).splitlines() or ["cannot be read"])[0]
                self._broken(entries[0], _plain(reason))
                return
        else:
            lost = lacking(table, self.required)
            if not lost:
                yield table
                return
            if len(table) == len(entries):
                for row, reason in lost:
                    self._broken(entries[row], reason)
                yield without(table, [row for row, _ in lost])
                return
            if len(entries) == 1:  # two objects in one line
                self._broken(entries[0], lost[0][1])
                return
        middle = len(entries) // 2
        yield from self._halves(entries[:middle])
        yield from self._halves(entries[middle:])


_CONVERSION = re.compile(
    r"In CSV column #(?P<number>\d+): CSV conversion error to (?P<csv>[^:]+): (?P<detail>.*)"
    r"|(?P<name>.*): Failed to parse string: (?P<value>'.*') as a scalar of type (?P<json>.*)"
)


def _plain(reason: str) -> str:
    """Rewrite Arrow's reason in our words, without positions inside a piece of the file.

    >>> _plain("In CSV column #1: CSV conversion error to double: invalid value 'x'")
    "column 2: expected float64, got 'x'"
    """
    reason = re.sub(r"^(CSV|JSON) parse error: |Row #\d+: | in row \d+", "", reason)
    match = _CONVERSION.match(reason)
    if match is None:
        return reason
    if match["csv"] is not None:
        where, kind, detail = f"column {int(match['number']) + 1}", match["csv"], match["detail"]
        quoted = re.search(r"'.*'", detail)
        value = quoted[0] if quoted else detail
    else:
        where, value = match["name"], match["value"]
        kind, _, detail = match["json"].partition(": ")
    message = f"{where}: expected {word_of(kind)}, got {value}"
    if "expected no zone" in detail:
        return f'{message}, which has a zone: set the type "timestamp[UTC]" in [source.columns]'
    if "expected a zone" in detail:
        return f'{message}, which has no zone: set the type "timestamp" in [source.columns]'
    return message
