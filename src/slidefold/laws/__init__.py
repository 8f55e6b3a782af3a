"""The laws that algorithms rely on, tested: `slidefold.check`."""

from slidefold.laws.checking import Report, check

__all__ = ["Report", "check"]
