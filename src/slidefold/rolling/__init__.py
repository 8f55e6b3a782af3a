"""`sf.rolling`: one definition of many columns over sliding windows."""

from slidefold.rolling.definition import Rolling, rolling
from slidefold.rolling.files import nearest, read

__all__ = ["Rolling", "nearest", "read", "rolling"]
