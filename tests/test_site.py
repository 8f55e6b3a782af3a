"""Pages in a real browser, if Chromium is installed: no errors, nothing loaded from elsewhere."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import slidefold as sf

ROOT = Path(__file__).parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SIZES = ("1280,900", "420,900")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]


def opened(page: str, folder: Path, size: str = SIZES[0]) -> tuple[str, list[str], list[str]]:
    """Open a page without a server: the document, what the console says, and requests."""
    log = folder / "net.json"
    done = subprocess.run(
        [
            str(CHROMIUM),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--disable-component-update", "--no-first-run", "--virtual-time-budget=5000"),
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={size}",
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
            f"--log-net-log={log}",
            "--enable-logging=stderr",
            "--dump-dom",
            page,
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    said = re.findall(r"CONSOLE[^\]]*\] (.*)", done.stderr)
    network = log.read_text(encoding="utf-8", errors="replace")
    # What the browser asks for itself, such as updates, has no origin.
    sent = re.findall(r'"initiator":"([^"]*)".*?"url":"(https?://[^"]+)"', network)
    requests = sorted({url for origin, url in sent if origin != "not an origin"})
    return done.stdout, said, requests


def test_a_request_and_an_error_are_seen(tmp_path: Path) -> None:
    """The check itself works: a page that does both is found out."""
    page = tmp_path / "bad.html"
    page.write_text(
        '<script src="http://127.0.0.1:49999/x.js"></script><script>nonsense()</script>'
    )
    _, said, requests = opened(page.as_uri(), tmp_path)
    assert requests == ["http://127.0.0.1:49999/x.js"]
    assert any("nonsense" in line for line in said)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: make docs installs it")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        ["python", "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={"PATH": f"{ROOT / '.venv/bin'}:/usr/bin:/bin", "NO_MKDOCS_2_WARNING": "1"},
        timeout=600,
        check=True,
    )
    return folder


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "page", ["index", "benchmarks", "cookbook", "reference/api", "coming-from/pandas"]
)
def test_pages_are_quiet_and_complete(site: Path, tmp_path: Path, page: str) -> None:
    for size in SIZES:
        text, said, requests = opened((site / f"{page}.html").as_uri(), tmp_path, size)
        assert said == []
        assert requests == []
        assert "md-content" in text


@pytest.mark.exhaustive
def test_the_search_works_without_a_server(site: Path, tmp_path: Path) -> None:
    page = (site / "coming-from" / "pandas.html").as_uri()
    text, said, requests = opened(f"{page}?q=watermark", tmp_path)
    assert said == []
    assert requests == []
    assert re.search(r"\d+ matching documents", text)


def test_pictures_of_notebooks_are_quiet(tmp_path: Path) -> None:
    features = sf.rolling(
        on="ts", by="k", a=sf.sum("x").over("1h"), b=sf.max("x").over(5), c=sf.count().over("2h")
    )
    window = sf.Window(sf.max(), sf.rows(3))
    window.push(2.0)
    things: tuple[Any, ...] = (features, features.explain(), window)
    page = tmp_path / "notebook.html"
    page.write_text("<!doctype html>" + "<hr>".join(t._repr_html_() for t in things))
    text, said, requests = opened(page.as_uri(), tmp_path)
    assert (said, requests) == ([], [])
    assert text.count("<svg") >= 3
