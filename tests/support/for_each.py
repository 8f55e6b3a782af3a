"""Many small cases in one test: starting a test takes longer than a small case."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest

PARAM = type(pytest.param())


Test = Callable[..., None]


def for_each(name: str, cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test for every case, as one test; an error says in which case it was.

    Like `pytest.mark.parametrize`, `name` may list several arguments: "name, case".
    """
    names = [part.strip() for part in name.split(",")]
    rows: list[tuple[Any, ...]] = []
    for case in cases:
        if isinstance(case, PARAM):
            rows.append(tuple(case.values))
        else:
            rows.append((case,) if len(names) == 1 else tuple(case))

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run(*args: Any, **given: Any) -> None:
            for row in rows:
                try:
                    test(*args, **given, **dict(zip(names, row, strict=True)))
                except BaseException as error:
                    error.add_note(f"in the case {', '.join(map(str, row))}")
                    raise

        known = inspect.signature(test)
        left = [p for p in known.parameters.values() if p.name not in names]
        run.__signature__ = known.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate
