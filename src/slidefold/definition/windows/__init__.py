"""The windows: frozen values that validate themselves and compute their own bounds."""

from slidefold.definition.windows.base import WindowKind
from slidefold.definition.windows.clock import Clock, Given, Length, lateness_of
from slidefold.definition.windows.counted import counted
from slidefold.definition.windows.delta import Delta, delta
from slidefold.definition.windows.every import EveryRows, EveryWindow, every_of
from slidefold.definition.windows.every_time import EveryTime
from slidefold.definition.windows.kinds import KINDS, window_of, window_suffix
from slidefold.definition.windows.lifetime import Lifetime, lifetime
from slidefold.definition.windows.punctuated import Punctuated, punctuated
from slidefold.definition.windows.retention import needed_rows, reach_back
from slidefold.definition.windows.rows import Rows, RowsBefore, rows
from slidefold.definition.windows.session import Session, session
from slidefold.definition.windows.slide import Every, Slide
from slidefold.definition.windows.sorted_rows import Asked, Frames, SortedRows
from slidefold.definition.windows.ties import tie_order
from slidefold.definition.windows.time import Time, time

__all__ = [
    "KINDS",
    "Asked",
    "Clock",
    "Delta",
    "Every",
    "EveryRows",
    "EveryTime",
    "EveryWindow",
    "Frames",
    "Given",
    "Length",
    "Lifetime",
    "Punctuated",
    "Rows",
    "RowsBefore",
    "Session",
    "Slide",
    "SortedRows",
    "Time",
    "WindowKind",
    "counted",
    "delta",
    "every_of",
    "lateness_of",
    "lifetime",
    "needed_rows",
    "punctuated",
    "reach_back",
    "rows",
    "session",
    "tie_order",
    "time",
    "window_of",
    "window_suffix",
]
