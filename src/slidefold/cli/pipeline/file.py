"""A pipeline file as a frozen value, validated as a whole before anything starts."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slidefold.cli.pipeline.features import check_against, read_features
from slidefold.cli.pipeline.settings import (
    Sink,
    Source,
    Stream,
    read_sink,
    read_source,
    read_stream,
)
from slidefold.cli.pipeline.sources import schema_of
from slidefold.cli.pipeline.tables import Mistakes, Table
from slidefold.errors import PipelineError, SlidefoldError
from slidefold.rolling import Rolling


@dataclass(frozen=True)
class Pipeline:
    """What a pipeline file says."""

    file: Path
    source: Source
    features: Rolling
    stream: Stream
    sink: Sink
    schema: Any  # of the source; None where only Spark can read it
    results: Any  # the schema of the results; None where that of the source is not known


def load(
    file: Path,
    *,
    engine: str = "local",
    stream: bool = False,
    overwrite: bool = False,
    writes: bool = True,
) -> Pipeline:
    """Read a pipeline file, and raise `PipelineError` with every mistake in it.

    Paths in the file are relative to its folder. What the run will need is looked at too: the
    source and the types of its columns, the folder of the sink, and that there is nothing yet where
    results go (`overwrite` allows it; without `writes` nobody looks at the sink).
    """
    mistakes = Mistakes(file)
    told = _parse(file)
    whole = Table(mistakes, "", told)
    for name in ("source", "features", "sink"):
        if name not in told:
            mistakes.note(name, f"the table [{name}] is missing")
    folder = file.parent
    source = read_source(whole.within("source"), folder, engine)
    settings = read_stream(whole.within("stream"), folder, engine, stream)
    sink = read_sink(whole.within("sink"), folder, engine)
    features = read_features(whole.within("features").told, mistakes)
    whole.finish()
    schema = results = None
    if not source.only_spark and not mistakes.at("source"):
        try:
            schema = schema_of(source)
        except SlidefoldError as error:
            mistakes.note("source.path", error)
    if features is not None and schema is not None:
        results = check_against(features, told["features"], schema, source.format, mistakes)
    if stream and results is not None and settings.watermark is not None:
        results = _check_stream(features, settings, schema, mistakes)
    if "sink" in told:
        sink.check_results(results, mistakes)
    continues = stream and engine == "spark" and _continues(settings, sink, mistakes)
    if writes and not mistakes.at("sink") and not (continues and not overwrite):
        for key, target in (("sink.path", sink.path), ("source.side", source.side)):
            _check_target(key, target, source, overwrite or sink.exists == "replace", mistakes)
    mistakes.require_none()
    assert features is not None
    return Pipeline(file, source, features, settings, sink, schema, results)


def _parse(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        reason = "there is no such file"
    except IsADirectoryError:
        reason = "is a folder, not a file"
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        reason = "is not UTF-8 text"
    except tomllib.TOMLDecodeError as error:
        reason = f"is not TOML: {error}"
    raise PipelineError(str(file), [("", reason)])


def _check_stream(
    features: Rolling | None, settings: Stream, schema: Any, mistakes: Mistakes
) -> Any:
    """Note what a stream refuses, and return the schema of what it gives."""
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
    """Tell whether a Spark stream goes on from its checkpoint, and note what it cannot do."""
    checkpoint = settings.checkpoint
    if checkpoint is None or "://" in checkpoint or not Path(checkpoint).exists():
        return False
    if sink.path is not None and not sink.path.exists():
        mistakes.note(
            "stream.checkpoint",
            f"{checkpoint!r} is there and the results are not: remove it to start anew",
        )
    return True


def _check_target(
    key: str, target: Path | None, source: Source, replace: bool, mistakes: Mistakes
) -> None:
    """Refuse a target that exists, or that lies where it would be read as input."""
    if target is None:
        return
    if source.path is not None and "://" not in source.path:
        read = Path(source.path).resolve()
        if target.resolve() == read or read in target.resolve().parents:
            mistakes.note(key, f"{str(target)!r} lies in the source")
            return
    if not target.parent.is_dir():
        mistakes.note(key, f"the folder {str(target.parent)!r} does not exist")
    elif target.exists() and not replace:
        mistakes.note(
            key,
            f"{str(target)!r} exists: remove it, or replace it with --overwrite or exists = "
            '"replace"',
        )
    elif not _writable(target.parent):
        mistakes.note(key, f"the folder {str(target.parent)!r} cannot be written to")


def _writable(folder: Path) -> bool:
    # Asking the file system is surer than asking for permissions: it may be read-only, or full.
    probe = folder / f".slidefold.{id(folder)}.partial"
    try:
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError:
        return False
    return True
