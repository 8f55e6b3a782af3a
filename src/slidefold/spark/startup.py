"""Start a Spark session for the command line, without log output, and make errors readable."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from slidefold.errors import DataError, SlidefoldError, UsageError
from slidefold.spark.settings import STREAM_SETTINGS

# The last line of a Python error in a worker, as Spark quotes it.
_SENTENCE = re.compile(
    r"(?:slidefold\.errors\.\w+|ImportError(?=: the driver has slidefold)): (.+)"
)
_NAMED = re.compile(r"(?:^|(?<=: ))\[[A-Z_.]+\].*")
JAVA = 17


def missing() -> str:
    """Return a sentence about what Spark needs and is not installed; empty if all is there."""
    if find_spec("pyspark") is None:
        return "Spark needs pyspark: pip install 'slidefold[spark]'"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    version = _java_version(java) if java else 0
    if version < JAVA:
        actual = f", and {java} is Java {version}" if version else ""
        return f"Spark needs Java {JAVA} or newer{actual}: install it, or set JAVA_HOME"
    return ""


def _java_version(java: str) -> int:
    try:
        output = subprocess.run(
            [java, "-version"], capture_output=True, text=True, check=True, timeout=60
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r'version "(\d+)(?:\.(\d+))?', output)
    if match is None:
        return 0
    return int(match[2] or 0) if match[1] == "1" else int(match[1])


def start(master: str, log: Path) -> Any:
    """Start a session whose JVM logs to a file.

    Its time zone is UTC, as everywhere in slidefold. The caller must stop it.
    """
    why = missing()
    if why:
        raise UsageError(why)
    from pyspark.sql import SparkSession

    # py4j logs interrupted calls; without a handler the log would go to standard error.
    logging.getLogger().addHandler(logging.NullHandler())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("slidefold")
    chosen = {
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        **STREAM_SETTINGS,
    }
    if master.startswith("local"):
        # Two are enough on one machine: a stream opens a store and a worker for each per batch.
        chosen |= {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    for name, value in chosen.items():
        builder = builder.config(name, value)
    at_stop = signal.getsignal(signal.SIGINT)
    try:
        with _standard_error_into(log), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = builder.getOrCreate()
        # Spark installs its own handler; restore the one of the command.
        signal.signal(signal.SIGINT, at_stop)
        return session
    except Exception as error:
        raise DataError(f"Spark did not start at {master!r}: {_cause(error)}") from None


@contextmanager
def _standard_error_into(log: Path) -> Iterator[None]:
    """Send the standard error of processes that start now into a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(log, "ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def readable() -> Iterator[None]:
    """Turn an error of Spark into one sentence: ours if a worker raised it, else Spark's first."""
    try:
        yield
    except SlidefoldError:
        raise
    except Exception as error:
        text = str(error)
        ours = _SENTENCE.findall(text)
        if ours:
            raise DataError(ours[-1].strip()) from None
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise DataError(f"Spark failed: {_cause(error)}") from None


def _cause(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Spark's own errors have their name in brackets, followed by the message.
    known = next((match[0] for line in lines if (match := _NAMED.search(line))), None)
    # The error of a worker is at the end of its traceback.
    raised = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    if "Python worker" in str(error) and raised:
        return raised[-1]
    # py4j first names the call that failed, then the error.
    rest = [line.lstrip(": ") for line in lines if not line.startswith("An error occurred while")]
    return known or (rest or [type(error).__name__])[0]
