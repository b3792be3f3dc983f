"""Indexes in a bucket of S3: a server that speaks its protocol, s3fs as the client, and Hadoop's own client for s3a.

s3fs and the server (moto) need an older python-dateutil than the one in constraints.txt. So they lie in a folder of
their own, which only the processes of this test see: set RULEDEX_S3=1 to have it made from the package index, or to the
path of such a folder (`pip install --target FOLDER s3fs 'moto[server]'`). For s3a, set RULEDEX_S3_JARS to a folder with
hadoop-aws, the bundle of the AWS SDK and analyticsaccelerator-s3, in the versions that Spark's Hadoop asks for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ruledex import Index
from tests.spark.conftest import WAIT_S, kill_group, own_process, wait_for
from tests.spark.servers import free_port

GIVEN = os.environ.get("RULEDEX_S3", "")
JARS = os.environ.get("RULEDEX_S3_JARS", "")
URL = "s3://ads/index"
OLD, NEW = [(1, "n > 3"), (2, "n = 2")], [(1, "n > 1"), (2, "n = 2"), (3, "n >")]

pytestmark = pytest.mark.skipif(not GIVEN, reason="set RULEDEX_S3=1: it installs s3fs and a server of S3")


@contextmanager
def bucket_server(packages: str, folder: Path) -> Iterator[str]:
    """Start a server of S3 on this host, and yield its URL."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            env={**os.environ, "PYTHONPATH": packages},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def answers() -> bool:
        if process.poll() is not None:
            pytest.fail(f"the server ended: {(folder / 'server.log').read_text()[-2000:]}")
        with suppress(OSError), urllib.request.urlopen(f"{url}/moto-api/", timeout=5):
            return True
        return False

    try:
        wait_for(answers, "the server of S3")
        yield url
    finally:
        kill_group(process.pid)
        process.wait()


def see_packages(packages: str) -> None:
    """Let this process and Spark's workers import from a folder before all others."""
    sys.path.insert(0, packages)
    os.environ["PYTHONPATH"] = os.pathsep.join([packages, os.environ.get("PYTHONPATH", "")])


def through_s3(packages: str, server: str, folder: Path) -> dict[str, Any]:
    """What a session finds in a bucket, as plain values."""
    see_packages(packages)
    os.environ["RULEDEX_CACHE"] = str(folder / "cache")
    from pyspark.sql import SparkSession

    from ruledex.artifact import collect_garbage, list_versions, locate
    from ruledex.spark import build_index, match, pins, set_storage_options, ship

    options = {"key": "a", "secret": "b", "endpoint_url": server, "client_kwargs": {"region_name": "us-east-1"}}
    client: Any = import_module("boto3").client(
        "s3", endpoint_url=server, aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1"
    )
    client.create_bucket(Bucket="ads")
    settings = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "1"}
    if JARS:
        settings |= {
            "spark.jars": ",".join(map(str, Path(JARS).glob("*.jar"))),
            "spark.hadoop.fs.s3a.endpoint": server,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.access.key": "a",
            "spark.hadoop.fs.s3a.secret.key": "b",
            "spark.hadoop.fs.s3a.path.style.access": "true",
        }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    events = spark.range(4).withColumnRenamed("id", "n")

    def rules(root: str, **more: Any) -> list[list[int]]:
        return [row.rules for row in match(events, root, **more).orderBy("n").collect()]

    found: dict[str, Any] = {}
    set_storage_options("s3://ads", options)
    found["first"] = Index.build(OLD).save(URL)
    report = build_index(spark.createDataFrame(NEW, "id long, expr string"), URL)
    found["built"] = (report.n_rules, [row.code for row in report.quarantine.collect()])
    found["second"] = report.version
    found["new"] = rules(URL)
    found["trusted"] = rules(URL, trust=True)
    found["old"] = rules(URL, version=found["first"][:12])
    store: Any = locate(URL)
    found["created"] = [store.create("pins/x/1.json", b"1"), store.create("pins/x/1.json", b"2")]
    found["kept"] = store.read("pins/x/1.json")
    store.remove("pins/x/1.json")
    if JARS:
        found["s3a"] = rules("s3a://ads/index")

    stream = spark.readStream.format("rate").option("rowsPerSecond", 4).load().selectExpr("value AS n")
    query = match(stream, URL, keep=["n"]).writeStream.format("memory").queryName("found").start()
    try:

        def versions() -> set[str]:
            if query.exception() is not None:
                raise query.exception()
            return {row.version for row in spark.table("found").select("version").distinct().collect()}

        wait_for(lambda: report.version in versions(), "a micro-batch")
        found["third"] = Index.build([(9, "n >= 0")]).save(URL)
        wait_for(lambda: found["third"] in versions(), "a micro-batch of the new version")
    finally:
        query.stop()
    found["pinned"] = {row.version for row in pins(spark, URL).collect()}
    found["versions"] = set(list_versions(URL))
    set_storage_options("s3://ads", None)
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    found["shipped"] = rules(ship(spark, URL, found["first"], storage_options=options))
    collect_garbage(locate(URL, **options), alone=True)
    found["left"] = set(list_versions(locate(URL, **options)))
    spark.stop()
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("s3")
    packages = GIVEN
    if GIVEN == "1":
        packages = str(folder / "packages")
        install = [sys.executable, "-m", "pip", "install", "-q", "--target", packages, "s3fs", "moto[server]"]
        subprocess.run(install, check=True)
    with bucket_server(packages, folder) as server, own_process() as process:
        return process.submit(through_s3, packages, server, folder).result(2 * WAIT_S)


def test_an_index_is_built_and_matched_in_a_bucket(found):
    assert found["built"] == (2, ["syntax"])
    assert found["new"] == found["trusted"] == [[], [], [1, 2], [1]]
    assert found["old"] == found["shipped"] == [[], [], [2], []]


def test_a_pin_is_created_only_once(found):
    assert (found["created"], found["kept"]) == ([True, False], b"1")


def test_a_stream_takes_up_a_new_version_of_a_bucket(found):
    assert found["pinned"] == {found["second"], found["third"]}
    assert found["versions"] == {found["first"], found["second"], found["third"]}
    assert found["left"] == found["pinned"]  # by the garbage collector


@pytest.mark.skipif(not JARS, reason="set RULEDEX_S3_JARS to a folder with Hadoop's client of S3")
def test_hadoop_reads_a_bucket_with_the_keys_of_the_session(found):
    assert found["s3a"] == [[], [], [1, 2], [1]]
