"""`slidefold explain`."""

from __future__ import annotations

from slidefold.cli.guard import guarded
from slidefold.cli.options import AsJson, PipelineFile
from slidefold.cli.output import Output
from slidefold.pipeline import load
from slidefold.pipeline.types import word_of


def explain(pipeline: PipelineFile, json: AsJson = False) -> None:
    """Check a pipeline file and show how each feature is computed; nothing is run or written.

    For each column it shows the algorithm, the reason for the choice, the cost per row (in calls
    of the operator's `combine`) and the state that is kept.
    """
    out = Output(json)
    with guarded(out):
        loaded = load(pipeline, writes=False)
        out.say(
            "explain",
            loaded.features.explain(loaded.schema),
            source=str(loaded.source.path),
            columns={field.name: word_of(field.type) for field in loaded.schema},
            features=loaded.features.to_dict(),
            plan=loaded.features.explain(loaded.schema).splitlines(),
        )
