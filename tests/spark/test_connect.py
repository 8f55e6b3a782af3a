"""Spark Connect: the tests of test_portable.py through a real server, without a JVM to ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark.modes import run_script, run_tests
from tools.crash.cluster import JAVA, Daemon, free_port

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.exhaustive]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server with two cores; return its address."""
    pytest.importorskip("pyspark")
    pytest.importorskip("grpc")
    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.extraJavaOptions": JAVA,
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    daemon = Daemon(
        folder / "server.txt",
        "org.apache.spark.deploy.SparkSubmit",
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--master", "local[2]"),
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        "spark-internal",
        env={"SPARK_DAEMON_MEMORY": "1g"},
    )
    try:
        daemon.wait_for("Spark Connect server started")
        yield f"sc://127.0.0.1:{port}"
    finally:
        daemon.close()


def test_all_that_is_portable(server: str, tmp_path: Path) -> None:
    last = run_tests(tmp_path, "tests/spark/test_portable.py", SPARK_REMOTE=server)
    assert last.startswith("5 passed")


EXPLAIN = """
import slidefold as sf
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect"), type(spark)
data = spark.range(0, 1000, 1, 3).selectExpr("id t", "id % 5 k", "id x")
print(sf.rolling(on="t", by="k", s=sf.sum("x").over(sf.time(9))).explain(data))
out = sf.rolling(on="t", n=sf.count().over(sf.time(9))).run(data)
print(out.where("n = 9").count(), "rows")
spark.stop()
"""


def test_the_partitions_that_nobody_can_estimate(server: str) -> None:
    """A client cannot ask for sizes, so adaptive execution chooses; `explain` says so."""
    printed = run_script(EXPLAIN, SPARK_REMOTE=server)
    assert "adaptive" in printed
    assert "992 rows" in printed
