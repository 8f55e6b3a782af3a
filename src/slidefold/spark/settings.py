"""The session settings that a stream needs; `run` checks them and never changes them."""

from __future__ import annotations

import warnings
from typing import Any

from slidefold.errors import UsageError

_STORE = "spark.sql.streaming.stateStore."
PROVIDER = _STORE + "providerClass"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHANGELOG = _STORE + "rocksdb.changelogCheckpointing.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"
# `transformWithState` needs RocksDB. Without changelogs each batch uploads whole files of state.
STREAM_SETTINGS: dict[str, Any] = {PROVIDER: ROCKS, CHANGELOG: "true"}
# A few partitions without a bucket are cheap. The 200 of a default session are not.
FEW = 8


def require_stream_settings(session: Any, buckets: int) -> None:
    """Refuse a session that cannot run the stream, and warn of one that would be slow.

    The user starts the query later, so the settings of the session are the user's to change.
    """
    provider = session.conf.get(PROVIDER)
    if provider != ROCKS:
        raise UsageError(
            "a stream needs the RocksDB state store, and the session uses "
            f"{str(provider).rpartition('.')[2]}: add {_lines(STREAM_SETTINGS)}"
        )
    slow = {}
    if str(session.conf.get(CHANGELOG)).lower() != "true":
        slow[CHANGELOG] = "true"
    partitions = int(session.conf.get(PARTITIONS))
    if partitions > max(buckets, FEW):
        slow[PARTITIONS] = str(buckets)
    if slow:
        why = [
            "each batch uploads whole files of state" if CHANGELOG in slow else "",
            f"each batch opens {partitions} state stores for {buckets} buckets"
            if PARTITIONS in slow
            else "",
        ]
        warnings.warn(
            f"the stream will be slow, because {' and '.join(filter(None, why))}: before the first "
            f"start, add {_lines(slow)}",
            stacklevel=2,
        )


def _lines(settings: dict[str, Any]) -> str:
    return "; ".join(f'spark.conf.set("{name}", "{value}")' for name, value in settings.items())
