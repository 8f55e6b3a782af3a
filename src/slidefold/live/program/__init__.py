"""Compile a definition for the native engine: see `compiling`."""

from slidefold.live.program.compiling import Program, compile_program
from slidefold.live.program.results import columns_of
from slidefold.live.program.stored import restored
from slidefold.live.program.types import is_plain, is_time

__all__ = ["Program", "columns_of", "compile_program", "is_plain", "is_time", "restored"]
