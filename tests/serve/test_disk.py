"""Full disks, damaged folders, and files that grow: nothing is lost, and answers go on."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from slidefold.errors import StateError
from slidefold.serve import Client
from slidefold.serve import follow as following
from slidefold.serve import recorder as recorders
from slidefold.serve import service as services
from slidefold.serve.client import RefusedError
from slidefold.serve.log import Log
from slidefold.serve.recorder import Recorder
from slidefold.serve.service import DiskError, Service
from slidefold.serve.state import State
from tests.serve.support import PIPELINE, events, settings, until
from tests.serve.test_follow import FILES, lines, opened

EVENT = {"t": 1000, "card": "a", "amount": 1.0, "id": 1}


def full(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_one_service_per_folder(tmp_path: Path) -> None:
    service = Service(settings(), tmp_path)
    with pytest.raises(StateError, match="another service uses the state in"):
        Service(settings(), tmp_path)
    service.close()
    Service(settings(), tmp_path).close()


def test_a_real_disk_limit(tmp_path: Path) -> None:
    """A process that may not write more: 503, answers as before, and all is there afterwards."""
    (tmp_path / "pipeline.toml").write_text(PIPELINE)
    place = str(tmp_path / "sock")
    command = [sys.executable, "-m", "slidefold.cli", "serve", str(tmp_path / "pipeline.toml")]
    command += ["--socket", place, "--state", str(tmp_path / "state")]
    command = ["sh", "-c", 'ulimit -f 40; exec "$@"', "sh", *command]  # blocks of 512 bytes
    # -B: Python 3.11 would leave modules that it compiles cut off at the limit, for everybody.
    command.insert(command.index("-m"), "-B")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    taken = 0
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("serving")
        process.stdout.close()
        with Client(place) as client:
            with pytest.raises(RefusedError, match="could not be written") as refused:  # noqa: PT012
                for number in range(200):
                    client.send({**EVENT, "id": number})
                    taken += 1
            assert refused.value.status == 503
            for _ in range(3):
                assert client.ask({"card": "a"})["n"] == taken
                with pytest.raises(RefusedError, match="503"):
                    client.send({**EVENT, "id": 999})
            assert client.health()["refused"] == 4
    finally:
        process.terminate()
        assert process.wait(30) == 0
    assert taken > 10
    service = Service(settings(id="id"), tmp_path / "state")
    assert service.ask({"card": "a"})["n"] == taken
    assert service.submit({**EVENT, "id": 999}).result()["accepted"] == 1
    service.close()


def test_late_events_and_records_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer goes on if a file beside the log cannot be written."""
    late, record = tmp_path / "no folder" / "late.jsonl", tmp_path / "record"
    service = Service(settings(late=late, record=record), tmp_path / "state")
    service.submit(EVENT).result()
    assert service.submit({**EVENT, "t": 5}).result()["late"] == 1
    assert service.status()["lost_late"] == 1
    monkeypatch.setattr(recorders, "_ROWS", 1)
    write = Recorder._write
    monkeypatch.setattr(Recorder, "_write", full)
    for number in range(2, 6):
        assert service.submit({**EVENT, "id": number}).result()["accepted"] == 1
        assert service.ask({"card": "a"})["n"] == number
    until(lambda: service.recorder is not None and service.recorder.failing)
    monkeypatch.setattr(Recorder, "_write", write)
    service.close()
    recorded = [pq.read_table(path) for path in sorted(record.glob("events-*"))]
    assert [i for table in recorded for i in table["id"].to_pylist()] == [1, 2, 3, 4, 5]
    assert sum(len(pq.read_table(path)) for path in record.glob("answers-*")) == 4


