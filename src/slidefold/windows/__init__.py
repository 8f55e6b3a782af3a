"""The windows: frozen values that validate themselves and own their bounds."""

from slidefold.windows.rows import Rows, rows
from slidefold.windows.time import Time, time

__all__ = ["Rows", "Time", "rows", "time"]
