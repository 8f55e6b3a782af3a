"""A real process, killed with -9 while it takes events: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import http.client
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from slidefold.serve import Client
from slidefold.serve.log import Log
from tests.serve.support import FEATURES, SCHEMA, events, started


def check_kills(folder: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    acknowledged: dict[int, dict[str, Any]] = {}
    unsure: list[dict[str, Any]] = []
    number = 0
    for _ in range(kills):
        process = started(folder)
        stop = threading.Timer(rng.uniform(0.05, 0.4), process.send_signal, [signal.SIGKILL])
        stop.start()
        client = Client(str(folder / "sock"))
        try:
            client.send(unsure or events(rng, 1, number))  # what was in flight is sent again
            acknowledged |= {event["id"]: event for event in unsure}
            unsure = []
            while True:
                unsure = events(rng, rng.randrange(1, 40), number)
                number += len(unsure)
                client.send(unsure)
                acknowledged |= {event["id"]: event for event in unsure}
                unsure = []
        except (ConnectionError, http.client.HTTPException, OSError):
            pass
        stop.join()
        process.wait(10)
        client.close()
    process = started(folder)
    client = Client(str(folder / "sock"))
    if unsure:
        client.send(unsure)
        acknowledged |= {event["id"]: event for event in unsure}
    answers = {card: client.ask({"card": card}) for card in "abc"}
    process.terminate()
    process.wait(20)
    client.close()
    logged = []
    for _, data in Log(folder / "state").recover(0):
        with pa.ipc.open_stream(data) as reader:
            logged += reader.read_all().to_pylist()
    ids = [event["id"] for event in logged]
    assert len(ids) == len({*ids}), "an event was taken twice"
    assert acknowledged.keys() <= {*ids}, "an acknowledged event is lost"
    live = FEATURES.live(lateness=100, emit="arrival", schema=SCHEMA)
    for event in logged:
        live.push(event)
    assert answers == {card: live.ask({"card": card}) for card in "abc"}


def test_a_few_kills(tmp_path: Path) -> None:
    check_kills(tmp_path, 3, int(time.time()))


@pytest.mark.exhaustive
def test_many_kills(tmp_path: Path) -> None:
    check_kills(tmp_path, 40, 7)
