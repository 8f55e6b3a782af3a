"""How the native code is compiled: strictly for development, not where it is only installed."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
@pytest.mark.parametrize(("options", "strict"), [([], False), (["-DSLIDEFOLD_WERROR=ON"], True)])
def test_warnings_are_errors_only_where_asked(
    tmp_path: Path, options: list[str], strict: bool
) -> None:
    always = ["-DSLIDEFOLD_PYTHON=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    subprocess.run(
        ["cmake", "-S", str(ROOT), "-B", str(tmp_path), "-G", "Ninja", *always, *options],
        check=True,
        capture_output=True,
    )
    commands = (tmp_path / "compile_commands.json").read_text()
    assert "-Wall" in commands
    assert ("-Werror" in commands) == strict


def test_an_installation_does_not_ask_for_it() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    assert "SLIDEFOLD_WERROR" not in settings["cmake"]["define"]
    assert "-Werror" not in str(settings)
