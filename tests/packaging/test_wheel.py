"""The package as users get it: a wheel from the sdist, in an empty environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

import slidefold as sf

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def call(*words: str | Path, folder: Path) -> str:
    """Run a command and return what it prints."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")},
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    code = f"import scikit_build_core.build as b; print(b.build_sdist({str(folder)!r}))"
    call(sys.executable, "-c", code, folder=ROOT)
    (archive,) = folder.glob("*.tar.gz")
    return archive


def test_the_version_has_one_place(sdist: Path) -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert sdist.name == f"slidefold-{sf.__version__}.tar.gz"


def test_the_sdist_holds_what_a_build_needs_and_little_else(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "PKG-INFO"):
        assert needed in names
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / "cpp").rglob("*.[ch]pp")}
    assert {name for name in sources if not name.startswith("cpp/tests/")} <= names
    assert "src/slidefold/_native_ext.pyi" in names
    rest = {name for name in names if name.startswith(("tests/", "benchmarks/", ".venv", "build/"))}
    assert rest == set()


def test_the_build_is_portable() -> None:
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert "-march" not in text
    assert "-mtune" not in text


def test_classifiers_name_the_supported_versions() -> None:
    listed = PROJECT["project"]["classifiers"]
    for version in ("3.11", "3.12", "3.13", "3.14"):
        assert f"Programming Language :: Python :: {version}" in listed
    assert PROJECT["project"]["requires-python"] == ">=3.11"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_wheel_runs_the_quickstart_with_numpy_and_pyarrow_only(
    sdist: Path, tmp_path: Path
) -> None:
    wheels = tmp_path / "wheels"
    call(
        *(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"),
        *("-w", wheels, sdist),
        folder=tmp_path,
    )
    (wheel,) = wheels.glob("slidefold-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(archive.read(about).decode())
    assert headers["Version"] == sf.__version__
    needs = [need for need in headers.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert sorted(re.match(r"[\w-]+", need)[0] for need in needs) == ["numpy", "pyarrow"]  # type: ignore[index]
    assert not [name for name in names if name.startswith(("cpp/", "tests/"))]

    home = tmp_path / "empty"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    call(python, "-m", "pip", "install", "-q", wheel, folder=tmp_path)
    installed = call(python, "-m", "pip", "list", "--format=freeze", folder=tmp_path)
    packages = {line.partition("==")[0] for line in installed.splitlines()}
    assert packages - {"pip", "setuptools"} == {"numpy", "pyarrow", "slidefold"}
    said = call(python, ROOT / "tests/packaging/quickstart.py", ROOT, folder=tmp_path)
    assert str(home) in said
