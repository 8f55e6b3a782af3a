"""The only door to the compiled module."""

from slidefold._native_ext import (
    Aggregator,
    BloomFilter,
    BoundaryCore,
    KeyedCore,
    HeldState,
    OperatorCore,
    CountMinSketch,
    Moments,
    NaiveBayesModel,
    TreeCore,
    WindowCore,
    algorithms,
    operator_traits,
    optimal_chunk_rows,
    optimal_chunk_time,
)

__all__ = [
    "Aggregator",
    "BloomFilter",
    "BoundaryCore",
    "KeyedCore",
    "HeldState",
    "OperatorCore",
    "CountMinSketch",
    "Moments",
    "NaiveBayesModel",
    "TreeCore",
    "WindowCore",
    "algorithms",
    "operator_traits",
    "optimal_chunk_rows",
    "optimal_chunk_time",
]
