"""Hypothesis profiles, and the short slice of large suites.

`default` is small; HYPOTHESIS_PROFILE=long looks further. A test marked `sampled(n)` has many
cases: one in n of them always runs, the others are marked `exhaustive`.
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
    # Spark's tests mostly wait, and share one session: they start first, beside all others.
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
