"""`sf.rolling`: one definition of many columns over sliding windows."""

from slidefold.rolling.definition import Rolling, rolling
from slidefold.rolling.files import read
from slidefold.rolling.wording import DEEP, is_deep, nearest, short

__all__ = ["DEEP", "Rolling", "is_deep", "nearest", "read", "rolling", "short"]
