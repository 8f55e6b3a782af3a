"""Events are folded between requests: a question waits for one part, and no part waits for ever."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slidefold.errors import DataError
from slidefold.serve import Client
from slidefold.serve.app import make_app
from slidefold.serve.between import Between
from slidefold.serve.service import Service
from tests.serve.support import events, serving, settings


def folded(
    parts: list[Callable[[], Any]], beside: Callable[[Between], object] = lambda _: None
) -> list[Any]:
    """Fold parts in an event loop, for a writer in another thread; return what each gave."""
    results: list[Any] = []
    between = Between()

    def write() -> None:
        for result in between.fold(parts):
            try:
                results.append(result())
            except Exception as error:
                results.append(error)

    async def run() -> None:
        between.loop = asyncio.get_running_loop()
        writing = asyncio.create_task(asyncio.to_thread(write))
        beside(between)
        await asyncio.wait_for(writing, 20)

    asyncio.run(run())
    return results


def test_parts_are_folded_in_order_by_the_thread_of_the_loop() -> None:
    mine = threading.get_ident()
    numbers = iter(range(50))
    assert folded([lambda: (next(numbers), threading.get_ident())] * 50) == [
        (number, mine) for number in range(50)
    ]


def test_refused_events_do_not_stop_the_next_part() -> None:
    error = DataError("it does not fit")

    def refuse() -> None:
        raise error

    assert folded([refuse, lambda: 2]) == [error, 2]


def test_a_question_waits_for_one_part() -> None:
    order: list[str] = []

    def question(between: Between) -> None:
        order.append("question")
        if order.count("part") < 20:
            assert between.loop is not None
            between.loop.call_soon(question, between)

    folded([lambda: order.append("part")] * 20, question)
    text = " ".join(order)
    assert "part part" not in text, text


def test_many_questions_at_one_time_do_not_keep_a_part_waiting() -> None:
    """One turn of the loop answers 1,000 questions of 0.1 ms; 20 parts need less than two turns."""
    turns = [0]
    left = [20]

    def part() -> None:
        left[0] -= 1

    def answer(between: Between) -> None:
        turns[0] += 1
        for _ in range(1000):
            time.sleep(0.0001)
            between.answered()
        if left[0]:
            assert between.loop is not None
            between.loop.call_soon(answer, between)

    folded([part] * 20, answer)
    assert turns[0] <= 4


def test_a_service_folds_in_the_thread_that_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(settings(), tmp_path / "state")
    threads, fold = set(), service.state.fold

    def watched(*args: Any) -> Any:
        threads.add(threading.current_thread())
        return fold(*args)

    monkeypatch.setattr(service.state, "fold", watched)
    with serving(make_app(service), tmp_path / "sock") as place, Client(place) as client:
        told = client.send(events(random.Random(1), 950))
        assert (told["accepted"] + told["late"], told["position"]) == (950, 10)
        assert client.ask({"card": "a"}) == service.ask({"card": "a"})
    assert len(threads) == 1
    assert service._writer not in threads


def test_an_error_of_the_engine_stops_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(settings(), tmp_path / "state")
    count = [0]

    def fail(*args: Any) -> Any:
        count[0] += 1
        raise MemoryError

    monkeypatch.setattr(service.state, "fold", fail)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    with serving(make_app(service), tmp_path / "sock") as place, Client(place) as client:
        with pytest.raises(DataError, match="refused with 503: the service takes no more events"):
            client.send(events(random.Random(1), 950))
        assert count == [1]  # the parts behind it were not folded
        assert client.ask({"card": "a"})["n"] is None
