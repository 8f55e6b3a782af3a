"""Pipeline files, which define a source, features and a sink."""

from slidefold.pipeline.file import Pipeline, load
from slidefold.pipeline.reporting import Reporter
from slidefold.pipeline.run import run_pipeline

__all__ = ["Pipeline", "Reporter", "load", "run_pipeline"]
