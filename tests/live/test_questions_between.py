"""Questions between events: counts follow both, and times come out as tables have them."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf

COUNTS: dict[str, Any] = {
    "many": sf.distinct("s").over(sf.time(300)),
    "usual": sf.mode("s").over(sf.time(300)),
    "mixed": sf.entropy("s").over(sf.time(200, closed="left")),
    "recent": sf.distinct("s").over(90),
    "visit": sf.distinct("s").over(sf.session(40)),
}


def answers(events: list[dict[str, Any]], t: int) -> dict[str, Any]:
    """Return the features at a time over some events in order."""
    before = [event for event in events if event["t"] <= t]
    long = [event["s"] for event in before if event["t"] > t - 300]
    short = [event["s"] for event in before if t - 200 <= event["t"] < t]
    visit: list[dict[str, Any]] = []
    last = t
    for event in reversed(before):
        if last - event["t"] > 40:
            break
        visit.append(event)
        last = event["t"]
    counts = Counter(long)
    shares = [count / len(short) for count in Counter(short).values()]
    most = max(counts.values(), default=0)
    return {
        "many": len(counts) or None,
        "usual": min((word for word, n in counts.items() if n == most), default=None),
        "mixed": -sum(p * math.log(p) for p in shares) if short else None,
        "recent": len({event["s"] for event in before[-90:]}) or None,
        "visit": len({event["s"] for event in visit}) or None,
    }


def check(found: dict[str, Any], expected: dict[str, Any], told: str) -> None:
    near = pytest.approx(expected.pop("mixed"), abs=1e-12)
    assert found.pop("mixed") == near, told
    assert found == expected, told


@pytest.mark.parametrize("seed", range(4))
def test_counts_follow_events_and_questions(seed: int) -> None:
    """A key of many leaves; late events and questions at any time move the counts to and fro."""
    rng = random.Random(seed)
    live = sf.rolling(on="t", by="k", **COUNTS).live(
        lateness=130,
        emit="arrival",
        schema=pa.schema([("t", pa.int64()), ("k", pa.string()), ("s", pa.string())]),
    )
    events: list[dict[str, Any]] = []
    now = 0
    for step in range(1500):
        now += rng.choice([0, 1, 1, 2, 60 if rng.random() < 0.02 else 1])
        event = {"t": now - rng.choice([0, 0, 0, 3, 40, 140]), "k": "a", "s": rng.choice("abcdefg")}
        found = live.push(event)
        if found is None:
            continue
        events.append(event)
        events.sort(key=lambda each: (each["t"], each["s"]))
        told = f"seed {seed}, step {step}"
        if rng.random() < 0.3:
            mark = live.watermark
            assert mark is not None
            at = rng.choice([now, now + 100, rng.randint(int(mark), now)])
            check(live.ask({"k": "a", "t": at}), answers(events, at), told)
        if rng.random() < 0.05:
            live.ask({**event, "t": now + 5}, include=True)
        newest = max(each["t"] for each in events)
        if event["t"] == newest:
            found.pop("recent"), found.pop("visit")  # peers behind the event do not count there
            expected = answers(events, newest)
            expected.pop("recent"), expected.pop("visit")
            check(found, expected, told)
    assert live.late > 0


def test_counts_cost_what_changes_between_questions() -> None:
    """A question must not count all values of its window again."""
    rows = 12_000
    times = list(range(rows))
    events = pa.table({"t": times, "s": [f"{i % 700}" for i in times], "x": times})
    questions = pa.table({"t": list(range(5, rows, 5))})

    def seconds(operator: Any) -> float:
        features = sf.rolling(on="t", c=operator.over(sf.time(rows)))
        best = math.inf
        for _ in range(3):
            start = time.process_time()
            features.run(events, at=questions, known="t")
            best = min(best, time.process_time() - start)
        return best

    # Counting each window again takes several hundred times as long.
    assert seconds(sf.distinct("s")) < 25 * seconds(sf.sum("x"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_times_and_durations_of_one_event_are_those_of_tables(unit: str, zone: str | None) -> None:
    rng = random.Random(3)
    kind = pa.timestamp(unit, zone)
    start = datetime(2026, 3, 28, 22, tzinfo=UTC)
    moments = [start + timedelta(seconds=20 * i + rng.randint(-50, 50)) for i in range(500)]
    if zone is None:
        moments = [moment.replace(tzinfo=None) for moment in moments]
    schema = pa.schema([("ts", kind), ("k", pa.string()), ("x", pa.float64())])
    rows = [{"ts": m, "k": rng.choice("ab"), "x": rng.random()} for m in moments]
    features = sf.rolling(
        on="ts",
        by="k",
        since=sf.since_last().over("1h", closed="left"),
        first=sf.first("ts").over("10m"),
        later=sf.max("ts").over("10m") + timedelta(hours=1),
        gap=sf.longest_gap().over("1h"),
        top=sf.max("x").over("1h"),
    )
    pushed = features.live(lateness="5m", emit="arrival", schema=schema)
    fed = features.live(lateness="5m", emit="arrival", schema=schema)
    for row in rows:
        expected = fed.feed(pa.Table.from_pylist([row], schema)).to_pylist()
        found = pushed.push(row)
        assert (found is None) == (not expected)
        if found is None:
            continue
        assert found == {name: expected[0][name] for name in features.columns}
        assert [type(v) for v in found.values()] == [type(expected[0][n]) for n in found]
        for question in ({"k": row["k"]}, {"k": row["k"], "ts": moments[-1] + timedelta(hours=1)}):
            asked = pushed.ask(question)
            table = pa.Table.from_pylist([{"ts": None, **question}], schema)
            if "ts" in question:
                assert (
                    asked
                    == pushed.ask(table.drop_columns(["x"]))
                    .select(list(features.columns))
                    .to_pylist()[0]
                )
            assert type(asked["first"]) is type(found["first"]) or None in (
                asked["first"], found["first"],
            )  # fmt: skip
