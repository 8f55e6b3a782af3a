"""In-Order Sliding-Window Aggregation in Worst-Case Constant Time: section 7."""

from __future__ import annotations

SIDES = ("two_stacks", "two_stacks_lite", "flat_fit", "daba", "daba_lite", "fiba4")
CONSTANT = ("two_stacks", "two_stacks_lite", "daba", "daba_lite")
