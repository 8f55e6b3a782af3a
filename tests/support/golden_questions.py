"""The cases of tests/golden/questions.json: events, questions, and what each question gets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import slidefold as sf
from tests.support.golden import table

PATH = Path(__file__).parents[1] / "golden" / "questions.json"
# What the columns of answers are named after, and the arguments of `run`.
WAYS: dict[str, dict[str, Any]] = {
    "at": {},
    "known": {"known": "arrived"},
    "asked": {"known": "arrived", "asked": "asked"},
}


@dataclass(frozen=True)
class Question:
    """Events, questions, a definition, and the answers with some arguments of `run`."""

    name: str
    events: Any
    questions: Any
    definition: sf.Rolling
    way: str
    expect: Any

    def __str__(self) -> str:
        return f"{self.name}, {self.way}"

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `run`."""
        return WAYS[self.way]


def golden_questions() -> list[Question]:
    """Return all cases of the file."""
    return [
        Question(
            case["name"],
            table(case["events"]),
            table(case["questions"]),
            sf.Rolling.from_dict(case["definition"]),
            way,
            table(case[way]),
        )
        for case in json.loads(PATH.read_text(encoding="utf-8"))
        for way in WAYS
        if way in case
    ]
