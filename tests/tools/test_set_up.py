"""The set-up scripts, with stand-ins for java, apt-get, id and sudo on an otherwise bare path."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
NEEDED = ("sh", "sed", "head", "dirname", "cat", "chmod", "cp", "rm")


class Machine:
    """A folder of commands that stands for a whole machine."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "log"
        self.log.touch()
        for name in NEEDED:
            real = next(p for d in os.defpath.split(":") if (p := Path(d or ".") / name).exists())
            (self.bin / name).symlink_to(real)
        self.command("id", "echo 1000")

    def command(self, name: str, script: str) -> Path:
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> "{self.log}"\n{script}\n')
        path.chmod(0o755)
        return path

    def java(self, version: str) -> Path:
        return self.command("java", f"echo 'openjdk version \"{version}\" 2025-04-15' >&2")

    def apt(self, brings: dict[str, str]) -> None:
        """An apt-get that knows some packages; each brings a java of some version."""
        cases = "".join(
            f'*" {package}") cp "{self.bin}/java.{package}" "{self.bin}/java" ;;\n'
            for package in brings
        )
        for package, version in brings.items():
            self.java(version).rename(self.bin / f"java.{package}")
        self.command("apt-get", f'case "$*" in *update) ;;\n{cases}*) exit 100 ;; esac')

    def run(self, script: str, *arguments: str, **variables: str) -> tuple[int, str]:
        done = subprocess.run(
            [str(self.bin / "sh"), str(TOOLS / script), *arguments],
            env={"PATH": str(self.bin), **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def called(self, name: str) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if line.split()[0] == name]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


ADVICE = "Java 17 or newer is missing: install openjdk-17-jre-headless, or set JAVA_HOME.\n"


@pytest.mark.parametrize("version", ["17.0.15", "17", "21.0.2", "25-ea"])
def test_java_that_is_new_enough_is_kept(machine: Machine, version: str) -> None:
    machine.java(version)
    machine.command("id", "echo 0")
    machine.apt({})
    assert machine.run("ensure_java.sh") == (0, "")
    assert machine.called("apt-get") == []


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16.0.1"])
def test_java_that_is_too_old_is_one_line(machine: Machine, version: str) -> None:
    machine.java(version)
    assert machine.run("ensure_java.sh") == (1, ADVICE)


def test_java_that_does_not_start_is_one_line(machine: Machine) -> None:
    machine.command("java", "echo 'no JVM here' >&2; exit 1")
    assert machine.run("ensure_java.sh") == (1, ADVICE)


def test_no_java_and_no_apt_is_one_line(machine: Machine) -> None:
    machine.command("id", "echo 0")
    assert machine.run("ensure_java.sh") == (1, ADVICE)


def as_root(machine: Machine) -> None:
    machine.command("id", "echo 0")


def with_sudo(machine: Machine) -> None:
    machine.command("sudo", 'shift; [ "$1" = true ] || "$@"')


@pytest.mark.parametrize("allow", [as_root, with_sudo])
def test_java_is_installed_where_allowed(
    machine: Machine, allow: Callable[[Machine], None]
) -> None:
    machine.apt({"openjdk-17-jre-headless": "17.0.15"})
    allow(machine)
    assert machine.run("ensure_java.sh") == (0, "")
    assert len(machine.called("apt-get")) == 2


def test_the_next_java_is_taken_where_17_is_gone(machine: Machine) -> None:
    machine.apt({"openjdk-21-jre-headless": "21.0.2"})
    as_root(machine)
    assert machine.run("ensure_java.sh") == (0, "")


def test_sudo_that_asks_for_a_password_is_not_used(machine: Machine) -> None:
    machine.apt({"openjdk-17-jre-headless": "17.0.15"})
    machine.command("sudo", "exit 1")
    assert machine.run("ensure_java.sh") == (1, ADVICE)
    assert machine.called("apt-get") == []


def test_java_home_is_asked_first_and_never_changed(machine: Machine, tmp_path: Path) -> None:
    machine.java("17.0.15")
    machine.apt({"openjdk-17-jre-headless": "17.0.15"})
    as_root(machine)
    status, said = machine.run("ensure_java.sh", JAVA_HOME=str(tmp_path))
    assert status == 1
    assert said == f"JAVA_HOME={tmp_path} is not Java 17 or newer: point it at one, or unset it.\n"
    assert machine.called("apt-get") == []


NO_BROWSER = "Chromium is missing, so pages cannot be tested: install chromium.\n"


@pytest.mark.parametrize("name", ["chromium", "chromium-browser"])
def test_a_browser_is_kept(machine: Machine, name: str) -> None:
    machine.command(name, "")
    as_root(machine)
    machine.apt({})
    assert machine.run("ensure_chromium.sh") == (0, "")
    assert machine.called("apt-get") == []


def test_a_browser_is_installed_where_allowed(machine: Machine) -> None:
    brings = f'cp "$0" "{machine.bin}/chromium"'
    machine.command("apt-get", f'case "$*" in *" chromium") {brings} ;; esac')
    assert machine.run("ensure_chromium.sh") == (1, NO_BROWSER)
    as_root(machine)
    assert machine.run("ensure_chromium.sh") == (0, "")
    assert len(machine.called("apt-get")) == 2


def test_no_browser_is_one_line(machine: Machine) -> None:
    as_root(machine)
    machine.command("apt-get", "exit 100")
    assert machine.run("ensure_chromium.sh") == (1, NO_BROWSER)


def test_no_python_is_one_line(machine: Machine, tmp_path: Path) -> None:
    machine.command("python3", "exit 1")
    status, said = machine.run("ensure_venv.sh", str(tmp_path / "venv"))
    assert status == 1
    assert said.startswith("Python 3.11 or newer with venv and C headers is missing:")
    assert said.count("\n") == 1


def test_no_compiler_is_one_line(machine: Machine, tmp_path: Path) -> None:
    machine.command("python3", "exit 0")
    status, said = machine.run("ensure_venv.sh", str(tmp_path / "venv"))
    assert (status, said.count("\n")) == (1, 1)
    assert said.startswith("A C++20 compiler is missing:")


def test_the_first_python_that_will_do_makes_the_environment(
    machine: Machine, tmp_path: Path
) -> None:
    machine.command("python3", "exit 1")
    machine.command("python3.12", "exit 0")
    machine.command("c++", "exit 0")
    venv = tmp_path / "venv"
    assert machine.run("ensure_venv.sh", str(venv)) == (0, "")
    assert machine.called("python3.12")[-1] == f"python3.12 -m venv {venv}"
