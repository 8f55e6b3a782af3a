"""More results than there can be are refused before anything is made of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.definition.windows import results
from slidefold.errors import DataError

YEARS = pa.table(
    {
        "t": [datetime(2015 + i, 1, 1, tzinfo=UTC) for i in range(4)],
        "k": ["a", "b", "a", "b"],
        "x": [1, 2, 4, 8],
    }
)
# Of each key, from its first row to 3650 days behind its last, two years later: 731 days.
DAYS = 2 * (731 + 3650)
COUNT = DAYS * 86_400_000_000


def every(step: Any, *, by: str = "k", days: int = 3650) -> sf.Rolling:
    return sf.rolling(on="t", by=by, every=step, s=sf.sum("x").over(timedelta(days=days)))


def test_the_results_of_each_key_count() -> None:
    told = f"every='1us' gives {COUNT:,} results for 4 rows, more than .* use a longer every"
    with pytest.raises(DataError, match=told):
        every("1us").run(YEARS)
    assert len(every("1d").run(YEARS)) == DAYS


@pytest.mark.parametrize("emit", ["final", "change", "revise"])
def test_live_runs_refuse_them_and_go_on(emit: str) -> None:
    live = every("1us", days=1).live(lateness="1h", emit=emit)
    with pytest.raises(DataError, match=r"every='1us' gives [\d,]+ results for \d rows"):
        live.feed(YEARS)
    assert (live.watermark, live.pending, live.late) == (None, 0, 0)
    assert len(live.feed(YEARS.slice(0, 0))) == 0


@pytest.mark.parametrize("engine", ["run", "live"])
def test_empty_ends_that_are_filled_in_count(engine: str) -> None:
    """A live run counted only the ends with rows, and then filled in the others for ever."""
    features = sf.rolling(on="t", every="1us", fill=True, s=sf.sum("x").over("1us"))
    live = features.live(lateness="0s")
    feed = features.run if engine == "run" else live.feed
    # Ends from one microsecond after the first row to one after the last row, which waits for
    # later rows in a live run: 3 years of 365 days, or 2.
    years = 3 if engine == "run" else 2
    count = years * 365 * 86_400_000_000 + (86_400_000_000 if years == 3 else 0)
    with pytest.raises(DataError, match=r"every='1us' gives ([\d,]+) results") as refused:
        feed(YEARS)
    told = int(str(refused.value).split("gives ")[1].split(" results")[0].replace(",", ""))
    assert told == pytest.approx(count, rel=0.01)
    assert (live.watermark, live.pending, live.late) == (None, 0, 0)
    assert len(live.feed(YEARS.slice(0, 0))) == 0


def test_the_limit_is_what_fits_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"t": [0, 1], "k": ["a", "b"], "x": [1, 2]})
    ten = sf.rolling(on="t", every=sf.time(1), s=sf.sum("x").over(sf.time(10)))
    assert len(ten.run(table)) == 11
    monkeypatch.setattr(results, "memory", lambda: 10 * 56)
    with pytest.raises(DataError, match="gives 11 results for 2 rows, more than the 10 that fit i"):
        ten.run(table)
    monkeypatch.setattr(results, "memory", lambda: 11 * 56)
    assert len(ten.run(table)) == 11


def test_the_limit_is_31_bits_where_there_is_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "memory", lambda: 2**60)
    results.require_results(2**31 - 1, "every=1", 1, 1)
    with pytest.raises(DataError, match="more than the limit of 2,147,483,647 per run"):
        results.require_results(2**31, "every=1", 1, 1)


def test_memory_is_known_here() -> None:
    assert 2**28 < results.memory() <= 2**63
