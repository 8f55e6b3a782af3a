"""Run a definition over rows in arrival order, late rows included."""

from slidefold.live.engine import EMITS, Engine
from slidefold.live.lateness import judge
from slidefold.live.live import Live

__all__ = ["EMITS", "Engine", "Live", "judge"]
