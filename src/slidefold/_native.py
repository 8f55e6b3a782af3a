"""The only door to the compiled module."""

from slidefold._native_ext import (
    Aggregator,
    BloomFilter,
    BoundaryCore,
    CountMinSketch,
    HeldState,
    KeyedCore,
    Moments,
    NaiveBayesModel,
    OperatorCore,
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
    "CountMinSketch",
    "HeldState",
    "KeyedCore",
    "Moments",
    "NaiveBayesModel",
    "OperatorCore",
    "TreeCore",
    "WindowCore",
    "algorithms",
    "operator_traits",
    "optimal_chunk_rows",
    "optimal_chunk_time",
]
