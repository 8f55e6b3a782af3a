"""The page of a service in a real browser: what it shows, wide and narrow, without errors."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from slidefold.serve import Client
from slidefold.serve.app import make_app
from slidefold.serve.service import Service
from tests.serve.support import FEATURES, events, serving, settings, started
from tests.support.browser import browser, needs_browser

SHOWN = (
    "p.toml", "events per second", "501", "late events", "broken events", "keys held", "rows held",
    "memory", "median of ask", "99% of ask", "in order", "would be late, by watermark", "(0.00%)",
    "watermark", "newest event", "sf.rolling", "late-card",
)  # fmt: skip


@needs_browser
@pytest.mark.slow
def test_the_page(tmp_path: Path) -> None:
    service = Service(settings(about={"pipeline": "p.toml"}))
    service.submit(events(random.Random(1), 500)).result()
    service.submit({"t": 1, "card": "late-card", "amount": 1.0, "id": 9}).result()
    with serving(make_app(service)) as place, browser(tmp_path) as page:
        for width in (1400, 390):
            page.size(width, 900, dark=width < 600)
            page.open(f"{place}/?card=a")
            page.wait("document.getElementById('state')?.textContent === 'live'")
            page.wait("document.querySelector('#answer table') && document.querySelector('.tile')")
            text = page.text()
            for shown in SHOWN:
                assert shown in text, shown
            answer = service.ask({"card": "a"})
            assert f"spent\t{answer['spent']:g}" in text
            plan = page.run("document.getElementById('plan').textContent")
            assert all(name in plan for name in FEATURES.columns)
            assert not page.overflows
            page.wait("!document.getElementById('history').hidden")  # it asks again by itself
            page.picture(tmp_path / f"page-{width}.png")
        page.run("document.querySelector('#ask input').value = 'nobody'")
        page.run("document.querySelector('#ask button').click()")
        page.wait("document.querySelector('#answer').innerText.includes('n\t0')")
        service.submit({"t": 9000, "card": "a", "amount": 1.0, "id": 10}).result()
        page.wait("document.body.innerText.includes('502')")  # it updates by itself
        assert page.errors == []
        assert {address.partition("/")[0] for address in page.requests} <= {"http:", "data:"}
        assert all(place in address or address[:5] == "data:" for address in page.requests)


def test_an_open_page_does_not_keep_the_service_from_stopping(tmp_path: Path) -> None:
    process = started(tmp_path)
    connection = Client(str(tmp_path / "sock"))._connected()
    connection.request("GET", "/updates")
    response = connection.getresponse()
    first = response.readline()
    assert first.startswith(b"data: ")
    assert json.loads(first[6:])["per_second"] is None
    process.terminate()
    assert process.wait(8) == 0  # less than the patience with requests
    connection.close()
    response.close()
