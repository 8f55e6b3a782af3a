"""Path patterns in Spark's syntax: `*`, `?`, `[a-z]` and `{a,b}`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

_PATTERN = re.compile(r"[*?\[{]")


def has_pattern(path: str) -> bool:
    """Tell whether Spark would read a path as a pattern."""
    return _PATTERN.search(path) is not None


def literal(path: str) -> str:
    r"""Return a pattern that matches this path only.

    >>> print(literal("data[1].csv"))
    data\[1\].csv
    """
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def first_pattern(path: str) -> tuple[str, list[str]]:
    """Split a path at its first pattern: the folder before it, and the names below that folder.

    >>> first_pattern("/data/2024-*/{a,b}/x.csv")
    ('/data', ['2024-*', '{a,b}', 'x.csv'])
    """
    at = _PATTERN.search(path)
    cut = path.rfind("/", 0, at.start() if at else len(path))
    base, rest = path[:cut] or ("/" if cut == 0 else "."), path[cut + 1 :]
    return base, [part for part in re.split(r"/(?![^{]*\})", rest) if part not in ("", ".")]


def touches(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Tell whether a path matches the names of a pattern, up to the shorter of the two.

    >>> touches(["2024-*", "*.csv"], ["2024-03"]), touches(["{a,b}", "*.csv"], ["c", "x.csv"])
    (True, False)
    """
    for name, part in zip(names, parts, strict=False):
        if "/" in name:
            return True  # alternatives with several names each may match
        if not _expression(name).fullmatch(part):
            return False
    return True


def matches(pattern: str) -> Iterator[str]:
    """Yield the paths that match a pattern now."""
    base, names = first_pattern(pattern)
    yield from _below(base, names)


def _below(folder: str, names: Sequence[str]) -> Iterator[str]:
    if not names:
        yield folder
        return
    try:
        entries = sorted(os.listdir(folder))
    except OSError:
        return
    for entry in entries:
        if touches(names[:1], [entry]):
            yield from _below(os.path.join(folder, entry), names[1:])


def _expression(name: str) -> re.Pattern[str]:
    """Translate the pattern of one name to a regular expression."""
    text = ""
    for mark in re.findall(r"\\.|\[[^\]]*\]|.", name):
        if len(mark) > 1:
            text += mark.replace("[!", "[^") if mark[0] == "[" else re.escape(mark[1])
        else:
            text += {"*": ".*", "?": ".", "{": "(?:", "}": ")", ",": "|"}.get(mark, re.escape(mark))
    try:
        return re.compile(text)
    except re.error:
        return re.compile(".*")  # Spark may match anything
