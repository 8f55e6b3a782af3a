"""Headers and payloads that somebody made up, with a right checksum.

No hang, no gigabytes, no import: what is loaded folds without overflow, and what is refused is told
in one line.
"""

from __future__ import annotations

import json
import struct
import sys
from datetime import datetime
from hashlib import blake2b
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

import slidefold as sf
from slidefold.algorithms import DabaLite, FlatFat, Recalc, Sba
from slidefold.errors import (
    CapacityError,
    DefinitionError,
    OperatorError,
    ResultOverflowError,
    StateError,
    WindowError,
)
from tests.support.envelopes import opened, sealed, with_payload
from tests.support.unchanged import one_sentence, refused

HUGE = 10**400


def with_params(operator: sf.Operator, **params: Any) -> bytes:
    """Return a window of one value whose header says other parameters."""
    window = sf.Window(operator, sf.rows(3))
    values: dict[str, Any] = {"decayed_mean": (1, 1), "frequent_items": "a"}
    window.push(values.get(operator.name, 1))
    header, payload = opened(window.to_bytes())
    header["operator"]["params"].update(params)
    return sealed(header, payload)


class TestParameters:
    @pytest.mark.parametrize("value", [0, -1, 10**12, 2**62, 2**63, 2**64, HUGE, 1.5, None, "9"])
    @pytest.mark.parametrize(
        ("operator", "name"),
        [
            (sf.bloom(), "bits"),
            (sf.bloom(), "hashes"),
            (sf.count_min(), "epsilon"),
            (sf.count_min(), "confidence"),
            (sf.approx_distinct(), "precision"),
            (sf.moments(), "k"),
            (sf.top_k(), "k"),
            (sf.nth(), "n"),
            (sf.var(), "ddof"),
            (sf.histogram(edges=[0, 1]), "edges"),
            (sf.quantile(), "q"),
            (sf.approx_quantile(), "k"),
            (sf.theta(), "lg_k"),
            (sf.frequent_items(), "lg_max_k"),
            (sf.decayed_mean(half_life=1), "half_life"),
        ],
        ids=lambda given: getattr(given, "name", given),
    )
    def test_of_a_header(self, operator: sf.Operator, name: str, value: Any) -> None:
        try:
            window = sf.Window.from_bytes(with_params(operator, **{name: value}))
        except StateError as error:
            one_sentence(error)
        else:  # a value that some operator may have
            assert window.plan.operator.params != operator.params
            assert (operator.name, name) in {
                ("var", "ddof"),
                ("quantile", "q"),
                ("decayed_mean", "half_life"),
            }

    def test_a_bloom_filter_of_a_trillion(self) -> None:
        """One of 10^12 hashes ran for hours, one of 10^12 bits asked for 125 GB."""
        with refused(StateError, "hashes <= 64"):
            sf.Window.from_bytes(with_params(sf.bloom(), hashes=10**12))
        with refused(StateError, "bits <= 1,073,741,824"):
            sf.Window.from_bytes(with_params(sf.bloom(), bits=10**12))

    @pytest.mark.parametrize(
        ("error", "make"),
        [
            (OperatorError, lambda: sf.bloom(bits=2**30 + 1)),
            (OperatorError, lambda: sf.bloom(hashes=65)),
            (OperatorError, lambda: sf.bloom(bits=10**5000)),
            (OperatorError, lambda: sf.count_min(epsilon=1e-9)),
            (OperatorError, lambda: sf.count_min(epsilon=5e-324)),
            (OperatorError, lambda: sf.top_k(k=2**31)),
            (OperatorError, lambda: sf.nth(n=2**31)),
            (OperatorError, lambda: sf.histogram(edges=range(2**20 + 1))),
            (OperatorError, lambda: sf.decayed_mean(half_life=HUGE)),
            (OperatorError, lambda: sf.var(ddof=HUGE)),
            (WindowError, lambda: sf.session(HUGE)),
            (WindowError, lambda: sf.delta(HUGE, on="x")),
            (WindowError, lambda: sf.time("9" * 5000 + "s")),
            (WindowError, lambda: Sba(sf.sum(), 2**40)),
            (WindowError, lambda: Sba.over_time(sf.sum(), 2**61, 1)),
            (CapacityError, lambda: FlatFat(sf.sum(), capacity=2**40)),
            (DefinitionError, lambda: sf.sum("x").over("1h", min_count=2**63)),
            (
                WindowError,
                lambda: sf.rolling(on="t", n=sf.count().over(sf.time(5))).live(lateness=HUGE),
            ),
        ],
    )
    def test_of_a_call(self, error: type[Exception], make: Any) -> None:
        with pytest.raises(error) as caught:
            make()
        assert "\n" not in str(caught.value)


