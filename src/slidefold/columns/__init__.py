"""Whole columns: Arrow in, Arrow out."""

from slidefold.columns.engine import run
from slidefold.columns.folds import column_operator

__all__ = ["column_operator", "run"]
