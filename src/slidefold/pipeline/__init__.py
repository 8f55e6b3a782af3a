"""Pipeline files: where rows come from, what is computed, where results go."""

from slidefold.pipeline.file import Pipeline, load

__all__ = ["Pipeline", "load"]
