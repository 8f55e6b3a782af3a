"""A real process, killed with -9 under load: nothing acknowledged is lost or doubled.

One client sends events, another one asks, and snapshots are written all the time, some of them by
processes that outlive their service. Every answer tells how much of the log it knew. In the end the
answers are computed again from the log with `at=` and `known=`.
"""

from __future__ import annotations

import http.client
import random
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from slidefold.serve import Client
from slidefold.serve.log import Log
from slidefold.serve.state import State
from tests.serve.support import FEATURES, SCHEMA, events, settings, started, until

SNAPSHOT_BYTES = 10_000  # of the log; its files are larger, so that all of it is there in the end
GONE = (ConnectionError, http.client.HTTPException, OSError)


@dataclass
class Seen:
    """What the clients saw."""

    acknowledged: dict[int, dict[str, Any]] = field(default_factory=dict)
    unsure: list[dict[str, Any]] = field(default_factory=list)  # sent, and nobody answered
    answers: list[dict[str, Any]] = field(default_factory=list)
    number: int = 0

    def send(self, client: Client, rows: list[dict[str, Any]]) -> None:
        self.unsure = rows
        client.send(rows)
        self.acknowledged |= {event["id"]: event for event in rows}
        self.unsure = []


def _ask(place: str, seen: Seen, seed: int) -> None:
    rng, client = random.Random(seed), Client(place)
    try:
        while True:
            card = rng.choice("abcd")
            answer = client.ask({"card": card})
            assert client.position is not None
            seen.answers.append({"card": card, "position": client.position, **answer})
    except GONE:
        client.close()


def _send(place: str, seen: Seen, rng: random.Random) -> None:
    client = Client(place)
    try:
        if seen.unsure:
            seen.send(client, seen.unsure)
        while True:
            rows = events(rng, rng.randrange(1, 40), seen.number)
            seen.number += len(rows)
            seen.send(client, rows)
    except GONE:
        client.close()


def _writing(folder: Path) -> bool:
    """Tell whether a process that writes a snapshot has outlived its service."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(folder / "state").encode() in path.read_bytes():
                return True
    return False


def check_kills(folder: Path, kills: int, seed: int) -> None:
    rng, seen, place = random.Random(seed), Seen(), str(folder / "sock")
    for kill in range(kills):
        process = started(folder, SNAPSHOT_BYTES)
        stop = threading.Timer(rng.uniform(0.05, 0.4), process.send_signal, [signal.SIGKILL])
        asking = threading.Thread(target=_ask, args=(place, seen, kill))
        stop.start()
        asking.start()
        _send(place, seen, rng)
        for thread in (stop, asking):
            thread.join()
        process.wait(10)
    process = started(folder, SNAPSHOT_BYTES)
    with Client(place) as client:
        if seen.unsure:
            seen.send(client, seen.unsure)
        for card in "abc":
            answer = client.ask({"card": card})
            seen.answers.append({"card": card, "position": client.position, **answer})
    process.terminate()
    assert process.wait(20) == 0
    until(lambda: not _writing(folder))
    assert list((folder / "state").glob("snapshot-*.state"))
    check_log(folder / "state", seen)


def check_log(folder: Path, seen: Seen) -> None:
    """Compare what clients saw with the log."""
    state, accepted, ids = State(settings(id="id")), [], []
    for table, late in state.replay(Log(folder).recover(0)):
        ids += table["id"].to_pylist()
        assert late is not None
        accepted += [
            {**row, "position": state.position}
            for place, row in enumerate(table.to_pylist())
            if place not in late
        ]
    assert len(ids) == len({*ids}), "an event was taken twice"
    assert seen.acknowledged.keys() <= {*ids}, "an acknowledged event is lost"
    assert seen.answers
    taken = pa.Table.from_pylist(accepted, SCHEMA.append(pa.field("position", pa.int64())))
    newest: dict[int, int] = {}
    latest = 0
    for event in accepted:
        latest = newest[event["position"]] = max(latest, event["t"])
    marks, at = sorted(newest), 0
    known = []
    for answer in sorted(seen.answers, key=lambda each: each["position"]):
        while at < len(marks) and marks[at] <= answer["position"]:
            at += 1
        if at:  # before the first event there is no time
            known.append({**answer, "t": newest[marks[at - 1]]})
    questions = pa.Table.from_pylist(
        [{name: each[name] for name in ("t", "card", "position")} for each in known]
    )
    expected = FEATURES.run(taken, at=questions, known="position", asked="position")
    for answer, right in zip(known, expected.to_pylist(), strict=True):
        assert {name: answer[name] for name in right} == right


def test_a_few_kills(tmp_path: Path) -> None:
    check_kills(tmp_path, 3, int(time.time()))


@pytest.mark.exhaustive
def test_many_kills(tmp_path: Path) -> None:
    check_kills(tmp_path, 100, 7)
