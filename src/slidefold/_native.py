"""The only door to the compiled module."""

from slidefold._native_ext import (
    Aggregator,
    BloomFilter,
    WindowCore,
    algorithms,
    operator_traits,
)

__all__ = ["Aggregator", "BloomFilter", "WindowCore", "algorithms", "operator_traits"]
