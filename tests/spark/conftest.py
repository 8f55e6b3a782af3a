"""One Spark session per process: it takes longer to start than most tests to run.

It is local, unless SPARK_REMOTE names a Connect server or SPARK_MASTER names a cluster.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

# A JVM that starts in another zone than UTC must not matter, so the tests run in one.
ZONE = "America/New_York"
# Most code runs a few times only: the optimizing compiler and the parallel collector of Java took
# 43 of 83 core-seconds in seven tests.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    from slidefold.spark.settings import STREAM_SETTINGS

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    remote = os.environ.get("SPARK_REMOTE")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = (
            SparkSession.builder.remote(remote)
            if remote
            else SparkSession.builder.master(os.environ.get("SPARK_MASTER", "local[2]"))
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "1g")
            .config("spark.driver.extraJavaOptions", JAVA)
            .config("spark.executor.memory", "512m")
            .config("spark.executor.extraJavaOptions", JAVA)
        )
        session = (
            builder.config("spark.sql.shuffle.partitions", "4")
            .config("spark.sql.session.timeZone", ZONE)
            .config("spark.sql.execution.arrow.pyspark.enabled", "true")
            .config(map=STREAM_SETTINGS)
            .getOrCreate()
        )
    if not remote:
        session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
