"""Data of the same shape as the papers' sets: rates, gaps, disorder and bursts as described."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.data.events import Events
from benchmarks.workloads import SEED, Array

SECOND = 1_000_000
DAY = 86_400 * SECOND
GENERATED = "generated data of the same shape"


def manufacturing(rows: int) -> Events:
    """Return values of a sensor at 100 Hz, with jitter, and with gaps of up to an hour.

    A gap makes many events leave at once, as the paper reports. There are about 20 in a short run.
    """
    random = np.random.default_rng(SEED)
    steps = random.normal(10_000, 150, rows).clip(5_000, 15_000)
    gaps = random.random(rows) < max(2e-5, 20 / rows)
    steps[gaps] += 10 ** random.uniform(-1, 3.5, int(gaps.sum())) * SECOND
    times = np.cumsum(steps).astype(np.int64)
    level = 8_000 + 200 * np.sin(np.arange(rows) / 5_000)
    return Events(times, level + random.normal(0, 60, rows), np.zeros(rows, np.int64), GENERATED)


def trips(rows: int) -> Events:
    """Return bike trips of five months: 8 M events for the whole of it, fewer for its beginning.

    Nearly all events are at most 9 places late. About 1 in 10,000, in two weeks of November, is
    150,000 to a million places late; in a shorter run it is 2% to 12% of the events. After a pause
    of up to five hours, as many events of the day before leave at once.
    """
    random = np.random.default_rng(SEED)
    whole = 8_000_000
    days = 153 * rows / whole
    # The hours of a day differ in the number of trips.
    hours = np.array([2, 1, 1, 1, 1, 3, 9, 16, 20, 14, 11, 12, 13, 13, 14, 15, 19, 24, 21, 15, 11,
                      9, 6, 4], float)  # fmt: skip
    rate = np.tile(hours, int(np.ceil(days)) + 1)
    edges = np.concatenate([[0.0], np.cumsum(rate)])
    last = np.interp(days * 24, np.arange(len(edges)), edges)
    places = np.sort(random.uniform(0, last, rows))
    ordered = (np.interp(places, edges, np.arange(len(edges))) * DAY / 24).astype(np.int64)
    pauses = np.sort((random.uniform(0.55, 1, max(3, round(12 * rows / whole))) * rows).astype(int))
    lengths = 10 ** random.uniform(2.8, 4.25, len(pauses)) * SECOND
    ordered += np.repeat(np.cumsum([0, *lengths]).astype(np.int64), np.diff([0, *pauses, rows]))
    delay = late_by(random, rows)
    order = np.argsort(np.arange(rows) + delay, kind="stable")
    duration = random.lognormal(6.4, 0.7, rows).clip(61, 3_000_000)
    return Events(
        np.ascontiguousarray(ordered[order]), duration, random.zipf(1.3, rows) % 800, GENERATED
    )


def late_by(random: np.random.Generator, rows: int) -> Array:
    """Return how many places late each event comes."""
    scale = min(1.0, rows / 8_000_000)
    # Two events whose places are swapped: the older one is 1 late.
    delay = np.where(random.random(rows) < 0.3, random.integers(1, 9, rows), 0)
    delay[random.random(rows) < 0.005] = 30
    burst = (random.random(rows) < 0.0001 * 153 / 14) & in_november(rows)
    count = int(burst.sum())
    delay[burst] = (random.uniform(150_000, 950_000, count) * scale).astype(np.int64)
    return delay


def in_november(rows: int) -> Array:
    """Return which events are in the two weeks of severe disorder."""
    place = np.arange(rows) / rows
    return (place > 0.62) & (place < 0.62 + 14 / 153)


def plugs(rows: int) -> Events:
    """Return the load of 84 plugs, once per second each, some more often than others."""
    random = np.random.default_rng(SEED)
    share = random.uniform(0.7, 1.3, 84)
    keys = random.choice(84, rows, p=share / share.sum())
    times = np.arange(rows, dtype=np.int64) * SECOND // 84
    return Events(times, random.gamma(2.0, 60.0, rows), keys, GENERATED)
