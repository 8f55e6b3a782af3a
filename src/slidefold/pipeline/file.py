"""Load a pipeline file as a frozen value, and validate all of it before a run starts."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slidefold.definition.rolling import Rolling
from slidefold.definition.wording import DEEP, is_deep
from slidefold.errors import PipelineError, SlidefoldError
from slidefold.pipeline.features import check_against, read_features
from slidefold.pipeline.places import check_places, is_remote
from slidefold.pipeline.settings import (
    SPARK,
    Questions,
    Serving,
    Sink,
    Source,
    Stream,
    read_questions,
    read_serving,
    read_sink,
    read_source,
    read_stream,
)
from slidefold.pipeline.sources import schema_of
from slidefold.pipeline.tables import Mistakes, Table

_NOT_SERVED = Serving()
_LONGEST = 1 << 20  # the most bytes in a pipeline file
# A key of many parts, such as a.b.c: the parser's memory grows with the square of their number.
_PART = rb"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rb"(?<![\w-])(?:%b[ \t]*+\.[ \t]*+){%d}" % (_PART, DEEP))


@dataclass(frozen=True)
class Pipeline:
    """The content of a pipeline file."""

    file: Path
    source: Source
    features: Rolling
    stream: Stream
    sink: Sink
    schema: Any  # of the source; None if only Spark can read it
    results: Any  # the schema of the results; None if that of the source is not known
    questions: Questions | None = None
    serving: Serving = _NOT_SERVED


def load(
    file: Path,
    *,
    engine: str = "local",
    stream: bool = False,
    overwrite: bool = False,
    writes: bool = True,
    serves: bool = False,
    state: Path | None = None,
) -> Pipeline:
    """Read a pipeline file, and raise `PipelineError` with every mistake in it.

    Paths in the file are relative to its folder. The check includes the source and its column
    types, the folder of the sink, and that no earlier result exists. `overwrite` allows an earlier
    result; `writes=False` skips the checks of the sink. `serves` is for a service, whose events may
    come without files and whose answers go to no sink; `state` is the folder of its log.
    """
    mistakes = Mistakes(file)
    content = _parse(file)
    whole = Table(mistakes, "", content)
    for name in ("source", "features") if serves else ("source", "features", "sink"):
        if name not in content:
            mistakes.note(name, f"the table [{name}] is missing")
    folder = file.parent
    source = read_source(whole.within("source"), folder, "serve" if serves else engine)
    serving = read_serving(whole.within("serve"), folder)
    settings = read_stream(whole.within("stream"), folder, engine, stream)
    sink = read_sink(whole.within("sink"), folder, engine)
    questions = None
    if "questions" in content:
        questions = read_questions(whole.within("questions"), folder, engine)
        if stream:
            mistakes.note("questions", "works without --stream only: a stream has no questions")
    features = read_features(whole.within("features").content, mistakes)
    whole.finish()
    kept = [
        ("serve.late", "the file for late events", serving.late),
        ("serve.record", "the folder for answers", serving.record),
        ("--state", "the folder of the state", state),
    ]
    check_places(file, source, settings, sink, mistakes, questions, kept)
    if features is not None:
        source = replace(source, required=_required(features))
    schema = results = None
    if (source.schema is not None or not source.only_spark) and not mistakes.at("source"):
        try:
            schema = source.schema if source.schema is not None else schema_of(source)
        except SlidefoldError as error:
            mistakes.note("source.path", error)
    if questions is not None and not mistakes.at("questions"):
        questions = _with_schema(questions, features, mistakes)
    if features is not None and schema is not None:
        if questions is None:
            results = check_against(features, content["features"], schema, source.format, mistakes)
        elif questions.schema is not None:
            results = _check_questions(features, schema, questions, mistakes)
    if stream and results is not None and settings.watermark is not None:
        results = _check_stream(features, settings, schema, mistakes)
    if "sink" in content:
        sink.check_results(results, mistakes)
    continues = False
    if stream and engine == "spark" and not mistakes.at("stream.checkpoint"):
        continues = _continues(settings, sink, mistakes)
        if writes and overwrite and not mistakes.at("sink"):
            _check_removable(settings, sink, mistakes)
    if writes and not mistakes.at("sink") and not (continues and not overwrite):
        for key, target in (("sink.path", sink.path), ("source.side", source.side)):
            if not mistakes.at(key):
                _check_target(key, target, overwrite or sink.exists == "replace", mistakes)
    mistakes.require_none()
    assert features is not None
    return Pipeline(file, source, features, settings, sink, schema, results, questions, serving)


def _with_schema(questions: Questions, features: Rolling | None, mistakes: Mistakes) -> Questions:
    """Return the questions with the schema of their files."""
    source = questions.source
    if features is not None:
        source = replace(source, required=_required(features))
    if source.only_spark:
        return replace(questions, source=source, schema=source.schema)
    try:
        return replace(questions, source=source, schema=schema_of(source))
    except SlidefoldError as error:
        mistakes.note("questions.path", error)
        return questions


def _check_questions(
    features: Rolling, schema: Any, questions: Questions, mistakes: Mistakes
) -> Any:
    """Note what questions lack, and return the schema of the results."""
    try:
        asked = questions.schema.empty_table()
        return features.run(schema.empty_table(), at=asked, **questions.options).schema
    except SlidefoldError as error:
        mistakes.note("questions", error)
        return None


def _parse(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            content = opened.read(_LONGEST + 1)
        if len(content) > _LONGEST:
            reason = f"is not a pipeline file: it has more than {_LONGEST:,} bytes"
        elif _DEEP_KEY.search(content):
            reason = f"is nested too deeply: a key has more than {DEEP} parts"
        else:
            tables = tomllib.loads(content.decode("utf-8"))
            if not is_deep(tables):
                return tables
            reason = f"is nested more than {DEEP} levels deep"
    except FileNotFoundError:
        reason = "the file does not exist"
    except IsADirectoryError:
        reason = "is a folder, not a file"
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        reason = "is not UTF-8 text"
    except RecursionError:
        reason = f"is nested more than {DEEP} levels deep"
    except ValueError as error:  # tomllib's error, or an integer with thousands of digits
        reason = f"is not valid TOML: {str(error).partition('; use sys.')[0]}"
    raise PipelineError(str(file), [("", reason)])


def _check_stream(
    features: Rolling | None, settings: Stream, schema: Any, mistakes: Mistakes
) -> Any:
    """Note what a stream does not support, and return the schema of its results."""
    if features is None or mistakes.at("stream"):
        return None
    assert settings.watermark is not None
    try:
        live = features.live(
            lateness=settings.watermark, emit=settings.emit, late=settings.late, id=settings.id
        )
        return live.feed(schema.empty_table()).schema
    except SlidefoldError as error:
        mistakes.note("stream", error)
        return None


def _continues(settings: Stream, sink: Sink, mistakes: Mistakes) -> bool:
    """Tell whether a Spark stream resumes from a checkpoint, and note if its sink is gone."""
    checkpoint = settings.checkpoint
    if checkpoint is None or is_remote(checkpoint) or not Path(checkpoint).exists():
        return False
    if sink.path is not None and not sink.path.exists():
        mistakes.note(
            "stream.checkpoint",
            f"the checkpoint {checkpoint!r} exists but the results do not: remove it to start over",
        )
    return True


def _check_removable(settings: Stream, sink: Sink, mistakes: Mistakes) -> None:
    """Note results and checkpoints of a Spark stream that --overwrite cannot remove."""
    places = [("stream.checkpoint", settings.checkpoint), ("sink.path", sink.url)]
    kept = [(key, repr(path)) for key, path in places if path is not None and is_remote(path)]
    if sink.format.startswith(SPARK) and sink.url is None:
        kept.append(("sink.format", f"results of {sink.format!r} without a path"))
    for key, what in kept:
        mistakes.note(key, f"--overwrite cannot remove {what}: do so, and run without --overwrite")


def _required(features: Rolling) -> tuple[str, ...]:
    """Return the columns that must have a value in every row: times and distances."""
    distances = [name for window in features.windows for name in window.walks]
    return tuple(dict.fromkeys((features.on, *distances)))


def _check_target(key: str, target: Path | None, replace: bool, mistakes: Mistakes) -> None:
    """Note a target that exists, or whose folder is missing or not writable."""
    if target is None:
        return
    if not target.parent.is_dir():
        mistakes.note(key, f"the folder {str(target.parent)!r} does not exist")
    elif target.exists() and not (target.is_file() or target.is_dir()):
        # Replacing it would delete a device such as /dev/null.
        mistakes.note(key, f"{str(target)!r} is a device or a pipe: name a file")
    elif target.exists() and not replace:
        mistakes.note(
            key,
            f"{str(target)!r} already exists: remove it, or replace it with --overwrite or "
            'exists = "replace"',
        )
    elif not _writable(target.parent):
        mistakes.note(key, f"the folder {str(target.parent)!r} is not writable")


def _writable(folder: Path) -> bool:
    # Permissions are not enough: the file system may be read-only or full.
    probe = folder / f".slidefold.{id(folder)}.partial"
    try:
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError:
        return False
    return True
