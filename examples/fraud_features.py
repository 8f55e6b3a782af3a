"""Features that find stolen cards: `python examples/fraud_features.py`.

Generates a month of card payments, some of them with stolen cards, computes features of each card
as known before each payment, and shows that a simple score of these features finds the fraud.
Then it computes the features at the times of a table of labels, over the payments that had arrived
by then, and compares them with what a service has answered at these moments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isclose
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import slidefold as sf

CITIES = np.array(["Rome", "Oslo", "Bern", "Lyon", "Graz", "Bonn", "Porto", "Turin"])
MERCHANTS = np.array(["baker", "grocer", "cinema", "garage", "florist", "bookshop", "electronics"])
DAYS, CARDS, STOLEN = 30, 300, 12

# closed="left" excludes the payment itself and payments at the same time.
FEATURES = sf.rolling(
    on="at",
    by="card",
    closed="left",
    n_1h=sf.count().over("1h"),
    declined_1h=sf.count().where(sf.col("status") == "declined").over("1h"),
    spent_24h=sf.sum("amount").where(sf.col("status") == "paid").over("24h"),
    merchants_24h=sf.distinct("merchant").over("24h"),
    ratio=sf.col("amount") / sf.mean("amount").over("30d", min_count=5),
    unusual=(sf.col("amount") - sf.mean("amount").over("14d", min_count=5))
    / sf.std("amount").over("14d", min_count=5),
    moved=sf.last("city").over("7d") != sf.col("city"),
    quiet=sf.since_last().over("30d"),
    n_30d=sf.count().over("30d"),
    favourite=sf.most_frequent("merchant").over("30d"),
)


def payments(seed: int = 7) -> pa.Table:
    """Return a month of payments in time order; a model would learn the column `fraud`."""
    random = np.random.default_rng(seed)
    minute, card, amount, city, merchant, status, fraud = [], [], [], [], [], [], []
    for number in range(CARDS):
        home, level = random.integers(len(CITIES)), random.lognormal(3, 0.5)
        count = random.poisson(3 * DAYS)
        minute += list(random.integers(0, DAYS * 24 * 60, count))
        amount += list(np.round(level * random.lognormal(0, 0.4, count), 2))
        travels = random.random(count) < 0.03
        city += list(np.where(travels, random.integers(len(CITIES), size=count), home))
        merchant += list(random.geometric(0.4, count) % (len(MERCHANTS) - 1))
        status += list(np.where(random.random(count) < 0.02, "declined", "paid"))
        fraud += [False] * count
        card += [f"card {number:03}"] * count
        if number < STOLEN:  # one burst of large payments from another city
            start, burst = random.integers(10 * 24 * 60, DAYS * 24 * 60 - 60), 6
            minute += list(start + np.sort(random.integers(0, 40, burst)))
            amount += list(np.round(level * random.uniform(4, 9, burst), 2))
            city += [(home + 1 + number % 6) % len(CITIES)] * burst
            merchant += [*random.integers(len(MERCHANTS), size=burst)]
            status += ["declined" if random.random() < 0.5 else "paid" for _ in range(burst)]
            fraud += [True] * burst
            card += [f"card {number:03}"] * burst
    columns = {
        "at": np.datetime64("2024-03-01", "us") + np.array(minute).astype("m8[m]"),
        "card": card,
        "amount": amount,
        "city": CITIES[np.array(city)],
        "merchant": MERCHANTS[np.array(merchant)],
        "status": status,
        "fraud": fraud,
    }
    return pa.table(columns).sort_by([("at", "ascending"), ("card", "ascending")])


def arriving(table: pa.Table, seed: int = 8) -> pa.Table:
    """Return the payments as they reach a service: most after seconds, some after hours."""
    random = np.random.default_rng(seed)
    offline = random.random(table.num_rows) < 0.05
    seconds = np.where(
        offline, random.exponential(7200, len(offline)), random.exponential(2, len(offline))
    )
    arrived = table["at"].to_numpy() + (seconds * 1e6).astype("m8[us]")
    return table.append_column("arrived", pa.array(arrived)).sort_by("arrived")


def labelled(table: pa.Table, seed: int = 9) -> pa.Table:
    """Return the payments that somebody has judged: all frauds, and some others."""
    judged = np.array(table["fraud"]) | (np.random.default_rng(seed).random(table.num_rows) < 0.02)
    return table.filter(pa.array(judged)).select(["at", "card", "amount", "city", "fraud"])


def answers(events: pa.Table, labels: pa.Table) -> list[dict[str, Any]]:
    """Return what a service answers at the time of each label, from the payments it has by then."""
    service = FEATURES.live(
        lateness="30d", emit="arrival", schema=events.drop_columns(["arrived"]).schema
    )
    waiting = events.to_pylist()
    served = []
    for label in labels.to_pylist():
        while waiting and waiting[0]["arrived"] <= label["at"]:
            payment = waiting.pop(0)
            del payment["arrived"]
            service.push(payment)
        served.append(service.ask(label))
    return served


def equal(one: Any, other: Any) -> bool:
    """Tell whether two features are equal; sums of floats may differ in their last digits."""
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def with_share(table: pa.Table) -> pa.Table:
    """Add the share of the favourite merchant, which is in a list and so not in an expression."""
    most = pc.struct_field(pc.list_element(table["favourite"].combine_chunks(), 0), "count")
    share = pc.divide(most.cast(pa.float64()), table["n_30d"].combine_chunks())
    return table.append_column("share", share)


def scores(table: pa.Table) -> NDArray[np.float64]:
    """Return how unusual each payment is, as a model would learn."""

    def numbers(name: str) -> NDArray[np.float64]:
        values: NDArray[np.float64] = table[name].to_numpy(zero_copy_only=False).astype(float)
        return values

    unusual = np.nan_to_num(numbers("unusual")).clip(0, 10)
    moved = np.array(pc.fill_null(table["moved"], False))
    odd: NDArray[np.float64] = unusual + 2 * numbers("n_1h") + numbers("declined_1h") + 3 * moved
    return odd


def show(header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table."""
    cells = ([f"{x:,.2f}" if isinstance(x, float) else str(x) for x in row] for row in rows)
    lines = [list(header), *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("".join(f"  {text:>{width}}" for text, width in zip(line, widths, strict=True)))
    print()


def main() -> None:
    """Run the example."""
    table = payments()
    features = with_share(FEATURES.run(table))
    stolen = np.array(table["fraud"])
    print(f"{table.num_rows:,} payments of {CARDS} cards, {stolen.sum()} of them fraud\n")
    print(FEATURES, end="\n\n")
    score = scores(features)
    suspects = np.argsort(-score, kind="stable")
    names = ("card", "amount", "ratio", "n_1h", "declined_1h", "merchants_24h", "quiet", "share")
    first = suspects[:8]
    rows = zip(features.take(first).select(names).to_pylist(), score[first].tolist(), strict=True)
    print("The payments with the highest scores:\n")
    show([*names, "score"], [[*row.values(), number] for row, number in rows])

    top = suspects[: int(stolen.sum())]
    print(f"Of the {len(top)} payments with the highest scores, {stolen[top].sum()} are fraud;")
    caught = len(set(np.array(table["card"])[top[stolen[top]]]))
    print(f"{caught} of the {STOLEN} stolen cards are among them.")

    events, labels = arriving(table), labelled(table)
    training = FEATURES.run(events, at=labels, known="arrived").to_pylist()
    served = answers(events, labels)
    same = sum(
        all(equal(row[name], answer[name]) for name in FEATURES.columns)
        for row, answer in zip(training, served, strict=True)
    )
    print(f"\nFeatures at {labels.num_rows} labels, over the payments that had arrived by then:")
    print(f"{same} of {len(served)} rows are what the service has answered.")
    late = FEATURES.run(events, at=labels).to_pylist()
    other = sum(row["n_30d"] != answer["n_30d"] for row, answer in zip(late, served, strict=True))
    print(f"Without known= the model would learn {other} counts that no service could have known.")


if __name__ == "__main__":
    main()
