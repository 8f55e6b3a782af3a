"""A service in this process: events, questions, restarts, and what it refuses."""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import DataError, DefinitionError, SlidefoldError, StateError, ValueTypeError
from slidefold.serve import Client
from slidefold.serve import service as services
from slidefold.serve.app import make_app
from slidefold.serve.rows import ARROW, arrow_bytes, table_of
from slidefold.serve.service import Service, Settings
from tests.serve.support import FEATURES, SCHEMA, called, events, serving, settings, until


def live_answers(accepted: list[dict[str, Any]], question: dict[str, Any]) -> Any:
    live = FEATURES.live(lateness=100, emit="arrival", schema=SCHEMA)
    for event in accepted:
        live.push(event)
    return live.ask(question)


def test_answers_are_those_of_live_and_survive_restarts(tmp_path: Path) -> None:
    rng = random.Random(3)
    sent: list[dict[str, Any]] = []
    service = Service(settings(id="id"), tmp_path)
    for round_ in range(6):
        batch = events(rng, 30, 30 * round_)
        done = service.submit(batch).result()
        assert done["accepted"] + done["late"] == 30
        again = service.submit(batch[-3:]).result()
        assert again["accepted"] == 0  # known by their ids, or late by now
        sent += batch
        if round_ % 2:
            service.close()
            service = Service(settings(id="id"), tmp_path)
        elif round_ == 2:
            service.snapshot()
        for card in "abcz":
            assert service.ask({"card": card}) == live_answers(sent, {"card": card})
    service.close()
    assert len(list(tmp_path.glob("snapshot-*.state"))) <= 2


def test_a_damaged_snapshot_falls_back_to_the_one_before(tmp_path: Path) -> None:
    rng = random.Random(4)
    service = Service(settings(), tmp_path)
    first, second = events(rng, 20), events(rng, 20, 20)
    service.submit(first).result()
    service.snapshot()
    service.submit(second).result()
    expected = service.ask({"card": "a"})
    service.close()
    newest = max(tmp_path.glob("snapshot-*.state"))
    newest.write_bytes(newest.read_bytes()[:-20])
    restarted = Service(settings(), tmp_path)
    assert restarted.ask({"card": "a"}) == expected
    restarted.close()


def test_another_definition_is_refused(tmp_path: Path) -> None:
    service = Service(settings(), tmp_path)
    service.submit(events(random.Random(1), 3)).result()
    service.close()
    other = settings()
    other.features = sf.rolling(on="t", by="card", n=sf.count().over(3))
    for path in tmp_path.glob("*.log"):
        path.unlink()
    with pytest.raises(StateError, match="different definition"):
        Service(other, tmp_path)


def test_what_is_refused_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(settings())
    for wrong, error, said in (
        ({"t": 1}, SlidefoldError, "'card' is missing|'amount' is missing|'id' is missing"),
        ({"t": "x", "card": "a", "amount": 1, "id": 1}, ValueTypeError, "'t' must be int64"),
        ({"t": None, "card": "a", "amount": 1, "id": 1}, DataError, "'t' is null"),
        ([{"t": 1, "card": "a", "amount": 1, "id": 1}, 7], DataError, "row must be a JSON object"),
    ):
        with pytest.raises(error, match=said):
            service.submit(wrong)
    assert service.status()["rows"] == 0
    monkeypatch.setattr(services, "MOST_WAITING", 1)
    with service._turns:  # the writer waits for its turn
        one = {"t": 1, "card": "a", "amount": 1.0, "id": 1}
        taken = [service.submit(one)]
        until(lambda: bool(service._turns._waiting))  # the writer has taken the first one
        taken.append(service.submit(one))
        with pytest.raises(services.BusyServiceError, match="wait already"):
            service.submit(one)
    for each in taken:
        each.result()
    service.close()
    with pytest.raises(DefinitionError, match="leave every= out"):
        Service(services.Settings(sf.rolling(on="t", every=2, n=sf.count().over(3)), SCHEMA, 1))


