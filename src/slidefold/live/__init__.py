"""Rows in order of arrival: late ones welcome, results when they are due."""

from slidefold.live.engine import EMITS, Engine
from slidefold.live.lateness import judge

__all__ = ["EMITS", "Engine", "judge"]