def forged(operator: sf.Operator, form: str, *fields: Any) -> bytes:
    """Return a window of one row that holds a state of these fields."""
    window = Recalc(operator)
    empty = opened(window.to_bytes())[1]
    window.insert((1, 1) if operator.name == "covariance" else 1)
    one = opened(window.to_bytes())[1]
    size = struct.calcsize("<" + form)
    payload = one[:16] + struct.pack("<" + form, *fields) + one[16 + size :]
    assert len(empty) < len(one) == len(payload)
    return with_payload(window.to_bytes(), payload)


class TestCounts:
    @pytest.mark.parametrize("n", [-1, 2**62 + 1, 2**63 - 1, -(2**63)])
    @pytest.mark.parametrize(
        "operator", [sf.count(), sf.any(dtype="int64"), sf.all(dtype="int64")], ids=str
    )
    def test_of_one_state(self, operator: sf.Operator, n: int) -> None:
        with refused(StateError, "a count is negative or too large"):
            Recalc.from_bytes(forged(operator, "q", n))

    def test_of_several(self) -> None:
        """Each is possible, and what check() adds them up to is not: it overflowed."""
        window = DabaLite(sf.count())
        for _ in range(4):
            window.insert(1)
        header, payload = opened(window.to_bytes())
        many = payload.replace(struct.pack("<q", 1), struct.pack("<q", 2**61))
        assert many != payload
        with refused(StateError):
            DabaLite.from_bytes(sealed(header, many))

    def test_sums(self) -> None:
        large = (2**127 - 1).to_bytes(16, "little")
        with refused(StateError, "a sum is too large"):
            Recalc.from_bytes(forged(sf.sum(dtype="int64"), "16s", large))
        assert Recalc.from_bytes(forged(sf.sum(dtype="int64"), "16s", bytes(16))).query() == 0

    @pytest.mark.parametrize("n", [-1.0, 0.5, float("nan"), float("inf"), 1e300])
    def test_counts_that_are_floats(self, n: float) -> None:
        for operator in (sf.var(), sf.covariance()):
            with refused(StateError, "a count is"):
                Recalc.from_bytes(forged(operator, "d", n))

    def test_what_occurs_twice_among_distinct_values(self) -> None:
        window = Recalc(sf.collect_distinct(dtype="int64"))
        window.insert(1)
        header, payload = opened(window.to_bytes())
        one = struct.pack("<Qq", 1, 1)
        assert payload.count(one) >= 1
        twice = payload[::-1].replace(one[::-1], struct.pack("<Qqq", 2, 1, 1)[::-1], 1)[::-1]
        with refused(StateError, "twice"):
            Recalc.from_bytes(sealed(header, twice))


class TestNulls:
    def test_rows_wait_only_in_windows(self) -> None:
        """A flag for a null among rows that wait, where no row waits, hid another row's value."""
        for name in ("recalc", "amta"):
            window = sf.algorithms.REGISTRY[name](sf.sum(dtype="int64"))
            window.insert(5)
            window.insert(None)
            header, payload = opened(window.to_bytes())
            assert payload.endswith(struct.pack("<Q", 0))  # how many of those that wait are null
            with refused(StateError, "nulls"):
                type(window).from_bytes(sealed(header, payload[:-8] + struct.pack("<Q", 1)))


class TestMoments:
    @pytest.mark.parametrize("field", range(5))
    @pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e308, 1.5e300])
    def test_that_no_values_have(self, field: int, value: float) -> None:
        window = Recalc(sf.moments(k=4))
        window.insert(2.0)
        header, payload = opened(window.to_bytes())
        at = 16 + 8 * field  # n, low, high, pivot, offset
        with refused(StateError):
            Recalc.from_bytes(
                sealed(header, payload[:at] + struct.pack("<d", value) + payload[at + 8 :])
            )


class TestTimesOfBoundaries:
    def test_the_whole_range_of_times(self) -> None:
        """The slices between two times were counted in 64 bits with a sign."""
        sums = Sba.over_time(sf.sum(dtype="int64"), 10, 5)
        assert sums.push(-(2**63), 1) == []
        assert [result for _, result in sums.push(2**63 - 1, 2)] == [1, 1]
        assert sums.query() == 1