def test_http(tmp_path: Path) -> None:
    service = Service(settings(about={"pipeline": "p.toml"}))
    with serving(make_app(service, token="secret", largest=10_000), tmp_path / "sock") as place:
        assert called(place, "GET", "/health")[0] == 401
        call = partial(called, place, token="secret")
        event = {"t": 1, "card": "a", "amount": 2.0, "id": 1}
        client = Client(place, token="secret")
        assert client.send(event)["accepted"] == 1
        lines = b'{"t":2,"card":"a","amount":3,"id":2}\n\n{"t":3,"card":"b","amount":1,"id":3}\n'
        status, body = call("POST", "/events", lines, "application/x-ndjson")
        assert (status, json.loads(body)["accepted"]) == (200, 2)
        assert client.ask({"card": "a"})["spent"] == 5.0
        assert client.ask([{"card": "b"}])[0]["spent"] == 1.0
        assert client.ask({**event, "t": 4}, include=True)["spent"] == 7.0
        asked = arrow_bytes(pa.table({"card": ["a", "z"]}))
        with pa.ipc.open_stream(call("POST", "/ask", asked, ARROW)[1]) as reader:
            assert reader.read_all()["spent"].to_pylist() == [5.0, None]
        assert client.features()["definition"] == FEATURES.to_dict()
        assert client.health()["events"] == 3
        assert b"slidefold_ask_seconds" in call("GET", "/metrics")[1]
        assert "/ask" in json.loads(call("GET", "/openapi.json")[1])["paths"]
        page = call("GET", "/")[1]
        assert b"EventSource" in page
        assert b"http" not in page  # nothing comes from elsewhere
        status, body = call("POST", "/events", json.dumps({**event, "amount": "much"}).encode())
        assert status == 422
        assert json.loads(body)["row"] == 0
        assert "'amount' must be double" in json.loads(body)["error"]
        assert call("POST", "/events", b"{")[0] == 422
        assert call("POST", "/ask", b"x" * 20_000)[0] == 413
        assert call("POST", "/events", b"x", "a/b")[0] == 415
        assert call("GET", "/nothing")[0] == 404
        client.close()


def test_another_watermark_or_other_columns(tmp_path: Path) -> None:
    """The log is folded again with another watermark if all of it is there."""
    service = Service(settings(), tmp_path)
    for t in (1000, 950):
        service.submit({"t": t, "card": "a", "amount": 1.0, "id": t}).result()
    assert service.ask({"card": "a"})["n"] == 2
    service.close()
    other = settings()
    other.lateness = 10
    service = Service(other, tmp_path)
    assert service.ask({"card": "a"})["n"] == 1
    assert service.submit({"t": 980, "card": "a", "amount": 1.0, "id": 3}).result()["late"] == 1
    service.close()
    wider = settings()
    wider.schema = SCHEMA.append(pa.field("more", pa.int64()))
    with pytest.raises(StateError, match="other columns than the pipeline: the column 'more'"):
        Service(wider, tmp_path)
    for path in tmp_path.glob("*.log"):
        path.unlink()
    with pytest.raises(StateError, match="has the watermark 10, but the pipeline has 100"):
        Service(settings(), tmp_path)


def test_snapshots_of_killed_services_are_removed(tmp_path: Path) -> None:
    service = Service(settings(), tmp_path)
    for number in range(4):
        service.submit({"t": 1000, "card": "a", "amount": 1.0, "id": number}).result()
        service.state.save(tmp_path)
    service._locked.close()  # as if it had been killed
    assert len(list(tmp_path.glob("snapshot-*"))) == 4
    again = Service(settings(), tmp_path)
    assert len(list(tmp_path.glob("snapshot-*"))) == 2
    assert again.ask({"card": "a"})["n"] == 4
    again.close()


def test_the_newest_time_is_one_that_may_be_asked_for() -> None:
    for kind, given in ((pa.timestamp("us", "UTC"), "2026-03-01T10:00:00Z"), (pa.int64(), 5)):
        schema = pa.schema({"t": kind, "k": pa.string()})
        service = Service(Settings(sf.rolling(on="t", by="k", n=sf.count().over(3)), schema, 0))
        service.submit({"t": given, "k": "a"}).result()
        newest = service.status()["newest"]
        assert newest == ("5" if given == 5 else "2026-03-01T10:00:00.000000Z")
        asked = table_of({"t": given if given == 5 else newest, "k": "a"}, schema, frozenset("tk"))
        assert service.ask(asked)["n"].to_pylist() == [1]
        service.close()
