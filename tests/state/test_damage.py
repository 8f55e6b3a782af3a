"""Bytes that are damaged, cut, foreign or made up: a StateError each time, never a crash."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

import slidefold as sf
from slidefold.algorithms import DabaLite, Fiba, FlatFat, Recalc, Sba, SlickDeque
from slidefold.errors import OperatorError, SlidefoldError, StateError, ValueTypeError
from slidefold.state import window_header
from tests.support.algorithms import fitting
from tests.support.cases import BY_ID
from tests.support.envelopes import MAGIC, flips, opened, sealed, with_header, with_payload
from tests.support.for_each import for_each
from tests.support.saving import (
    KEPT,
    Kept,
    Walk,
    late_window,
    pushing,
    stepping,
    tree_of,
    window_of,
)
from tests.support.unchanged import one_sentence, refused


def small() -> bytes:
    """A small state."""
    a = DabaLite(sf.max())
    for value in (3.0, 1.0, 2.0):
        a.insert(value)
    return a.to_bytes()


class TestAccidents:
    def test_every_flipped_bit(self) -> None:
        for damaged in flips(small()):
            with pytest.raises(StateError) as caught:
                DabaLite.from_bytes(damaged)
            one_sentence(caught.value)

    @pytest.mark.parametrize("kept", KEPT[::40], ids=str)
    def test_flipped_bits_of_all_kinds(self, kept: Kept) -> None:
        made, walk = kept.after(12)
        data = made.to_bytes()
        for _ in range(200):
            damaged = bytearray(data)
            damaged[walk.rng.randrange(len(data))] ^= 1 << walk.rng.randrange(8)
            with pytest.raises(StateError):
                type(made).from_bytes(bytes(damaged))

    def test_every_truncation(self) -> None:
        data = small()
        for length in range(len(data)):
            with pytest.raises(StateError) as caught:
                DabaLite.from_bytes(data[:length])
            assert "truncated" in one_sentence(caught.value)

    def test_too_many_bytes(self) -> None:
        with refused(StateError, "the bytes are too long: expected"):
            DabaLite.from_bytes(small() + b"\0")
        with refused(StateError):
            DabaLite.from_bytes(small() + small())

    def test_garbage(self) -> None:
        rng = random.Random(1)
        for length in [*range(64), 500, 5000]:
            garbage = rng.randbytes(length)
            for data in (garbage, MAGIC + garbage, MAGIC + b"\1\0" + garbage):
                with pytest.raises(StateError):
                    DabaLite.from_bytes(data)

    @pytest.mark.parametrize("foreign", [b"PK\3\4", b"\x80\5.", b"slidefold", b"{}", b"\0" * 99])
    def test_foreign(self, foreign: bytes) -> None:
        with refused(StateError):
            DabaLite.from_bytes(foreign)

    def test_sentences(self) -> None:
        data = small()
        with refused(StateError, "not a state saved by slidefold"):
            DabaLite.from_bytes(b"PAR1" + data)
        with refused(StateError, "format 3", "newer"):
            DabaLite.from_bytes(sealed(*opened(data), version=3))
        with refused(StateError, "format 0"):
            DabaLite.from_bytes(sealed(*opened(data), version=0))
        with refused(StateError, "checksum"):
            DabaLite.from_bytes(data[:-1] + bytes([data[-1] ^ 1]))

    @pytest.mark.parametrize("value", [None, "text", 5, [1, 2], object()])
    def test_not_bytes(self, value: Any) -> None:
        with refused(ValueTypeError, "expected bytes, got"):
            DabaLite.from_bytes(value)


class TestSwapped:
    def test_every_kind_refuses_every_other(self) -> None:
        firsts: dict[str, Any] = {}
        for kept in KEPT:
            made = kept.empty()
            firsts.setdefault(getattr(made, "name", "window"), made)
        assert len(firsts) == 16
        for name, made in firsts.items():
            data = made.to_bytes()
            for other, twin in firsts.items():
                if other == name:
                    continue
                with refused(StateError, f"expected the state of {other}", f"state of {name}"):
                    type(twin).from_bytes(data)

    def test_the_base_class_takes_none(self) -> None:
        with refused(StateError, "daba_lite", "Algorithm"):
            sf.algorithms.Algorithm.from_bytes(small())
        with refused(StateError, "daba_lite", "Boundary"):
            sf.algorithms.Boundary.from_bytes(small())

    def test_an_envelope_of_another_class(self) -> None:
        """The payload of one in the envelope of another: the checksum is right, the rest is not."""
        kept = [stepping(n, BY_ID["concat"]) for n in ("daba", "daba_lite", "flat_fit", "amta")]
        for one in kept:
            for other in kept:
                if one is other:
                    continue
                left, right = one.after(9)[0], other.after(9)[0]
                data = with_payload(left.to_bytes(), opened(right.to_bytes())[1])
                with refused(StateError):
                    type(left).from_bytes(data)


def survives(cls: Any, data: bytes, kept: Kept) -> bool:
    """Load what was made up: a StateError, or an object that answers or refuses as any other."""
    try:
        made = cls.from_bytes(data)
    except StateError as error:
        one_sentence(error)
        return False
    walk = Walk(1)
    for _ in range(8):
        try:
            kept.step(made, walk)
            len(made)
        except SlidefoldError:
            pass
        except (TypeError, ValueError, OverflowError):  # of a user's operator, on nonsense
            assert "user" in kept.id
    return True


class TestForged:
    """Whoever writes a payload can compute its checksum too."""

    @for_each("kept", KEPT[::5])
    def test_payloads(self, kept: Kept) -> None:
        made, walk = kept.after(14)
        header, payload = opened(made.to_bytes())
        cls = type(made)
        for cut in {0, 1, len(payload) // 2, len(payload) - 1}:
            with pytest.raises(StateError):
                cls.from_bytes(sealed(header, payload[:cut]))
        with pytest.raises(StateError):
            cls.from_bytes(sealed(header, payload + b"\0"))
        for _ in range(80):
            damaged = bytearray(payload)
            for _ in range(walk.rng.choice([1, 1, 1, 2, 5])):
                at = walk.rng.randrange(len(damaged))
                damaged[at] = walk.rng.choice([0, 1, 255, damaged[at] ^ 1, damaged[at] ^ 128])
            survives(cls, sealed(header, bytes(damaged)), kept)
        for length in (0, 8, 100, 2000):
            survives(cls, sealed(header, walk.rng.randbytes(length)), kept)
            survives(cls, sealed(header, bytes(length)), kept)

    @pytest.mark.parametrize(
        "kept",
        [
            *(stepping(name, BY_ID["max-float64"]) for name in fitting(sf.max())),
            *(stepping(n, BY_ID["concat"]) for n in ("amta", "daba", "flat_fat")),
            stepping("subtract_on_evict", BY_ID["user-reversible"]),
            stepping("slick_deque", BY_ID["user-longest"], checked=True, counted=True),
            pushing("sba", BY_ID["max_by-str-float64"], (9, 4), checked=True),
            window_of("daba_lite", BY_ID["collect-int64"], sf.time(7, closed="left"), checked=True),
            window_of("flat_fat", BY_ID["first-object"], sf.rows(3, closed="left")),
            tree_of(sf.algorithms.Fiba, BY_ID["concat"], min_arity=2),
            tree_of(sf.algorithms.BTree, BY_ID["max-float64"], min_arity=2, counted=True),
            late_window(BY_ID["sum-float64"], sf.time(8), 5),
            late_window(BY_ID["user-product"], sf.time(6.5), 2.5),
        ],
        ids=str,
    )
    def test_every_bit_of_a_payload(self, kept: Kept) -> None:
        made, _ = kept.after(7)
        header, payload = opened(made.to_bytes())
        refusals = [not survives(type(made), sealed(header, p), kept) for p in flips(payload)]
        assert any(refusals)

    @pytest.mark.parametrize(
        "header",
        [
            b"",
            b"null",
            b"[]",
            b"{",
            b'{"kind": "daba_lite"}',
            b'{"kind":"daba_lite","kind":"daba_lite"}',
            b"[" * 100_000,
            b'{"kind":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
            b'{"kind":' + b"1" * 5000 + b"}",
            b'{"kind":NaN}',
            b'{"kind":"' + b"x" * 5000 + b'"}',
            b'{"kind":"\xff"}',
            b'{"kind":"two\\nlines"}',
        ],
    )
    def test_headers(self, header: bytes) -> None:
        with refused(StateError):
            DabaLite.from_bytes(sealed(header, opened(small())[1]))

    @pytest.mark.parametrize("name", ["kind", "operator", "options"])
    @pytest.mark.parametrize("value", [None, 0, "x", [], {}, {"checked": 1, "counted": 0}, True])
    def test_fields_of_headers(self, name: str, value: Any) -> None:
        with refused(StateError):
            DabaLite.from_bytes(with_header(small(), **{name: value}))
        header, payload = opened(small())
        del header[name]
        with refused(StateError):
            DabaLite.from_bytes(sealed(header, payload))

    @pytest.mark.parametrize("lateness", [None, 3])
    @pytest.mark.parametrize("name", ["operator", "options", "window", "algorithm", "asked"])
    @pytest.mark.parametrize("value", [None, 0, "x\n.", [], {}, {"kind": "rows"}, 1e300])
    def test_fields_of_windows(self, name: str, value: Any, lateness: Any) -> None:
        data = sf.Window(sf.max(), sf.time(5), lateness=lateness).to_bytes()
        with refused(StateError):
            sf.Window.from_bytes(with_header(data, **{name: value}))

    @pytest.mark.parametrize("lateness", [None, 2.5])
    @pytest.mark.parametrize(
        "value", [None, 2.5, "x", [], {}, {"days": 1}, -1, True, {"days": 10**30}, float("nan")]
    )
    def test_lateness(self, value: Any, lateness: Any) -> None:
        if value == lateness:
            return
        data = sf.Window(sf.max(), sf.time(5), lateness=lateness).to_bytes()
        with refused(StateError):
            sf.Window.from_bytes(with_header(data, lateness=value))

    @pytest.mark.parametrize("lateness", [None, 3])
    def test_what_was_asked_for(self, lateness: Any) -> None:
        data = sf.Window(sf.max(), sf.time(5), lateness=lateness).to_bytes()
        asked = opened(data)[0]["asked"]
        changes: list[dict[str, Any]]
        changes = [{"optimize": "memory"}, {"algorithm": "x"}, {"late": []}, {"more": 1}]
        for change in changes:
            with refused(StateError):
                sf.Window.from_bytes(with_header(data, asked={**asked, **change}))

    def test_a_plan_of_another_time(self) -> None:
        """The algorithm that ran goes on, whatever the planner would choose today."""
        w = sf.Window(sf.max(), sf.rows(3), algorithm="two_stacks")
        w.push(5.0)
        data = w.to_bytes()
        asked = {**opened(data)[0]["asked"], "algorithm": None}
        again = sf.Window.from_bytes(with_header(data, asked=asked))
        assert again.plan.algorithm == "two_stacks"
        assert "saved" in again.explain()
        assert again.push(1.0) == 5.0

    @pytest.mark.parametrize(
        "window",
        [
            {"kind": "rows", "n": 0, "closed": "right"},
            {"kind": "rows", "n": True, "closed": "right"},
            {"kind": "rows", "n": 2**80, "closed": "right"},
            {"kind": "rows", "n": 3, "closed": ["right"]},
            {"kind": "rows", "n": 3},
            {"kind": "rows", "n": 3, "closed": "right", "more": 1},
            {"kind": "time", "range": "1 fortnight", "closed": "right"},
            {"kind": "time", "range": {"days": 1}, "closed": "right"},
            {"kind": "time", "range": {"years": 1}, "closed": "right"},
            {"kind": "time", "range": {"days": 10**12}, "closed": "right"},
            {"kind": "time", "range": -1, "closed": "right"},
            {"kind": "time", "range": float("inf"), "closed": "right"},
            {"kind": "sessions", "gap": 3},
        ],
    )
    def test_windows(self, window: Any) -> None:
        data = sf.Window(sf.max(), sf.rows(5)).to_bytes()
        with refused(StateError):
            sf.Window.from_bytes(with_header(data, window=window))

    def test_a_window_of_another_rule(self) -> None:
        """A payload with times in a rows window, floats in a window of datetimes, and so on."""
        case = BY_ID["sum-int64"]
        rules: dict[str, list[Any]] = {
            "rows": [sf.rows(3), sf.rows(9)],
            "numbers": [sf.time(7), sf.time(7.5)],
            "datetimes": [sf.time("7s")],
        }
        for sort, group in rules.items():
            for rule in group:
                data = window_of("daba_lite", case, rule).after(60)[0].to_bytes()
                for other, others in rules.items():
                    for another in others:
                        forged = with_header(data, window=window_header(another))
                        loaded = survives(sf.Window, forged, window_of("daba_lite", case, another))
                        assert not loaded or sort == other

    def test_memory_is_not_asked_for_in_vain(self) -> None:
        """A header of a few bytes must not make gigabytes."""
        huge = 2**61
        flat = FlatFat(sf.max(), capacity=4).to_bytes()
        for capacity in (2**20, 2**40, huge, -1, 2**80):
            options = {**opened(flat)[0]["options"], "capacity": capacity}
            with refused(StateError):
                FlatFat.from_bytes(with_header(flat, options=options))
        for data in (Sba(sf.max(), 4).to_bytes(), Sba.over_time(sf.max(), 4, 1).to_bytes()):
            for changes in ({"range": huge}, {"slide": 0}, {"range": 1, "slide": 2}, {"chunk": -1}):
                options = {**opened(data)[0]["options"], **changes}
                with refused(StateError):
                    Sba.from_bytes(with_header(data, options=options))
        payload = opened(small())[1]
        for length in (2**16, 2**32, 2**40, 2**61, 2**63, 2**64 - 1):
            forged = length.to_bytes(8, "little") + payload[8:]
            with refused(StateError):
                DabaLite.from_bytes(with_payload(small(), forged))

    def test_the_second_option_of_boundary_aggregators(self) -> None:
        timed = Sba.over_time(sf.max(), 4, 2).to_bytes()
        rows = Sba(sf.max(), 4, 2).to_bytes()
        swapped = with_header(timed, options=opened(rows)[0]["options"])
        with refused(StateError):
            Sba.from_bytes(swapped)
        nan = {**opened(timed)[0]["options"], "combine_time": float("nan")}
        with refused(StateError):
            Sba.from_bytes(with_header(timed, options=nan))

    def test_arities(self) -> None:
        data = Fiba(sf.max()).to_bytes()
        for least, most in ((1, 8), (4, 7), (4, 2048), (-2, 8), (2**80, 2**90)):
            options = {"min_arity": least, "max_arity": most, "counted": False}
            with refused(StateError):
                Fiba.from_bytes(with_header(data, options=options))
        w = sf.Window(sf.max(), sf.time(5), lateness=1).to_bytes()
        for least in (0, 1, -1, 10**6, 2**80):
            with refused(StateError):
                options = {"checked": False, "min_arity": least}
                sf.Window.from_bytes(with_header(w, options=options))

    def test_texts_are_texts(self) -> None:
        a = Recalc(sf.concat())
        a.insert("abcé")
        header, payload = opened(a.to_bytes())
        with refused(StateError, "UTF-8"):
            Recalc.from_bytes(sealed(header, payload.replace("é".encode(), b"\xff\xfe")))

    def test_a_wrong_pair(self) -> None:
        header, payload = opened(SlickDeque(sf.max()).to_bytes())
        header["operator"]["name"] = "sum"
        with refused(StateError, "selective"):
            SlickDeque.from_bytes(sealed(header, payload))
        data = sf.Window(sf.sum(), sf.rows(3)).to_bytes()
        for name in ("slick_deque", "subtract_on_evict", "bubble_sort", "sba"):
            with refused(StateError):
                sf.Window.from_bytes(with_header(data, algorithm=name))

    def test_the_operator_argument_is_an_operator(self) -> None:
        with refused(OperatorError, "expected an operator"):
            DabaLite.from_bytes(small(), operator="max")  # type: ignore[arg-type]

    def test_nothing_is_unpickled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def forbidden(*_: Any) -> Any:
            raise AssertionError("unpickled")

        monkeypatch.setattr(pickle, "loads", forbidden)
        monkeypatch.setattr(pickle, "Unpickler", forbidden)
        for kept in KEPT[::20]:
            made, _ = kept.after(5)
            type(made).from_bytes(made.to_bytes())
