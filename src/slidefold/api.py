"""Run, start or explain a definition: the only module that picks an engine by the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidefold.errors import DefinitionError
from slidefold.options import IN_PROCESS, require_options, take_period
from slidefold.pictures import Explanation

if TYPE_CHECKING:
    from slidefold.definition.rolling import Rolling
    from slidefold.live import Live

# Engines are imported on first use. A definition can be written, printed and sent to Spark without
# them, and `import slidefold` stays fast.


def run(definition: Rolling, data: Any, **options: Any) -> Any:
    """Run a definition over data and return the same kind of data."""
    if is_spark(data):
        from slidefold.spark import run as run_spark

        return run_spark(definition, data, **options)
    require_options("run", IN_PROCESS, options)
    period = take_period(options)
    if options.get("at") is not None:
        from slidefold.live.known import run_questions

        return run_questions(definition, data, **options)
    for name in ("known", "asked", "lateness"):
        if options.pop(name, None) is not None:
            raise DefinitionError(f"{name}= needs at=, the table of questions")
    options.pop("at", None)
    if period:
        from slidefold.columns.backfill import run_period

        return run_period(definition, data, **period, **options)
    from slidefold.columns import run as run_columns

    return run_columns(definition, data, **options)


def live(definition: Rolling, **options: Any) -> Live:
    """Start a live run over rows in arrival order."""
    from slidefold.live import Live

    return Live(definition, **options)


def explain(definition: Rolling, data: Any = None, **options: Any) -> str:
    """Describe how a definition would run over data or an Arrow schema."""
    if is_spark(data):
        from slidefold.spark import explain as explain_spark

        return explain_spark(definition, data, **options)
    require_options("explain", IN_PROCESS, options)
    from slidefold.columns import plan_of, schema_of

    schema = None if data is None else schema_of(data, definition.used)
    at = options.get("at")
    period = take_period(options)
    planned = plan_of(definition, schema, by_frame=at is not None)
    plan = str(planned)
    if period:
        from slidefold.columns.backfill import explain_period

        plan += f"\n{explain_period(definition, data, **period)}"
    if at is None:
        return Explanation(plan, planned._repr_html_())
    from slidefold.columns.questions import asked_columns, require_questions

    require_questions(definition)
    read = ", ".join(asked_columns(definition))
    how = "events are sorted by key and time, questions too; each window is a range of events"
    if options.get("known") is not None:
        how = (
            f"events are inserted in order of {options['known']!r}, and each question is answered "
            "over those that had arrived"
        )
    return f"{plan}\nat= reads {read} of the questions: {how}"


def lateness(definition: Rolling, data: Any, **options: Any) -> Any:
    """Return what each of several latenesses would lose and change."""
    from slidefold.live.delays import study_lateness

    return study_lateness(definition, _in_process(data, "lateness"), **options)


def why(definition: Rolling, row: Any, column: str, data: Any, **options: Any) -> Any:
    """Return the events that one value is made of."""
    from slidefold.columns.why import rows_behind

    return rows_behind(definition, _in_process(data, "why"), row, column, **options)


def _in_process(data: Any, function: str) -> Any:
    if is_spark(data):
        raise DefinitionError(
            f"{function} reads tables in this process: pass a part of the data, such as "
            "df.where(...).toArrow()"
        )
    return data


def is_spark(data: object) -> bool:
    """Tell whether the data is a Spark DataFrame, without importing pyspark."""
    return any(
        base.__name__ == "DataFrame" and base.__module__.startswith("pyspark.sql.")
        for base in type(data).__mro__
    )
