"""What a request may contain, and how the service refuses the rest."""

from __future__ import annotations

import json
import random
import re
import socket
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.errors import DataError, UsageError, ValueTypeError
from slidefold.pipeline import load
from slidefold.serve import Client
from slidefold.serve import app as apps
from slidefold.serve.app import make_app
from slidefold.serve.client import RefusedError
from slidefold.serve.rows import ARROW, arrow_bytes, as_json, table_of
from slidefold.serve.run import serve, settings_of
from slidefold.serve.service import Service, Settings
from tests.serve.support import PIPELINE, called, serving, settings

EVENT = {"t": 1000, "card": "a", "amount": 1.5, "id": 1}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("requests")
    with serving(make_app(Service(settings())), folder / "sock") as found:
        yield found


def text_of(**changes: Any) -> bytes:
    return json.dumps({**EVENT, **changes}).encode()


BROKEN = [
    # Arrow alone would make 1 of 1.5 and of true.
    (text_of(id=1.5), "'id' must be int64, got 1.5"),
    (text_of(id=True), "'id' must be int64, got True"),
    (text_of(amount=True), "'amount' must be double, got True"),
    (text_of(amount="2"), "'amount' must be double, got '2'"),
    (text_of(card=5), "'card' must be string, got 5"),
    (text_of(t=None), "'t' is null"),
    (text_of(id=2**63), "'id' must be int64"),
    (text_of(amount=float("nan")), "'amount' must be a finite double, got nan"),
    (text_of(amount=float("-inf")), "'amount' must be a finite double, got -inf"),
    (text_of().replace(b"1.5", b"1e999"), "'amount' must be a finite double, got inf"),
    (text_of().replace(b'"id"', b'"t"'), "has an object with the field 't' twice"),
    (text_of(more=1), "there is no field 'more'"),
    (b'{"t": 1}', "is missing"),
    (b'{"t": 1000, "card": "\xff", "amount": 1, "id": 1}', "is not JSON"),
    (b'{"t": 1000, "card": "\\ud800", "amount": 1, "id": 1}', "'card' must be string"),
    (b"[" * 100_000, "is not JSON"),
    (b'{"t": ' + b"9" * 10_000 + b"}", "is not JSON"),
    (b"", "is not JSON"),
    (b"null", "must be a JSON object"),
]


def test_broken_events_are_refused(place: str) -> None:
    before = json.loads(called(place, "GET", "/health")[1])["events"]
    for body, said in BROKEN:
        for sent in (body, b"[" + body + b"]") if body else (body,):
            status, answer = called(place, "POST", "/events", sent)
            assert status == 422, sent[:100]
            assert said in json.loads(answer)["error"], sent[:100]
            assert b"Traceback" not in answer
    assert json.loads(called(place, "GET", "/health")[1])["events"] == before


def test_numbers_that_are_whole_are_integers(place: str) -> None:
    assert called(place, "POST", "/events", text_of(t=1000.0, id=2.0, amount=3))[0] == 200
    with Client(place) as client:
        assert client.ask({"card": "a", "t": 1000.0})["spent"] >= 3


def test_other_bodies(place: str) -> None:
    post = partial(called, place, "POST")
    assert post("/events", text_of(), "text/plain")[0] == 415
    assert json.loads(post("/events", b"[]")[1])["accepted"] == 0
    assert post("/ask", b"[]") == (200, b"[]")
    table = pa.table({name: [value] for name, value in EVENT.items()})
    assert post("/events", arrow_bytes(table), ARROW)[0] == 200
    twice = arrow_bytes(table.append_column("t", pa.array([1])))
    status, answer = post("/events", twice, ARROW)
    assert (status, json.loads(answer)["error"]) == (422, "the column 't' is there twice")
    nothing = arrow_bytes(table.set_column(0, "t", pa.array([None], pa.int64())))
    assert b"'t' is null" in post("/events", nothing, ARROW)[1]


def test_damaged_arrow_bodies_end_in_an_answer(place: str) -> None:
    good = arrow_bytes(pa.table({name: [value] * 5 for name, value in EVENT.items()}))
    rng = random.Random(1)
    for _ in range(100):
        body = bytearray(good)
        for _ in range(rng.randrange(1, 4)):
            body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
        assert called(place, "POST", "/events", bytes(body), ARROW)[0] in (200, 422)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"card": "a", "t": 1000.5}, "'t' must be int64, got 1000.5"),
        ({"card": "a", "t": True}, "'t' must be int64, got True"),
        ({"card": 5}, "'card' must be string, got 5"),
        ({"card": "a", "amount": "x"}, "'amount' must be double, got 'x'"),
        ({}, "'card' is missing"),
        ({"card": "a", "crd": 1}, "no field 'crd'; did you mean 'card'"),
    ],
)
def test_broken_questions_are_refused(place: str, question: Any, said: str) -> None:
    for asked in (question, [question]):
        with Client(place) as client, pytest.raises(RefusedError, match="422") as error:
            client.ask(asked)
        assert said in str(error.value)
        assert (error.value.status, error.value.row) == (422, 0)


