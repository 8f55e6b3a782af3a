"""Optimal and General Out-of-Order Sliding-Window Aggregation: section 5."""

from __future__ import annotations

FINGERS = ("fiba2", "fiba4", "fiba8")
CLASSIC = ("btree2", "btree4", "btree8")
OURS = "fiba"  # with wider nodes: not in the paper
