"""The examples run with one command each, and what they compute is right.

Features are computed again here, row by row and in plain Python, from the windows' definitions.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from examples import fraud_features, market_features, sensor_monitoring

ROOT = Path(__file__).parents[1]
Row = dict[str, Any]


def printed(name: str) -> str:
    command = [sys.executable, f"examples/{name}.py"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def some(rows: list[Row], count: int = 60) -> list[Row]:
    return rows[:: max(1, len(rows) // count)]


def by_key(rows: list[Row], key: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


def before(rows: list[Row], row: Row, length: timedelta) -> list[Row]:
    """Those of `[t - length, t)`, in order."""
    start = row["at"] - length
    return [each for each in rows if start <= each["at"] < row["at"]]


def newest(rows: list[Row], name: str) -> Any:
    return rows[-1][name] if rows else None


def test_fraud_features() -> None:
    table = fraud_features.FEATURES.run(fraud_features.payments())
    rows = fraud_features.with_share(table).to_pylist()
    cards = by_key(rows, "card")
    for row in [*some(rows), *(row for row in rows if row["fraud"])]:
        own = cards[row["card"]]
        hour, day = before(own, row, timedelta(hours=1)), before(own, row, timedelta(days=1))
        amounts = [each["amount"] for each in before(own, row, timedelta(days=14))]
        if len(amounts) < 5:
            assert row["unusual"] is None
        else:
            unusual = (row["amount"] - fmean(amounts)) / stdev(amounts)
            assert row["unusual"] == pytest.approx(unusual)
        city = newest(before(own, row, timedelta(days=7)), "city")
        assert row["moved"] == (None if city is None else city != row["city"])
        assert row["n_1h"] == len(hour)
        assert row["declined_1h"] == sum(each["status"] == "declined" for each in hour)
        paid = [each["amount"] for each in day if each["status"] == "paid"]
        assert row["spent_24h"] == (pytest.approx(sum(paid)) if paid else None)
        assert row["merchants_24h"] == (len({each["merchant"] for each in day}) or None)
        month = before(own, row, timedelta(days=30))
        assert row["quiet"] == (row["at"] - month[-1]["at"] if month else None)
        if len(month) >= 5:
            usual = fmean(each["amount"] for each in month)
            assert row["ratio"] == pytest.approx(row["amount"] / usual)
        counts = Counter(each["merchant"] for each in month)
        if month:
            name = min(counts, key=lambda merchant: (-counts[merchant], merchant))
            assert row["favourite"] == [{"value": name, "count": counts[name]}]
            assert row["share"] == pytest.approx(counts[name] / len(month))
        else:
            assert row["share"] is None


def test_fraud_is_found() -> None:
    text = printed("fraud_features")
    assert "12 of the 12 stolen cards are among them." in text
    assert "26,880 payments of 300 cards, 72 of them fraud" in text
    found = re.search(r"(\d+) of (\d+) rows are what the service has answered", text)
    assert found
    assert found[1] == found[2]
    assert int(found[2]) > 300
    unknown = re.search(r"would learn (\d+) counts", text)
    assert unknown
    assert int(unknown[1]) > 0  # else known= shows nothing


def test_sensor_windows() -> None:
    log = sensor_monitoring.readings()
    rows = sensor_monitoring.WATCH.run(log).to_pylist()
    for row in some(rows):
        past = [r for r in rows if r["pump"] == row["pump"] and r["at"] <= row["at"]]
        last = [r["bar"] for r in past if r["litres"] > row["litres"] - 500]
        assert row["bar_500l"] == pytest.approx(fmean(last))
        session = [past[-1]]
        for older in reversed(past[:-1]):
            if session[-1]["at"] - older["at"] > timedelta(minutes=30):
                break
            session.append(older)
        assert row["since_on"] == len(session)
        assert row["hottest"] == max(r["celsius"] for r in session)
    runs = sensor_monitoring.RUNS_OF.run(log)
    assert runs.num_rows == sensor_monitoring.PUMPS * sensor_monitoring.RUNS
    assert sum(runs["readings"].to_pylist()) == log.num_rows


def test_the_worn_pump_is_found() -> None:
    text = printed("sensor_monitoring")
    assert f"{sensor_monitoring.WORN} was noticed at" in text
    watched = sensor_monitoring.WATCH.run(sensor_monitoring.readings())
    suspects = set(sensor_monitoring.alerts(watched)["pump"].to_pylist())
    assert suspects == {sensor_monitoring.WORN}


def test_market_features() -> None:
    quotes, trades = market_features.ticks()
    rows = market_features.as_of(quotes, trades).to_pylist()
    assert [row["price"] for row in rows] == trades["price"].to_pylist()
    quoted, sold = by_key(quotes.to_pylist(), "symbol"), by_key(rows, "symbol")
    for row in some(rows):
        known = before(quoted[row["symbol"]], row, timedelta(seconds=30))
        assert row["bid"] == newest(known, "quote_bid")
        assert row["ask"] == newest(known, "quote_ask")
        traded = before(sold[row["symbol"]], row, timedelta(minutes=5))
        volume = sum(each["size"] for each in traded)
        worth = sum(each["price"] * each["size"] for each in traded)
        assert row["vwap_5m"] == (pytest.approx(worth / volume) if traded else None)
        assert row["bought_5m"] == (sum(each["signed"] for each in traded) if traded else None)


def test_trades_are_near_their_quotes() -> None:
    assert "of them were at or between its bid and ask." in printed("market_features")