def test_late_events_have_no_answer(place: str) -> None:
    service = Service(settings())
    service.submit({**EVENT, "t": 50_000}).result()
    for asked in (dict, lambda event: [event], lambda event: pa.Table.from_pylist([event])):
        with pytest.raises(DataError, match="would be late"):
            service.ask(asked({**EVENT, "t": 49_900}), include=True)
    assert service.ask({**EVENT, "t": 49_901}, include=True)["spent"] == 1.5
    service.close()
    assert called(place, "POST", "/ask?include=yes", b"{}")[0] == 422


def test_what_a_row_is_compared_with_is_asked_for() -> None:
    features = sf.rolling(on="t", by="k", place=sf.rank("x").over(sf.time(100)))
    schema = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.float64()})
    service = Service(Settings(features, schema, 10))
    service.submit([{"t": n, "k": "a", "x": float(n)} for n in range(5)]).result()
    assert service.asked == {"k", "x"}
    assert service.ask({"k": "a", "x": 10.0}) == {"place": 6.0}
    service.close()


def test_paths_and_pages_of_other_places(place: str) -> None:
    assert json.loads(called(place, "GET", "/nothing")[1]) == {"error": "GET /nothing: not found"}
    assert called(place, "PUT", "/ask")[0] == 405
    for origin, status in (("http://evil.example", 403), ("http://localhost", 200)):
        connection = Client(place)._connected()
        connection.request("GET", "/health", headers={"origin": origin})
        assert connection.getresponse().status == status
        connection.close()


def test_too_many_bytes_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "MOST", 100)
    with serving(make_app(Service(settings()), largest=1000), tmp_path / "sock") as place:
        connection = Client(place)._connected()
        connection.request("POST", "/events", b"x" * 500)
        response = connection.getresponse()
        assert (response.status, response.headers["retry-after"]) == (429, "1")
        connection.close()
        assert called(place, "POST", "/events", b"x" * 2000)[0] in (413, 429)
        assert called(place, "POST", "/events", text_of())[0] == 200  # the room is free again


def test_the_document_describes_every_path(place: str) -> None:
    document = json.loads(called(place, "GET", "/openapi.json")[1])
    assert document["paths"].keys() == {"/events", "/ask", "/features", "/health", "/metrics"}
    schemas = document["components"]["schemas"]
    references = {
        text.split('"')[0] for text in json.dumps(document).split('"#/components/schemas/')[1:]
    }
    assert references <= schemas.keys()
    assert schemas["Event"]["required"] == ["t", "card", "amount", "id"]
    assert schemas["Event"]["properties"]["amount"]["type"] == ["number", "null"]
    assert schemas["Question"]["required"] == ["card"]


def test_decimals_are_read_by_their_digits() -> None:
    schema = pa.schema({"x": pa.decimal128(12, 2)})
    read = partial(table_of, schema=schema, needed=frozenset("x"))
    given = ["1.10", 1.1, 7, "-0.5", 1e3, None]
    for rows in ([{"x": value} for value in given], [{"x": 2.5}]):
        found = read(rows)["x"].to_pylist()
        assert found == [None if r["x"] is None else Decimal(str(r["x"])) for r in rows]
    for wrong in ("1.123", 1.123, "abc", "NaN", float("nan"), True, [1], 10**20):
        with pytest.raises(ValueTypeError, match=r"'x' must be .*decimal128") as error:
            read([{"x": 1}, {"x": wrong}])
        assert error.value.row == 1


def test_whole_numbers_of_any_size_are_doubles() -> None:
    schema = pa.schema({"x": pa.float64()})
    for value in (2**53 + 1, -(2**63), 2**70, 10**300):
        rows = [{"x": value}, {"x": 0.5}, {"x": None}]
        assert table_of(rows, schema, frozenset())["x"].to_pylist() == [float(value), 0.5, None]
    with pytest.raises(ValueTypeError, match="must be double"):
        table_of({"x": 10**400}, schema, frozenset())
    with pytest.raises(ValueTypeError, match="must be float, got 1e"):  # it would be infinite
        table_of({"x": 1e300}, pa.schema({"x": pa.float32()}), frozenset())


