"""Test the laws that algorithms rely on: `slidefold.check`."""

from slidefold.laws.checking import Report, check

__all__ = ["Report", "check"]
