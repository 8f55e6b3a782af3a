"""`sf.rolling`: one definition of many columns over sliding windows."""

from slidefold.rolling.definition import Rolling, rolling

__all__ = ["Rolling", "rolling"]
