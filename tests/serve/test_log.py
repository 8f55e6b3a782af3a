"""The log: whole records come back, a torn end is cut, other damage is refused."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from slidefold.errors import StateError
from slidefold.serve import log as logs
from slidefold.serve.log import Log


def written(folder: Path, records: list[bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    log = Log(folder)
    assert list(log.recover(0)) == []
    for record in records:
        log.append([record])
    log.close()
    return next(folder.glob("*.log"))


def read(folder: Path, after: int = 0) -> list[bytes]:
    log = Log(folder)
    found = [data for _, data in log.recover(after)]
    log.close()
    return found


def test_records_come_back(tmp_path: Path) -> None:
    records = [b"one", b"", b"three" * 100]
    written(tmp_path, records)
    assert read(tmp_path) == records
    assert read(tmp_path, after=2) == records[2:]


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    written(tmp_path, [b"one"])
    log = Log(tmp_path)
    list(log.recover(0))
    assert log.append([b"two", b"three"]) == 3
    log.close()
    assert read(tmp_path) == [b"one", b"two", b"three"]


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 440), marks=pytest.mark.exhaustive)]
)
def test_damage_gives_a_prefix_or_is_refused(tmp_path: Path, seeds: range) -> None:
    """Cut, changed or lengthened bytes: records that come back are a prefix of what was written."""
    for seed in seeds:
        check_damage(tmp_path / str(seed), seed)


def check_damage(tmp_path: Path, seed: int) -> None:
    tmp_path.mkdir()
    rng = random.Random(seed)
    records = [rng.randbytes(rng.randrange(60)) for _ in range(rng.randrange(1, 8))]
    path = written(tmp_path / "log", records)
    for _ in range(25):
        content = bytearray(path.read_bytes())
        kind = rng.choice(["cut", "flip", "add"])
        last = len(content) - len(records[-1]) - logs._HEAD.size
        damaged_before = False
        if kind == "cut":
            del content[rng.randrange(len(content)) :]
        elif kind == "add":
            content += rng.randbytes(rng.randrange(1, 40))
        else:
            place = rng.randrange(len(content))
            content[place] ^= 1 << rng.randrange(8)
            damaged_before = place < last
        copy = tmp_path / "copy"
        copy.mkdir(exist_ok=True)
        (copy / path.name).write_bytes(bytes(content))
        try:
            found = read(copy)
        except StateError:
            assert damaged_before
            continue
        assert found == records[: len(found)]
        assert not damaged_before
        if kind == "add":
            assert found == records
        assert read(copy) == found  # what was cut stays cut


def test_files_of_bounded_size_and_their_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "FILE_BYTES", 100)
    written(tmp_path, [b"x" * 60 for _ in range(10)])
    assert len(list(tmp_path.glob("*.log"))) == 5
    log = Log(tmp_path)
    assert len(list(log.recover(0))) == 10
    log.drop(5)
    assert [number for number, _ in Log(tmp_path).recover(5)] == [6, 7, 8, 9, 10]
    with pytest.raises(StateError, match="lacks the records 1 to 4"):
        list(Log(tmp_path).recover(0))
    sorted(tmp_path.glob("*.log"))[1].unlink()
    with pytest.raises(StateError, match="lacks the records"):
        list(Log(tmp_path).recover(5))


def test_a_full_disk_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, [b"one"])
    log = Log(tmp_path)
    list(log.recover(0))
    write = os.write

    def full(file: int, data: bytes) -> int:
        write(file, data[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        log.append([b"two"])
    monkeypatch.setattr(os, "write", write)
    assert log.append([b"again"]) == 2
    log.close()
    assert read(tmp_path) == [b"one", b"again"]
