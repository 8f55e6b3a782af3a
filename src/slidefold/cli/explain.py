"""`slidefold explain`."""

from __future__ import annotations

from slidefold.cli.guard import guarded
from slidefold.cli.options import AsJson, PipelineFile
from slidefold.cli.output import Output
from slidefold.pipeline import load
from slidefold.pipeline.types import word_of


def explain(pipeline: PipelineFile, json: AsJson = False) -> None:
    """Check a pipeline file and say how each feature is computed; nothing is run or written.

    For each column: the algorithm, why that one, what a row costs (in calls of the operator's
    `combine`) and what is kept.
    """
    out = Output(json)
    with guarded(out):
        made = load(pipeline, writes=False)
        out.say(
            "explain",
            made.features.explain(made.schema),
            source=str(made.source.path),
            columns={each.name: word_of(each.type) for each in made.schema},
            features=made.features.to_dict(),
            plan=made.features.explain(made.schema).splitlines(),
        )