class TestTypes:
    def test_a_date_beyond_all_dates(self) -> None:
        """A day number of 64 bits was cut to 32, and made a wrong date or an OverflowError."""
        window = Recalc(sf.max(dtype="timestamp"))
        window.insert(datetime(2024, 1, 1))
        header, payload = opened(window.to_bytes())
        for days in (2**31, 2**32 + 5, 2**62):
            header["operator"]["dtype"] = "date"
            loaded = Recalc.from_bytes(
                sealed(header, payload[:16] + struct.pack("<q", days) + payload[24:])
            )
            with refused(ResultOverflowError, "beyond"):
                loaded.query()

    def test_text_where_bytes_are_due(self) -> None:
        window = Recalc(sf.max(dtype="str"))
        window.insert("€")
        header, payload = opened(window.to_bytes())
        header["operator"]["dtype"] = "binary"
        with refused(ResultOverflowError, "bytes"):
            Recalc.from_bytes(sealed(header, payload)).query()


class TestMessages:
    @pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "\x1b[31m", "\x00", "\u2028", "x" * 5000])
    def test_have_one_line(self, text: str) -> None:
        header, payload = opened(DabaLite(sf.sum()).to_bytes())
        for change in ({"name": text}, {"dtype": text}, {"module": text}, {"params": {text: 1}}):
            told = {**header, "operator": {**header["operator"], **change}}
            with pytest.raises(StateError) as caught:
                DabaLite.from_bytes(sealed(told, payload))
            assert str(caught.value).isprintable()
            assert len(str(caught.value)) < 350


def live() -> Any:
    """A live run that has seen rows."""
    made = sf.rolling(on="t", by="k", n=sf.sum("x").over(sf.time(10))).live(lateness=3)
    made.feed(pa.table({"t": [5, 3, 9], "k": ["a", "b", "a"], "x": [1, 2, 4]}))
    return made


SIZES: dict[str, int] = opened(live().to_bytes())[0]["sizes"]


class TestLive:
    @pytest.mark.parametrize(
        "changes",
        [
            {"watermark": 2**63},
            {"watermark": -(10**30)},
            {"watermark": 1.5},
            {"late": -1},
            {"late": 2**64},
            {"lateness": HUGE},
            {"lateness": {"days": 10**12}},
            {"lateness": {"days": 0, "seconds": 0, "microseconds": 10**30}},
            {"lateness": [1]},
            {"sizes": {**SIZES, "schema": -5}},
            {"sizes": {**SIZES, "schema": 10**30}},
            {"sizes": {**SIZES, "rows": 10**30}},
            {"sizes": {**SIZES, "rows": 0}},
            {"sizes": {**SIZES, "rows": SIZES["rows"] - 8}},
            {"sizes": {**SIZES, "past": SIZES["rows"], "rows": 0}},
            {"sizes": {**SIZES, "last": -1}},
            {"sizes": {**SIZES, "past": True}},
            {"sizes": {}},
            {"sizes": None},
            {"sizes": [1]},
            {"id": [{}]},
            {"emit": "\n"},
            {"definition": "[" * 5000},
            {"definition": '{"columns":{"x\\ny":5}}'},
            {"definition": '{"on":"t","columns":{}}'},
            {"operators": {}},
        ],
        ids=lambda changes: str(changes)[:40],
    )
    def test_headers(self, changes: dict[str, Any]) -> None:
        header, payload = opened(live().to_bytes())
        with pytest.raises(StateError) as caught:
            sf.Live.from_bytes(sealed({**header, **changes}, payload))
        text = str(caught.value)
        assert text.isprintable()
        assert len(text) <= 600

    @pytest.mark.parametrize(
        "change",
        [
            {"over": {"kind": "rows", "n": HUGE}},
            {"over": "9" * 5000 + "s"},
            {"min_count": 2**70},
            {"operator": "bloom", "params": {"bits": 10**12}},
            {"operator": "this:s"},
            {"operator": "antigravity:x"},
            {"operator": "nowhere\n:x"},
        ],
        ids=lambda change: str(change)[:40],
    )
    def test_definitions(self, change: dict[str, Any]) -> None:
        header, payload = opened(live().to_bytes())
        definition = json.loads(header["definition"])
        definition["columns"]["n"].update(change)
        header["definition"] = json.dumps(definition)
        with pytest.raises(StateError) as caught:
            sf.Live.from_bytes(sealed(header, payload))
        assert str(caught.value).isprintable()
        assert "this" not in sys.modules
        assert "antigravity" not in sys.modules

    def test_last_results_of_another_type(self) -> None:
        definition = sf.rolling(on="t", s=sf.max("x").over(sf.time(10)))
        texts, whole = (definition.live(lateness=3, emit="change") for _ in range(2))
        texts.feed(pa.table({"t": [5, 9], "x": ["a", "b"]}))
        whole.feed(pa.table({"t": [5, 9], "x": [b"a", b"b"]}))
        header, payload = opened(texts.to_bytes())
        other, there = opened(whole.to_bytes())
        size = other["sizes"]["last"]
        last = there[-size:]
        own = header["sizes"]["last"]
        header["sizes"]["last"] = size
        with refused(StateError, "the last results"):
            sf.Live.from_bytes(sealed(header, payload[:-own] + last))


