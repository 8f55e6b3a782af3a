"""Whole columns: Arrow in, Arrow out."""

from slidefold.columns.engine import require_column, run
from slidefold.columns.folds import column_operator
from slidefold.columns.sources import schema_of

__all__ = ["column_operator", "require_column", "run", "schema_of"]
