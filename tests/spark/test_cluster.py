"""A standalone cluster of two workers: batch, streams, kills, and how slidefold gets there.

The executors are processes of their own, as on a cluster of many machines.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import slidefold as sf
from tests.spark.modes import run_script, run_tests
from tools.crash import __main__ as crash
from tools.crash.cluster import Cluster
from tools.crash.cluster import cluster as running

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.exhaustive]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pytest.importorskip("pyspark")
    with running(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def test_all_that_is_portable(cluster: Cluster, tmp_path: Path) -> None:
    """Batches of four and more partitions on two executors, and a stream."""
    last = run_tests(tmp_path, "tests/spark/test_portable.py", SPARK_MASTER=cluster.url)
    assert last.startswith("5 passed")
    logs = [worker.log.read_text(errors="replace") for worker in cluster.workers]
    assert all("Asked to launch executor" in log for log in logs)


def test_executors_and_the_driver_are_killed(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crash, "AHEAD", 5)
    stream = crash.Crash(tmp_path / "stream", seed=4, on=cluster)
    stream.live(3, last=False)
    assert stream.finish() == []
    assert stream.kills["executor"] > 0
    assert stream.kills["job"] + stream.kills["java"] == 1


def environment(folder: Path) -> Path:
    """Make an environment with the packages of this one, but without slidefold; return its own."""
    venv.create(folder, with_pip=False, symlinks=True)
    (own,) = folder.glob("lib/python*/site-packages")
    # Files like this one are not read there, so an editable install of slidefold is not seen.
    (own / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return own


SCRIPT = """
import sys
from pyspark.sql import SparkSession
import slidefold as sf
from slidefold.errors import SlidefoldError
from slidefold.spark.startup import readable

settings = dict(word.split("=", 1) for word in sys.argv[1:])
builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.config("spark.executor.memory", "512m").getOrCreate()
data = spark.range(0, 100, 1, 2).selectExpr("id t", "id % 3 k", "id x")
features = sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(9)))
try:
    with readable():
        print(features.run(data, partitions=2).agg({"s": "sum"}).collect())
except SlidefoldError as error:
    print(error)
spark.stop()
"""
# Windows of nine hold up to three rows of a key: every third number.
TOTAL = sum(t - age for t in range(100) for age in (0, 3, 6) if t >= age)


def answer(cluster: Cluster, python: Path | str, **settings: str) -> str:
    """Run a small batch with this Python in the executors; return what it prints."""
    given = {
        "spark.master": cluster.url,
        # Not the folder of the repository, which the workers of the cluster inherit.
        "spark.executorEnv.PYTHONPATH": "",
        "spark.task.maxFailures": "1",
        **settings,
    }
    words = [f"{name}={value}" for name, value in given.items()]
    return run_script(
        SCRIPT, *words, PYSPARK_PYTHON=str(python), PYSPARK_DRIVER_PYTHON=sys.executable
    )


def test_executors_without_slidefold_or_with_another(cluster: Cluster, tmp_path: Path) -> None:
    own = environment(tmp_path / "other")
    python = tmp_path / "other" / "bin" / "python"
    has = (
        f"the driver has slidefold {sf.__version__}, and the Python of this worker, {python}, has "
    )
    fix = f": install slidefold=={sf.__version__} there, or send an environment with spark.archives"
    assert f"{has}no slidefold{fix}\n" == answer(cluster, python)
    (own / "slidefold").mkdir()
    (own / "slidefold" / "__init__.py").write_text('__version__ = "0.0.9"\n')
    assert f"{has}slidefold 0.0.9{fix}\n" == answer(cluster, python)


def test_an_environment_in_an_archive(cluster: Cluster, tmp_path: Path) -> None:
    """The archive is all that executors have of slidefold, and they unpack it."""
    own = environment(tmp_path / "environment")
    package = Path(sf.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, own / "slidefold", ignore=ignored)
    native = import_module("slidefold._native_ext").__file__
    assert native is not None
    shutil.copy(native, own / "slidefold")
    archive = tmp_path / "environment.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        tar.add(tmp_path / "environment", ".")
    shutil.rmtree(tmp_path / "environment")
    found = answer(cluster, "./there/bin/python", **{"spark.archives": f"{archive}#there"})
    assert found.strip() == f"[Row(sum(s)={TOTAL})]"
