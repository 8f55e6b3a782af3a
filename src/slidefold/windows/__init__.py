"""The windows: frozen values that validate themselves and own their bounds."""

from slidefold.windows.clock import Clock, Given, Length, lateness_of
from slidefold.windows.counted import counted
from slidefold.windows.delta import Delta, delta
from slidefold.windows.every import Every, EveryRows, EveryTime, EveryWindow, Slide, every_of
from slidefold.windows.kinds import KINDS, WindowKind, window_of, window_suffix
from slidefold.windows.punctuated import Punctuated, punctuated
from slidefold.windows.retention import needed_rows, reach_back
from slidefold.windows.rows import Rows, rows
from slidefold.windows.session import Session, session
from slidefold.windows.sorted_rows import Frames, SortedRows
from slidefold.windows.ties import tie_order
from slidefold.windows.time import Time, time

__all__ = [
    "KINDS",
    "Clock",
    "Delta",
    "Every",
    "EveryRows",
    "EveryTime",
    "EveryWindow",
    "Frames",
    "Given",
    "Length",
    "Punctuated",
    "Rows",
    "Session",
    "Slide",
    "SortedRows",
    "Time",
    "WindowKind",
    "counted",
    "delta",
    "every_of",
    "lateness_of",
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
