"""A service follows files, records its answers, keeps late events, and writes snapshots."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidefold as sf
from slidefold.errors import DefinitionError, PipelineError
from slidefold.pipeline import load
from slidefold.serve import follow as following
from slidefold.serve import service as services
from slidefold.serve.audit import audit
from slidefold.serve.recorder import POSITION
from slidefold.serve.run import settings_of
from slidefold.serve.service import Service, Settings
from slidefold.serve.turns import Turns
from tests.serve.support import FEATURES, PIPELINE, SCHEMA, events, settings, until

FILES = PIPELINE.replace(
    'schema = { t = "int64", card = "string", amount = "double", id = "int64" }',
    'path = "in"\nformat = "json"',
)


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def opened(folder: Path) -> tuple[Service, threading.Event]:
    loaded = load(folder / "p.toml", writes=False, serves=True, state=folder / "state")
    service = Service(settings_of(loaded), folder / "state")
    stop = threading.Event()
    following.follow(loaded, service, stop)
    return service, stop


def test_files_are_followed_once_also_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_SECONDS", 0.05)
    (tmp_path / "in").mkdir()
    (tmp_path / "p.toml").write_text(FILES)
    rng = random.Random(1)
    rows = events(rng, 700)
    (tmp_path / "in" / "a.json").write_text(lines(rows[:300]))
    service, stop = opened(tmp_path)
    assert service.counts["events"] == 300  # before it answers anything
    (tmp_path / "in" / "b.json").write_text(lines(rows[300:500]))
    until(lambda: service.counts["events"] == 500)
    with (tmp_path / "in" / "b.json").open("a") as file:  # it grows
        file.write(lines(rows[500:600]))
    until(lambda: service.counts["events"] == 600)
    stop.set()
    service.close()
    (tmp_path / "in" / "c.json").write_text(lines(rows[600:]) + "broken\n")
    service, stop = opened(tmp_path)
    until(lambda: service.state.files.keys() == {"a.json", "b.json", "c.json"})
    live = FEATURES.live(lateness=100, emit="arrival", schema=SCHEMA)
    for part in (rows[:300], rows[300:500], rows[500:600], rows[600:]):
        for at in range(0, len(part), services.PART):
            live.feed(pa.Table.from_pylist(part[at : at + services.PART], SCHEMA))
    for card in "abc":
        assert service.ask({"card": card}) == live.ask({"card": card})
    assert service.counts["broken"] >= 1
    stop.set()
    service.close()


def test_recorded_answers_are_right_and_survive_a_restart(tmp_path: Path) -> None:
    rng = random.Random(2)
    record = tmp_path / "record"
    for round_ in range(2):
        service = Service(settings(record=record), tmp_path / "state")
        for number in range(20):
            first = 400 * round_ + 20 * number
            service.submit(events(rng, 20, first)).result()
            for card in "abz":
                answer = service.ask({"card": card})
                assert set(answer) == set(FEATURES.columns)
            service.ask([{"card": "a", "t": 10 * first + 500}])
            service.ask(pa.table({"card": ["c"]}))
        service.close()
    answers = pa.concat_tables(pq.read_table(path) for path in sorted(record.glob("answers-*")))
    taken = pa.concat_tables(pq.read_table(path) for path in sorted(record.glob("events-*")))
    assert len(answers) == 2 * 20 * 5
    assert answers["t"].null_count == 0
    report = audit(FEATURES, answers, taken, known=POSITION, asked=POSITION)
    assert report.differences == ()
    wrong = settings(record=record)
    wrong.schema = SCHEMA.append(pa.field(POSITION, pa.int64()))
    with pytest.raises(DefinitionError, match="which recording adds"):
        Service(wrong)


@pytest.mark.parametrize(
    ("kind", "over"),
    [
        (pa.int32(), sf.time(3)),
        (pa.date32(), "3d"),
        (pa.timestamp("s"), "3d"),
        (pa.timestamp("us", "UTC"), "3d"),
        (pa.timestamp("ns", "Europe/Berlin"), "3d"),
    ],
    ids=str,
)
def test_answers_at_times_of_every_type_are_recorded(tmp_path: Path, kind: Any, over: Any) -> None:
    whole = pa.types.is_integer(kind)
    zone = "T00:00:00Z" if getattr(kind, "tz", None) else ""
    times: list[Any] = [day if whole else f"2026-03-{day}{zone}" for day in (26, 28, 31)]
    schema = pa.schema({"t": kind, "k": pa.string(), "x": pa.int64()})
    features = sf.rolling(on="t", by="k", s=sf.sum("x").over(over), n=sf.count().over("lifetime"))
    record = tmp_path / "record"
    service = Service(Settings(features, schema, 3 if whole else over, record=record))
    assert service.ask({"k": "a"}) == {"s": None, "n": None}  # there is no time yet
    assert service.ask([]) == []
    for place, at in enumerate(times):
        service.submit({"t": at, "k": "a", "x": 1 << place}).result()
        # The 28th is three days before the 31st, which is outside.
        expected = {"s": (1, 3, 4)[place], "n": place + 1}
        assert service.ask({"k": "a"}) == expected
        assert service.ask([{"k": "a", "t": at}]) == [expected]
        assert service.ask({"t": at, "k": "a", "x": 8}, include=True)["s"] == expected["s"] + 8
    service.close()
    answers = pa.concat_tables(pq.read_table(path) for path in record.glob("answers-*"))
    taken = pa.concat_tables(pq.read_table(path) for path in record.glob("events-*"))
    assert answers["t"].cast(taken["t"].type).to_pylist() == [
        at for at in taken["t"].to_pylist() for _ in range(2)
    ]
    assert audit(features, answers, taken, known=POSITION, asked=POSITION).differences == ()


def test_late_events_are_kept_aside(tmp_path: Path) -> None:
    service = Service(settings(late=tmp_path / "late.jsonl"), tmp_path / "state")
    row = {"t": 1000, "card": "a", "amount": 1.0, "id": 1}
    service.submit(row).result()
    done = service.submit([{**row, "t": 5}, {**row, "t": 999}]).result()
    assert (done["accepted"], done["late"]) == (1, 1)
    service.close()
    kept = (tmp_path / "late.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in kept] == [{**row, "t": 5}]
    Service(settings(late=tmp_path / "late.jsonl"), tmp_path / "state").close()
    assert len((tmp_path / "late.jsonl").read_text().splitlines()) == 1  # not written again


def test_another_process_writes_snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "SNAPSHOT_BYTES", 10_000)
    (tmp_path / "p.toml").write_text(PIPELINE)
    loaded = load(tmp_path / "p.toml", writes=False, serves=True)
    service = Service(settings_of(loaded), tmp_path / "state")
    rng = random.Random(5)
    number = 0
    while service.counts["snapshots"] < 2:
        service.submit(events(rng, 30, number)).result()
        number += 30
        time.sleep(0.01)
        assert service.counts["failed_snapshots"] == 0
    expected = {card: service.ask({"card": card}) for card in "abc"}
    position = service.position
    # As after a crash: nothing is closed.
    (tmp_path / "copy").mkdir()
    for path in (tmp_path / "state").iterdir():
        if path.suffix in (".state", ".log"):
            (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    again = Service(settings_of(loaded), tmp_path / "copy")
    assert again.position == position
    assert {card: again.ask({"card": card}) for card in "abc"} == expected
    done = again.submit(events(random.Random(5), 30, 0)).result()
    assert done["accepted"] == 0  # ids are in the snapshot too
    again.close()
    service.close()


def test_places_must_not_overlap(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text(lines(events(random.Random(1), 3)))
    (tmp_path / "p.toml").write_text(FILES.replace('id = "id"', 'record = "in/answers"'))
    with pytest.raises(PipelineError, match=r"serve\.record"):
        load(tmp_path / "p.toml", writes=False, serves=True)
    (tmp_path / "p.toml").write_text(FILES)
    with pytest.raises(PipelineError, match="the source"):
        load(tmp_path / "p.toml", writes=False, serves=True, state=tmp_path / "in")
    (tmp_path / "p.toml").write_text(FILES.replace('id = "id"', 'id = "amount"'))
    with pytest.raises(PipelineError, match="integers or strings, got double"):
        settings_of(load(tmp_path / "p.toml", writes=False, serves=True))


def test_turns_are_in_order() -> None:
    turns, order = Turns(), []

    def take(name: int) -> None:
        with turns:
            order.append(name)

    threads = []
    with turns:
        for name in range(5):
            thread = threading.Thread(target=take, args=(name,))
            thread.start()
            threads.append(thread)
            until(lambda name=name: len(turns._waiting) == name + 1)  # type: ignore[misc]
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_a_service_that_follows_files_stops_without_a_trace(tmp_path: Path) -> None:
    """Its follower is gone before Python ends, and holds nothing then."""
    (tmp_path / "in").mkdir()
    (tmp_path / "p.toml").write_text(FILES)
    (tmp_path / "in" / "a.json").write_text(lines(events(random.Random(1), 300)))
    command = [sys.executable, "-m", "slidefold.cli", "serve", "p.toml", "--socket", "sock"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("serving")
    process.terminate()
    assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == 0


def test_a_follower_ends_with_a_service_that_takes_no_more(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "p.toml").write_text(FILES)
    (tmp_path / "in" / "a.json").write_text(lines(events(random.Random(1), 30)))
    loaded = load(tmp_path / "p.toml", writes=False, serves=True)
    service, stop = Service(settings_of(loaded)), threading.Event()
    thread = following.follow(loaded, service, stop)
    service.close()
    (tmp_path / "in" / "b.json").write_text(lines(events(random.Random(1), 30)))
    time.sleep(1.5)  # it tries to hand them over
    stop.set()
    thread.join(5)
    assert not thread.is_alive()
