"""Hypothesis profiles, and the short slice of large suites.

`default` is small; HYPOTHESIS_PROFILE=long looks further, and `short` is for the sanitizers. A test
marked `sampled(n)` has many cases: one in n of them always runs, the others are marked
`exhaustive`.
"""

from __future__ import annotations

import os
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

COMMON: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("default", max_examples=15, stateful_step_count=30, **COMMON)
settings.register_profile("short", max_examples=5, stateful_step_count=30, **COMMON)
settings.register_profile("long", max_examples=200, stateful_step_count=60, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the cases beyond the slice; which ones does not depend on what else is collected."""
    for item in items:
        marker = item.get_closest_marker("sampled")
        # A hash, as every nth case would be the same algorithm again and again.
        if marker is not None and crc32(item.nodeid.encode()) % marker.args[0] != 0:
            item.add_marker(pytest.mark.exhaustive)
    # Spark's tests mostly wait: they start first, beside all others.
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


# These are about Spark and need no session of it, so they are free to run anywhere.
APART = (
    "tests/spark/test_capacity.py",
    "tests/spark/test_parts.py",
    "tests/spark/test_segments.py",
    "tests/spark/test_stream_log.py",
    "tests/spark/test_stream_overflows.py",
    "tests/spark/test_stream_stages.py",
)
# Tests that share something expensive: a session of Spark, the output of a demo, compiled code.
TOGETHER = (
    # These have a server or a cluster, and no session of their own.
    "tests/spark/test_cluster.py",
    "tests/spark/test_connect.py",
    "tests/spark/",
    "tests/test_demo.py",
    "tests/cli/test_demo_command.py",
    "tests/operators/test_compil",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run tests that share something in one worker, so that it is made once.

    `--dist loadgroup` does not: with pytest 9, xdist 3.8 no longer sees the group of a test.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class Together(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return Together(config, log)


def group(nodeid: str) -> str:
    """Name the tests that run in one worker with this one; itself if it may run anywhere."""
    if nodeid.startswith(APART):
        return nodeid
    return next((start for start in TOGETHER if nodeid.startswith(start)), nodeid)
