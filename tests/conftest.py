"""Hypothesis profiles: `default` is small; HYPOTHESIS_PROFILE=long looks further."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings

COMMON: dict[str, Any] = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
settings.register_profile("default", max_examples=15, stateful_step_count=30, **COMMON)
settings.register_profile("long", max_examples=200, stateful_step_count=60, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
