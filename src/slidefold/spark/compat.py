"""What differs between versions and modes of Spark; no other module compares versions."""

from __future__ import annotations

import re
from typing import Any

import pyspark
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
from pyspark.sql.types import DataType

from slidefold.errors import UsageError

OLDEST, NEWEST = (4, 0), (4, 3)
# Before it, `transformWithState` takes pandas frames only.
STREAMS = (4, 1)


def version_of(text: str) -> tuple[int, int]:
    """Return the major and the minor version.

    >>> version_of("4.1.0.dev1"), version_of("3.5.4")
    ((4, 1), (3, 5))
    """
    numbers = re.findall(r"\d+", text)
    return int(numbers[0]), int(numbers[1])


HERE = version_of(pyspark.__version__)


def require_version(server: str = pyspark.__version__, *, streaming: bool = False) -> None:
    """Refuse versions of Spark that slidefold does not support; a server may have another one."""
    oldest = STREAMS if streaming else OLDEST
    for text in (pyspark.__version__, server):
        if not oldest <= version_of(text) <= NEWEST:
            what = "streams need" if streaming else "slidefold needs"
            raise UsageError(
                f"{what} Spark {_text(oldest)} to {_text(NEWEST)}, got {text}: "
                f"pip install 'pyspark=={_text(NEWEST)}.*'"
            )


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def to_arrow(kind: DataType) -> Any:
    """Convert a Spark type to an Arrow type, with instants in UTC."""
    # Older versions always use UTC.
    return to_arrow_type(kind, timezone="UTC") if HERE >= (4, 2) else to_arrow_type(kind)


def from_arrow(kind: Any) -> DataType:
    """Convert an Arrow type to a Spark type; times without a zone stay without one."""
    return from_arrow_type(kind, prefer_timestamp_ntz=True)


def is_connect(data: Any) -> bool:
    """Tell whether a DataFrame or session is of Spark Connect, where there is no JVM to ask."""
    return type(data).__module__.startswith("pyspark.sql.connect")