def test_questions_do_not_wait_for_recorded_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow disk delays neither those who ask nor events, and a quiet service writes as well."""
    monkeypatch.setattr(recorders, "_SECONDS", 0.05)
    go, began, write = threading.Event(), threading.Event(), Recorder._write

    def slow(self: Recorder, name: str, table: Any) -> None:
        began.set()
        assert go.wait(20)
        write(self, name, table)

    monkeypatch.setattr(Recorder, "_write", slow)
    service = Service(settings(record=tmp_path / "record"))
    service.submit(EVENT).result(10)
    service.ask({"card": "a"})
    assert began.wait(20)
    for number in range(2, 6):
        service.submit({**EVENT, "id": number}).result(10)
        assert service.ask({"card": "a"})["n"] == number
    go.set()
    until(lambda: not service.recorder._answers and not service.recorder._events)  # type: ignore[union-attr]
    answers = [pq.read_table(path) for path in sorted((tmp_path / "record").glob("answers-*"))]
    assert [n for table in answers for n in table["n"].to_pylist()] == [1, 2, 3, 4, 5]
    service.close()


def test_a_long_full_disk_loses_the_oldest_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "_MOST", 3)
    monkeypatch.setattr(Recorder, "_write", full)
    service = Service(settings(record=tmp_path / "record"))
    for number in range(1, 6):
        service.submit({**EVENT, "id": number}).result(10)
        service.ask({"card": "a"})
    with pytest.raises(OSError):
        service.recorder.flush()  # type: ignore[union-attr]
    assert service.status()["lost_answers"] == 2
    monkeypatch.undo()
    service.close()
    (answers,) = [pq.read_table(path) for path in (tmp_path / "record").glob("answers-*")]
    assert answers["n"].to_pylist() == [3, 4, 5]


def test_a_snapshot_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "SNAPSHOT_BYTES", 1)
    service = Service(settings(), tmp_path)
    monkeypatch.setattr(State, "save", full)
    for number in range(3):
        service.submit({**EVENT, "id": number}).result()
    until(lambda: service.status()["failed_snapshots"] == 3)  # after the answer
    service.close()
    monkeypatch.undo()
    service = Service(settings(), tmp_path)
    assert service.ask({"card": "a"})["n"] == 3
    service.close()


def test_after_an_error_inside_nothing_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that is logged and not folded must not be missing from later answers."""
    service = Service(settings(), tmp_path)
    service.submit(EVENT).result()
    hook: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", hook.append)

    def broken(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(service.state.live, "accept", broken)
    with pytest.raises(DiskError, match="start it again"):
        service.submit(EVENT).result(20)
    until(lambda: bool(hook))
    with pytest.raises(DiskError, match="start it again"):
        service.submit(EVENT)
    assert service.ask({"card": "a"})["n"] == 1
    service.close()
    service = Service(settings(), tmp_path)
    assert service.ask({"card": "a"})["n"] == 2
    service.close()


def test_the_size_of_a_log_while_files_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread removes files when a snapshot is whole."""
    log = Log(tmp_path)
    list(log.recover(0))
    log.append([b"one"])
    for path in tmp_path.glob("*.log"):
        path.unlink()
    assert log.nbytes > 0
    log.close()


def test_a_log_that_ends_before_the_snapshot(tmp_path: Path) -> None:
    """The end of a log was damaged after a snapshot: the snapshot knows those events."""
    rng = random.Random(1)
    service = Service(settings(), tmp_path)
    for number in range(5):
        service.submit(events(rng, 3, 3 * number)).result()
    service.close()
    path = next(tmp_path.glob("*.log"))
    path.write_bytes(path.read_bytes()[:-5])
    for number in range(5, 9):
        service = Service(settings(), tmp_path)
        service.submit(events(rng, 3, 3 * number)).result()
        assert service.position == number + 1
        assert service.status()["rows"] > 0
        service.close()


def test_records_that_were_written_together_are_torn_together(tmp_path: Path) -> None:
    """A power cut may leave a later page of one write and not an earlier one."""
    log = Log(tmp_path)
    list(log.recover(0))
    log.append([b"first"])
    start = log.nbytes
    log.append([b"second", b"third"])
    log.close()
    path = next(tmp_path.glob("*.log"))
    content = bytearray(path.read_bytes())
    content[start] ^= 1
    path.write_bytes(bytes(content))
    again = Log(tmp_path)
    assert [data for _, data in again.recover(0)] == [b"first"]
    assert again.append([b"other"]) == 2
    again.close()
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(StateError, match="damaged at byte 0"):
        list(Log(tmp_path).recover(0))


def test_a_failed_write_that_cannot_be_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path)
    list(log.recover(0))
    log.append([b"one"])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        patch.setattr(os, "ftruncate", full)
        with pytest.raises(OSError, match="No space"):
            log.append([b"refused"])
    assert log.append([b"two"]) == 2
    log.close()
    again = Log(tmp_path)
    assert [data for _, data in again.recover(0)] == [b"one", b"two"]
    again.close()


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_a_file_that_never_stops_growing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Whole lines are taken at once; half a line is taken when the rest of it is there."""
    monkeypatch.setattr(following, "_SECONDS", 0.02)
    monkeypatch.setattr(following, "_BLOCK", 300)
    rows = events(random.Random(1), 120)
    header = "t,card,amount,id\n" if kind == "csv" else ""
    text = [json.dumps(row) if kind == "json" else ",".join(map(str, row.values())) for row in rows]
    (tmp_path / "in").mkdir()
    (tmp_path / "p.toml").write_text(FILES.replace('format = "json"', f'format = "{kind}"'))
    file = tmp_path / "in" / f"a.{kind}"
    file.write_text(header + "".join(f"{line}\n" for line in text[:10]))
    service, stop = opened(tmp_path)
    assert service.counts["events"] == 10
    with file.open("a") as grows:
        for line in text[10:60]:  # it changes between any two looks
            for part in (line[: len(line) // 2], line[len(line) // 2 :] + "\n"):
                grows.write(part)
                grows.flush()
                time.sleep(0.005)
        until(lambda: service.counts["events"] == 60)
        stop.set()
        service.close()
        grows.write("".join(f"{line}\n" for line in text[60:]) + "broken,,,,\n")
    service, stop = opened(tmp_path)
    until(lambda: service.counts["events"] == 60)  # of this start
    assert service.counts["broken"] == 1
    lineno = 122 if kind == "csv" else 121
    assert f"a.{kind}, line {lineno}:" in service.latest[0]["reason"]
    assert sum(service.ask({"card": card})["n"] for card in "abc") + service.counts["late"] <= 120
    assert len(service.state.seen) == 120
    stop.set()
    service.close()


def test_a_last_line_without_a_line_break(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "p.toml").write_text(FILES)
    file = tmp_path / "in" / "a.json"
    file.write_text(lines(events(random.Random(1), 3)).rstrip("\n"))
    service, stop = opened(tmp_path)
    assert service.counts["events"] == 2  # somebody may still write the last line
    stop.set()
    service.close()
    os.utime(file, (1, 1))
    service, stop = opened(tmp_path)
    assert len(service.state.seen) == 3
    stop.set()
    service.close()


def test_rows_of_files_wait_for_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_SECONDS", 0.02)
    monkeypatch.setattr(following, "_ROWS", 20)
    (tmp_path / "in").mkdir()
    (tmp_path / "p.toml").write_text(FILES)
    rows = events(random.Random(1), 100)
    (tmp_path / "in" / "a.json").write_text(lines(rows[:10]))
    service, stop = opened(tmp_path)
    write, tries = os.write, []

    def sometimes(file: int, data: bytes) -> int:
        tries.append(file)
        return full() if len(tries) in (2, 3, 5) else write(file, data)

    monkeypatch.setattr(os, "write", sometimes)
    with (tmp_path / "in" / "a.json").open("a") as file:
        file.write(lines(rows[10:]))
    until(lambda: len(service.state.seen) == 100)
    assert service.counts["events"] == 100
    stop.set()
    service.close()
