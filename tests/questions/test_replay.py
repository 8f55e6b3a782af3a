"""`known=` gives every answer that a service gives: events pushed, questions asked in turn."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidefold as sf
from tests.questions.support import assert_same

SECOND = 10**6
MONTH = 30 * 86_400 * SECOND
START = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp()) * SECOND
TIME = pa.timestamp("us", "UTC")

FEATURES = sf.rolling(
    on="ts",
    by="card",
    closed="left",
    spend=sf.sum("amount").over("1d"),
    payments=sf.count().over("7d"),
    refused=sf.count().where("declined").over("7d"),
    large=sf.sum("amount").where(sf.col("amount") > 50).over("3d"),
    shops=sf.distinct("shop").over("7d"),
    usual=sf.mode("shop").over(20),
    best=sf.max_by("shop", "amount").over("7d"),
    middle=sf.median("amount").over("7d"),
    before=sf.lag("amount"),
    visit=sf.count().over(sf.session("2h")),
    ever=sf.mean("amount").over("lifetime"),
    settled=sf.sum("amount").over(sf.time("1d", delay="6h")),
    last=sf.since_last().over("30d"),
    ratio=sf.col("amount") / sf.mean("amount").over("30d"),
)


def payments(seed: int, count: int, cards: int) -> Any:
    """Return payments as they arrive: most within seconds, some after minutes, a few after days."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, MONTH, count))
    way = rng.random(count)
    delay = rng.exponential(2 * SECOND, count)  # the network
    delay = np.where(way < 0.2, rng.exponential(300 * SECOND, count), delay)  # a batch
    delay = np.where(way < 0.02, rng.exponential(86_400 * SECOND, count), delay)  # a terminal
    arrived = times + delay.astype(np.int64)
    order = np.argsort(arrived, kind="stable")
    table = pa.table(
        {
            "ts": pa.array(START + times, TIME),
            "card": rng.zipf(1.3, count) % cards,
            "amount": pa.array(
                np.round(rng.lognormal(3, 1, count), 2), mask=rng.random(count) < 0.02
            ),
            "shop": pa.array([f"shop {number}" for number in rng.zipf(1.5, count) % 500]),
            "declined": pa.array(rng.random(count) < 0.05, mask=rng.random(count) < 0.01),
            "arrived": pa.array(START + arrived, TIME),
        }
    )
    return table.take(pa.array(order))


def questions_of(seed: int, count: int, cards: int) -> Any:
    """Return questions at any time of the month, in order; some ask about cards without events."""
    rng = np.random.default_rng(seed + 1)
    return pa.table(
        {
            "ts": pa.array(START + np.sort(rng.integers(1, MONTH, count)), TIME),
            "card": np.where(rng.random(count) < 0.02, cards + 7, rng.zipf(1.3, count) % cards),
            "amount": np.round(rng.lognormal(3, 1, count), 2),
        }
    )


def check(seed: int, events: int, questions: int, lateness: str) -> None:
    """Push all payments, ask all questions in between, and compare what `known=` gives."""
    cards = max(3, events // 50)
    paid, asked = payments(seed, events, cards), questions_of(seed, questions, cards)
    live = FEATURES.live(
        lateness=lateness, emit="arrival", schema=paid.drop_columns(["arrived"]).schema
    )
    served, at = [], 0
    arrived = paid["arrived"].cast(pa.int64()).to_numpy()
    due = np.searchsorted(arrived, asked["ts"].cast(pa.int64()).to_numpy(), "right")
    waiting = paid.drop_columns(["arrived"]).to_pylist()
    for question, until in zip(asked.to_pylist(), due.tolist(), strict=True):
        while at < until:
            live.push(waiting[at])
            at += 1
        served.append(live.ask(question))
    assert live.late > 0  # else `lateness=` shows nothing
    found = FEATURES.run(paid, at=asked, known="arrived", lateness=lateness)
    assert len(found) == len(served)
    assert_same(found, served)


def test_a_short_replay() -> None:
    check(1, 6_000, 1_500, "1h")


@pytest.mark.exhaustive
def test_a_month_of_payments() -> None:
    check(2, 1_000_000, 200_000, "1d")
