"""Parquet files that options name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from slidefold.errors import DataError, UsageError, first_line


def read_parquet(place: Path, kind: str) -> Any:
    """Return a Parquet file, or all files of a kind in the folder of a service's records."""
    if not place.exists():
        raise UsageError(f"the {kind} in {str(place)!r} cannot be read: there is no such file")
    files = sorted(place.glob(f"{kind}-*.parquet")) if place.is_dir() else [place]
    if not files:
        raise DataError(f"the folder {str(place)!r} has no files {kind}-*.parquet")
    try:
        return pa.concat_tables([pq.read_table(file) for file in files])
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(
            f"the {kind} in {str(place)!r} cannot be read: {first_line(error)}"
        ) from None
