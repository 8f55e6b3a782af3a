"""The API reference, generated from docstrings while the site is built."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import slidefold as sf
from slidefold.definition.operators import BUILT_IN
from slidefold.options import IN_PROCESS, OPTIONS
from tools.docs import parameters
from tools.docs.words import escaped, markdown, signature

HEAD = """# API

Everything in `import slidefold as sf`, from its signatures and docstrings. The operators have
[their own page](operators.md). The [options on Spark](#on-spark), the
[command line](#command-line), the [modules for other libraries](#inside-other-libraries) and the
[errors](#errors) are below.
"""
SECTIONS: dict[str, tuple[str, ...]] = {
    "Definitions over tables": ("rolling", "Rolling", "Over", "Live"),
    "Windows": ("time", "rows", "delta", "session", "punctuated", "lifetime"),
    "Expressions": (
        *("col", "Expression", "change", "ratio_change", "lag", "rank"),
        *("decayed_count", "since_first", "since_last"),
    ),
    "One live window": ("Window", "plan", "Plan"),
    "Your own operators": ("operator", "Fold", "check", "Report"),
    "Results of sketches": ("BloomFilter", "CountMinSketch", "Moments", "NaiveBayesModel"),
}
SHOWN_ELSEWHERE = {
    *BUILT_IN,
    *("approx_quantile", "theta", "frequent_items", "struct", "Operator"),
    *("algorithms", "errors"),
    # Results of the functions of these names.
    *("Time", "Rows", "Delta", "Session", "Punctuated", "Lifetime"),
}
# What engines ask of these classes; users do not need it.
INTERNAL = {
    "Rolling": {
        "bare_beside",
        "derived",
        "formulas",
        "required",
        "slide",
        "default_closed",
        "used",
    },
    "Over": {"columns", "require_bounded", "result", "settle", "text"},
    "Live": {"low"},
    "Plan": {"html"},
}


def leftovers() -> list[str]:
    """Return the public names that are in no section."""
    placed = {name for names in SECTIONS.values() for name in names}
    return [name for name in sf.__all__ if name not in placed | SHOWN_ELSEWHERE]


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    sections = dict(SECTIONS)
    if leftovers():
        sections["More"] = tuple(leftovers())
    for title, names in sections.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += item(getattr(sf, name), f"sf.{name}")
    parts.append("## Algorithms\n\nFrom `slidefold.algorithms`; each has [its page]"
                 "(../algorithms/index.md).\n")  # fmt: skip
    for name in sf.algorithms.__all__:
        value = getattr(sf.algorithms, name)
        if callable(value):
            parts += item(value, name)
    parts += [*_spark(), *_commands(), *_libraries()]
    parts.append("## Errors\n\nFrom `slidefold.errors`. Each is a `SlidefoldError`.\n")
    for name, value in vars(sf.errors).items():
        if isinstance(value, type):
            bases = ", ".join(f"`{base.__name__}`" for base in value.__bases__)
            parts.append(f"### {name}\n\nA {bases}. {inspect.getdoc(value)}\n")
    return "\n".join(parts)


def item(value: Any, name: str) -> Iterator[str]:
    """Yield the text of a function, or of a class with its methods."""
    yield f"### {name.removeprefix('sf.')}\n"
    yield f"```text\n{signature(value, name)}\n```\n"
    yield markdown(value.__doc__ or "") + "\n"
    yield from parameters.table(parameters.of_function(value), value.__doc__ or "")
    if inspect.isclass(value):
        for method, doc, call in methods(value):
            if method in INTERNAL.get(value.__name__, ()):
                continue
            yield f"#### {value.__name__}.{method}\n"
            if call:
                yield f"```text\n{call}\n```\n"
            yield markdown(doc) + "\n"
            if call:
                function = inspect.getattr_static(value, method)
                function = getattr(function, "__func__", function)
                rows = parameters.of_function(function)
                if (value, method) == (sf.Rolling, "run"):
                    rows[1:] = parameters.of_options(OPTIONS[IN_PROCESS])
                yield from parameters.table(rows, doc)


def _spark() -> Iterator[str]:
    """Yield the options of `run` for Spark DataFrames."""
    yield (
        "## On Spark\n\n`features.run(df)` and `features.explain(df)` take these options. "
        "[Spark](../spark.md) describes batches, [streaming](../spark-streaming.md) streams.\n"
    )
    for title, module, name in (
        ("A batch", "spark/batch.py", "run_batch"),
        ("A stream", "spark/stream.py", "run_stream"),
        ("Questions, `at=`", "spark/questions.py", "run_questions"),
    ):
        rows, doc = parameters.of_source(module, name)
        yield f"### {title}\n\n{markdown(doc)}\n"
        yield from parameters.table(rows, doc)


def _commands() -> Iterator[str]:
    """Yield the commands of `slidefold`, with their arguments and options."""
    from typer.main import get_command

    from slidefold.cli.app import app

    group: Any = get_command(app)
    yield "## Command line\n\nSee [the command line](../command-line.md) for pipeline files.\n"
    for name, command in group.commands.items():
        yield f"### slidefold {name}\n\n{markdown(command.help or '')}\n"
        lines = []
        for parameter in command.params:
            flags = ", ".join(f"`{flag}`" for flag in parameter.opts)
            if parameter.param_type_name == "argument":
                flags = f"`{parameter.name.upper()}`"
            words = escaped(" ".join((getattr(parameter, "help", "") or "").split()))
            default = parameter.default
            shown = "" if default in (None, False, ()) or callable(default) else f"`{default}`"
            lines.append(f"| {flags} | {shown} | {words} |")
        if lines:
            yield "| argument | default | meaning |\n|---|---|---|\n" + "\n".join(lines) + "\n"


def _libraries() -> Iterator[str]:
    """Yield the modules that work inside other libraries."""
    yield "## Inside other libraries\n\n[Polars, scikit-learn, notebooks](../integrations.md)\n"
    modules = {"polars": ("Windows", "LazyWindows"), "sklearn": ("RollingFeatures",)}
    for module, names in modules.items():
        try:
            found = importlib.import_module(f"slidefold.{module}")
        except ImportError:
            yield f"`slidefold.{module}` was not installed when this page was built.\n"
            continue
        for name in names:
            yield from item(getattr(found, name), f"slidefold.{module}.{name}")


def methods(kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the name, docstring and signature of each documented public method or property."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("slidefold"):
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            function = value.__func__ if isinstance(value, classmethod) else value
            doc = getattr(function, "__doc__", None)
            if not doc or not (callable(function) or inspect.isdatadescriptor(function)):
                continue
            call = signature(function, name) if callable(function) else ""
            yield name, doc, call.replace("(cls, ", "(").replace("(cls)", "()")
