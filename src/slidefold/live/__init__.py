"""Rows in order of arrival: late ones welcome, results when they are due."""

from slidefold.live.engine import EMITS, Engine
from slidefold.live.lateness import judge
from slidefold.live.live import Live

__all__ = ["EMITS", "Engine", "Live", "judge"]