@sf.operator
class Longest:
    """A user's operator."""

    lift = staticmethod(lambda word: word)
    combine = staticmethod(lambda older, newer: max(older, newer, key=len))
    lower = staticmethod(lambda word: word)


class TestOperatorsOfLiveRuns:
    def test_are_given_or_imported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        user: Any = Longest
        both = sf.struct(w=user("w"), n=sf.count())
        made = sf.rolling(on="t", word=user("w").over(sf.time(9)), both=both.over(sf.time(9))).live(
            lateness=0
        )
        made.feed(pa.table({"t": [1, 2], "w": ["a", "fold"]}))
        data = made.to_bytes()
        assert sf.Live.from_bytes(data).to_bytes() == data
        monkeypatch.delitem(sys.modules, __name__)
        with refused(StateError, "Longest", "not imported"):
            sf.Live.from_bytes(data)
        assert __name__ not in sys.modules
        again = sf.Live.from_bytes(data, operators=[user])
        assert again.to_bytes() == data
        assert sf.Live.from_bytes(data, made.definition).to_bytes() == data

    def test_results_in_a_struct_get_their_type_with_the_first(self) -> None:
        """A part whose type was not known yet was cast to null: a raw Arrow error."""
        user: Any = Longest
        both = sf.struct(w=user("w"), n=sf.count())
        made = sf.rolling(on="t", s=both.over(sf.time(9))).live(lateness=0, emit="arrival")
        rows = made.feed(pa.table({"t": [1, 2], "w": ["a", "fold"]}))
        assert rows["s"].to_pylist() == [{"w": "a", "n": 1}, {"w": "fold", "n": 2}]


@pytest.mark.parametrize("arity", [-1, 0, 1, 257, 2**31 - 1, 2**40, HUGE])
def test_the_arity_of_a_window_with_late_events(arity: int) -> None:
    window = sf.Window(sf.concat(), sf.time(9), lateness=3)
    window.push(1, "a")
    header, payload = opened(window.to_bytes())
    header["options"]["min_arity"] = arity
    with pytest.raises(StateError, match="no valid min_arity"):
        sf.Window.from_bytes(sealed(header, payload))


def test_nulls_of_a_flat_fat_are_where_rows_are() -> None:
    fat = sf.algorithms.FlatFat(sf.sum(), capacity=4)
    for value in (1.0, None, 2.0):
        fat.insert(value)
    whole = fat.to_bytes()
    again = sf.algorithms.FlatFat.from_bytes(whole)
    assert (len(again), again.query()) == (3, 3.0)
    one, far = ((position).to_bytes(8, "little") for position in (1, 2**40))
    at = whole.rindex(one, 0, -16)
    damaged = bytearray(whole[:-16])
    damaged[at : at + 8] = far
    damaged += blake2b(damaged, digest_size=16).digest()
    with pytest.raises(sf.errors.StateError, match="a null is at a position that holds no row"):
        sf.algorithms.FlatFat.from_bytes(bytes(damaged))


def test_a_schema_in_another_byte_order_does_not_swap_what_is_saved_next() -> None:
    """The byte order of a schema is a field of its bytes, and rows are written in it."""
    schema = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.int64()})
    live = sf.rolling(on="t", by="k", s=sf.sum("x").over(5)).live(lateness=2)
    live.feed(pa.table({"t": [1, 2], "k": ["a", "b"], "x": [7, 8]}, schema=schema))
    expected = sf.Live.from_bytes(live.to_bytes()).finish()
    header, payload = opened(live.to_bytes())
    size = header["sizes"]["schema"]
    big = 0
    for at, offset in product(range(size), range(4, 16, 2)):  # an offset in a table of the schema
        raw = bytearray(payload)
        raw[at] = offset
        try:
            read = pa.ipc.read_schema(pa.py_buffer(bytes(raw[:size])))
        except (pa.ArrowException, OSError):
            continue
        if list(read) == list(schema) and read != schema:  # the byte order is all that differs
            big += 1
            again = sf.Live.from_bytes(sealed(header, bytes(raw)))
            again = sf.Live.from_bytes(again.to_bytes())
            assert again.finish().equals(expected)
    assert big
