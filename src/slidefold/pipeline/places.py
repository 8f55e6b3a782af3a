"""Resolve the paths of a pipeline, and check that no two of them overlap."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from slidefold.pipeline.patterns import first_pattern, has_pattern, matches, touches

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_LOCAL = re.compile(r"file:(?://[^/]*)?(?=/)", re.IGNORECASE)
_SAME = "is the same as"

Identity = tuple[Any, ...]
Chain = list[Identity]  # of a place, and of each folder above it


def placed(path: str, folder: Path) -> str:
    """Resolve a path in a pipeline file: it is relative to the folder of the file.

    >>> placed("a.csv", Path("in")), placed("file:///data/a.csv", Path("in"))
    ('in/a.csv', '/data/a.csv')
    """
    local = _LOCAL.match(path)
    if local is not None:
        return path[local.end() :]
    return path if is_remote(path) else str(folder / path)


def is_remote(path: str) -> bool:
    """Tell whether a path is on a remote file system, which only Spark can access.

    >>> is_remote("s3://bucket/a"), is_remote("file:/a"), is_remote("a/b")
    (True, False, False)
    """
    return _SCHEME.match(path) is not None and _LOCAL.match(path) is None


def names_in(folder: str) -> list[str]:
    """Return the names of all files in a local folder and its subfolders."""
    if is_remote(folder):
        return []
    return [name for _, _, names in os.walk(folder) for name in names if name[0] not in "_."]


@dataclass(frozen=True)
class Place:
    """A path of the pipeline, with its key in the file and its name in messages."""

    key: str
    name: str
    path: str
    linked: tuple[str, ...] = ()  # symbolic links in it, and files in it with several hard links

    def __str__(self) -> str:
        return f"{self.name} {self.path!r}"


def check_places(
    file: Path,
    source: Any,
    stream: Any,
    sink: Any,
    mistakes: Any,
    questions: Any = None,
    more: Sequence[tuple[str, str, Path | None]] = (),
) -> None:
    """Note each target that equals, contains or lies in another place of the pipeline.

    Writing a target may replace all of it, which would delete the source, the pipeline file or
    other results. A target inside the source would be read as input. `more` are further targets:
    their keys, names and paths.
    """
    pipeline = Place("", "the pipeline file", str(file))
    sources = [
        Place("source.path", "the source", path, tuple(_linked(path)))
        for path in (source.path, *_option_paths(source))
        if path is not None
    ]
    if questions is not None:
        asked = questions.source
        sources += [
            Place("questions.path", "the questions", path, tuple(_linked(path)))
            for path in (asked.path, *_option_paths(asked))
            if path is not None
        ]
    for place in sources:
        if _relation(place, pipeline) == _SAME:
            mistakes.note(place.key, f"{place.path!r} is the pipeline file itself")
    targets = [
        ("sink.path", "the sink", sink.path or sink.url),
        *(("sink.options.path", "the sink", path) for path in _option_paths(sink)),
        ("source.side", "the side file", source.side),
        ("stream.checkpoint", "the checkpoint", stream.checkpoint),
        *more,
    ]
    written = [Place(key, name, str(path)) for key, name, path in targets if path is not None]
    for number, target in enumerate(written):
        for other in [pipeline, *sources, *written[:number]]:
            relation = _relation(target, other)
            if relation:
                reason = f"{target.path!r} {relation} {other}: choose separate paths"
                mistakes.note(target.key, reason)
                break


def _option_paths(table: Any) -> list[str]:
    """Return the paths in the options of a Spark format; option names ignore case."""
    paths = [value for name, value in table.options.items() if name.lower() == "path"]
    return [placed(path, Path()) for path in paths]


def _linked(source: str) -> Iterator[str]:
    """Yield the links in a source, and its files with several hard links."""
    if is_remote(source):
        return
    folders = matches(source) if has_pattern(source) and not os.path.exists(source) else [source]
    seen: set[tuple[int, int]] = set()
    for folder in folders:
        if folder != source:
            yield folder
        for parent, below, names in os.walk(folder, followlinks=True):
            status = os.stat(parent)
            if (status.st_dev, status.st_ino) in seen:
                below.clear()  # a link to a folder above would loop forever
                continue
            seen.add((status.st_dev, status.st_ino))
            below[:] = [name for name in below if name[0] not in "_."]
            for name in (*below, *names):
                entry = os.path.join(parent, name)
                several = name in names and os.lstat(entry).st_nlink > 1
                if several or os.path.islink(entry):
                    yield entry


def _relation(target: Place, other: Place) -> str:
    """Return how a target overlaps another place, as text; empty if it does not."""
    if is_remote(target.path) or is_remote(other.path):
        return _between([_remote_chain(target.path)], [_remote_chain(other.path)])
    forms = _forms(target.path)
    chains = [_chain(form) for form in forms]
    relation = _between(chains, [_chain(form) for form in _forms(other.path)])
    if not relation and has_pattern(other.path) and _in_pattern(forms, other.path):
        relation = "overlaps"
    if relation:
        return relation
    linked = (_chain(form) for link in other.linked for form in _forms(link))
    return "overlaps, through a link," if _between(chains, list(linked)) else ""


def _between(targets: list[Chain], others: list[Chain]) -> str:
    pairs = [(target, other) for target in targets for other in others if target and other]
    if any(target[0] == other[0] for target, other in pairs):
        return _SAME
    if any(other[0] in target for target, other in pairs):
        return "lies in"
    return "contains" if any(target[0] in other for target, other in pairs) else ""


def _forms(path: str) -> list[Path]:
    """Return a path with links resolved, and also the path of the link if it is a link."""
    parent, name = os.path.split(path)
    forms = {os.path.realpath(path)}
    if name not in ("", ".", ".."):
        forms.add(os.path.join(os.path.realpath(parent), name))
    return [Path(form) for form in sorted(forms)]


def _chain(form: Path) -> Chain:
    return [_identity(path) for path in (form, *form.parents)]


def _identity(path: Path) -> Identity:
    """Return an identity that all names of a file or folder share; it need not exist."""
    missing: list[str] = []
    for ancestor in (path, *path.parents):
        try:
            status = os.lstat(ancestor)
        except OSError:
            missing.append(ancestor.name)
        else:
            return (status.st_dev, status.st_ino, *reversed(missing))
    return (str(path),)


def _remote_chain(path: str) -> Chain:
    match = _SCHEME.match(path)
    if match is None:
        return []
    scheme = "s3" if match[1].lower() in ("s3a", "s3n") else match[1].lower()
    rest = PurePosixPath(os.path.normpath("/" + path[match.end() :].lstrip("/")))
    return [(scheme, str(path)) for path in (rest, *rest.parents)]


def _in_pattern(forms: list[Path], pattern: str) -> bool:
    """Tell whether a pattern can match a target, a path in it, or a folder above it."""
    base, rest = first_pattern(pattern)
    start = _identity(Path(os.path.realpath(base)))
    for form in forms:
        for above in (form, *form.parents):
            if _identity(above) == start:
                return touches(rest, form.relative_to(above).parts)
    return any(_identity(form) in _chain(Path(os.path.realpath(base))) for form in forms)
