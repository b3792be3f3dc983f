"""Spark's own servers, as processes of their own, for tests that need a cluster or a Connect server."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark
import pytest

from tests.conftest import QUICK_JAVA
from tests.spark.conftest import kill_group, wait_for

SPARK_HOME = Path(pyspark.__file__).parent


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def daemon(folder: Path, name: str, *arguments: str, memory: str = "256m") -> Iterator[subprocess.Popen[bytes]]:
    """One of Spark's own servers, in a group of its own with all that it starts."""
    environment = {
        **os.environ,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": memory,
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "PYSPARK_PYTHON": sys.executable,
    }
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [str(SPARK_HOME / "bin" / "spark-class"), *arguments],
            env=environment,
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        kill_group(process.pid)
        process.wait()


def logged(folder: Path, name: str, pattern: str) -> int:
    return len(re.findall(pattern, (folder / f"{name}.log").read_text()))


@contextmanager
def connect_server(folder: Path, **settings: str) -> Iterator[str]:
    """Start a Connect server on this machine, and yield its sc:// URL. Names of settings have __ for each dot."""
    port = free_port()
    given = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    } | {name.replace("__", "."): value for name, value in settings.items()}
    options = [part for name, value in given.items() for part in ("--conf", f"{name}={value}")]
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    submit = ("--master", "local[1]", "--class", main, *options, "spark-internal")
    with daemon(folder, "server", "org.apache.spark.deploy.SparkSubmit", *submit, memory="1g") as process:

        def listens() -> bool:
            if process.poll() is not None:
                pytest.fail(f"the server ended: {(folder / 'server.log').read_text()[-2000:]}")
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return True
            return False

        wait_for(listens, "the server")
        yield f"sc://127.0.0.1:{port}"
