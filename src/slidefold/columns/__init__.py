"""Whole columns: Arrow in, Arrow out."""

from slidefold.columns.engine import plan_of, require_column, run
from slidefold.columns.sources import schema_of

__all__ = ["plan_of", "require_column", "run", "schema_of"]