def test_tables_are_read_as_strictly_as_json() -> None:
    second = pa.timestamp("s", "UTC")
    ok = [
        (pa.array([2], pa.int8()), pa.int64()),
        (pa.array([2.0]), pa.int16()),
        (pa.array([2**60]), pa.float32()),
        (pa.array([1.1]), pa.decimal128(12, 2)),
        (pa.array(["a"]).dictionary_encode(), pa.string()),
        (pa.array(["a"], pa.large_string()), pa.string()),
        (pa.nulls(1), pa.string()),
        (pa.array([5]), second),
        (pa.array([5], pa.timestamp("s", "Europe/Berlin")), second),
        (pa.array([date(2026, 1, 2)], pa.date64()), pa.date32()),
    ]
    for values, kind in ok:
        found = table_of(pa.table({"x": values}), pa.schema({"x": kind}), frozenset())
        assert found["x"].to_pylist()[0] == values.cast(kind, safe=False)[0].as_py()
    wrong = [
        (pa.array(["2.5"]), pa.float64()),
        (pa.array(["true"]), pa.bool_()),
        (pa.array([2]), pa.bool_()),
        (pa.array([True]), pa.int64()),
        (pa.array([5]), pa.string()),
        (pa.array(["2026-01-01"]), pa.date32()),
        (pa.array([5], pa.timestamp("s")), second),
        (pa.array([5], second), pa.timestamp("s")),
        (pa.array([70_000]), pa.int16()),
        (pa.array([1.5]), pa.int64()),
        (pa.array([None, 1.234]), pa.decimal128(12, 2)),
        (pa.array([None, float("nan")]), pa.float64()),
        (pa.array([None, 1e300]), pa.float32()),
    ]
    for values, kind in wrong:
        with pytest.raises(ValueTypeError, match="the column 'x' must be") as error:
            table_of(pa.table({"x": values}), pa.schema({"x": kind}), frozenset())
        assert error.value.row == (1 if len(values) == 2 else None)


def test_places_where_nobody_can_listen(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PIPELINE)
    run = partial(serve, tmp_path / "p.toml", state=tmp_path / "state")
    with pytest.raises(UsageError, match="needs --token"):
        run(host="0.0.0.0")
    with pytest.raises(UsageError, match="there is no such folder"):
        run(socket=tmp_path / "no" / "sock")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="there is a file"):
        run(socket=tmp_path / "file")
    with pytest.raises(UsageError, match="ports are 1 to 65535"):
        run(port=99_999)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(UsageError, match="already in use"):
            run(port=other.getsockname()[1])
    listening = serving(make_app(Service(settings())), tmp_path / "sock")
    with listening, pytest.raises(UsageError, match="another service listens"):
        run(socket=tmp_path / "sock")
    assert not (tmp_path / "state").exists()  # nothing was opened


def test_answers_as_json() -> None:
    row = {
        "x": 1.5,
        "nan": float("nan"),
        "at": datetime(2026, 1, 2, 3),
        "gap": timedelta(minutes=1),
        "sum": Decimal("1.10"),
        "raw": b"\x01\xff",
        "counts": {1: 2, "a": float("inf")},
        "days": {date(2026, 1, 2): [1, None, True]},
    }
    expected = {
        "x": 1.5,
        "nan": None,
        "at": "2026-01-02T03:00:00",
        "gap": 60.0,
        "sum": "1.10",
        "raw": "01ff",
        "counts": {"1": 2, "a": None},
        "days": {"2026-01-02": [1, None, True]},
    }
    assert json.loads(as_json(row)) == expected
    assert json.loads(as_json([row, {}, {"y": "é"}])) == [expected, {}, {"y": "é"}]
    assert as_json([]) == b"[]"


def test_a_time_without_a_zone_is_refused_with_an_example() -> None:
    for zone, given, example in (("UTC", "2026-01-31", "12:00:00Z'"), (None, "now", "12:00:00'")):
        schema = pa.schema({"t": pa.timestamp("us", zone)})
        with pytest.raises(ValueTypeError, match=f"such as '2026-01-31T{example}, got '{given}'"):
            table_of({"t": given}, schema, frozenset("t"))


def test_times_as_numbers_are_whole() -> None:
    for kind in (pa.timestamp("us", "UTC"), pa.date32()):
        read = partial(table_of, schema=pa.schema({"t": kind}), needed=frozenset("t"))
        assert read({"t": 5.0}) == read({"t": 5})
        for wrong in (1.5, float("nan"), float("inf"), 1e300, True):
            with pytest.raises(ValueTypeError, match="the field 't' must be"):
                read([{"t": wrong}])


def test_the_requests_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the pipeline, the curl commands and the client of the page against a service."""
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text()
    (pipeline,) = re.findall(r'```toml title="payments.toml"\n(.*?)```', page, re.DOTALL)
    (program,) = re.findall(r'```python title="client.py"\n(.*?)```', page, re.DOTALL)
    commands = re.findall(r"curl localhost:8000(\S+) --json '(.*)'\n# (.*)", page)
    assert len(commands) == 3
    monkeypatch.chdir(tmp_path)
    Path("payments.toml").write_text(pipeline)
    service = Service(settings_of(load(Path("payments.toml"), writes=False, serves=True)))
    with serving(make_app(service)) as place:
        for path, body, answer in commands:
            assert called(place, "POST", path, body.encode()) == (200, answer.encode())
        names: dict[str, Any] = {}
        exec(program.replace("http://localhost:8000", place), names)
    assert names["features"] == {"spent": 30.0, "usual": 15.0, "ratio": 2.0}
    assert names["several"][0] == names["features"]
