"""Indexes at URLs: through Hadoop, and through fsspec with options that the client has, or the workers too."""

from __future__ import annotations

import os
import sys
import threading
import urllib.error
import urllib.request
import warnings
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import fsspec
import pytest

from ruledex import Index
from ruledex.errors import ArtifactError, RuledexError, RuledexWarning
from ruledex.spark import (
    backtest,
    build_index,
    check_columns,
    coverage,
    match,
    match_ids,
    ratify,
    register,
    set_storage_options,
    ship,
)
from ruledex.spark.worker.distribution import copy_version

MOST = 1 << 28


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """The versions of an index, the current one last."""
    monkeypatch.setenv("RULEDEX_CACHE", str(tmp_path / "cache"))
    return [Index.build([(1, text), (2, "n = 2")]).save(tmp_path / "index") for text in ("n > 3", "n > 1")]


def found(spark, root):
    events = spark.range(4).withColumnRenamed("id", "n")
    return [row.rules for row in match(events, root).orderBy("n").collect()]


# Hadoop.


def test_a_version_is_copied_through_hadoop(spark, tmp_path, saved):
    url = f"file:{tmp_path}/index/"
    assert copy_version(spark, url, None, tmp_path / "copy", MOST) == saved[1]
    files = {path.relative_to(tmp_path / "copy").as_posix() for path in (tmp_path / "copy").rglob("*")}
    assert not [name for name in files if name.endswith(".crc")]
    assert Index.open(tmp_path / "copy").match({"n": 2}) == [1, 2]
    assert copy_version(spark, url, saved[0], tmp_path / "older", MOST) == saved[0]
    assert Index.open(tmp_path / "older", saved[0]).match({"n": 2}) == [2]
    with pytest.raises(ArtifactError, match=r"has [0-9,]+ bytes, more than the 100 that can be shipped"):
        copy_version(spark, url, None, tmp_path / "small", 100)
    with pytest.raises(ArtifactError, match=r"cannot read file:\S+nowhere through Hadoop: "):
        copy_version(spark, f"file:{tmp_path}/nowhere", None, tmp_path / "none", MOST)


def hadoop_url(spark, tmp_path):
    """The URL of the index through a file system that only Hadoop has."""
    # Hadoop keeps what it knows of a name as long as its JVM runs.
    table = f"tests{os.getpid()}{tmp_path.name.replace('_', '')}"
    spark.sparkContext._jsc.hadoopConfiguration().set(f"fs.viewfs.mounttable.{table}.link./here", f"file://{tmp_path}")
    return f"viewfs://{table}/here/index"


def test_a_url_that_only_hadoop_knows_is_shipped_and_is_not_trusted(spark, tmp_path, saved):
    url = hadoop_url(spark, tmp_path)
    shipped = ship(spark, url)
    assert (saved[1] in shipped, shipped.endswith(":foreign")) == (True, True)
    assert found(spark, shipped) == [[], [], [1, 2], [1]]
    assert found(spark, ship(spark, url, saved[0])) == [[], [], [2], []]
    assert ship(spark, url, saved[1][:12]) == shipped
    with pytest.raises(ArtifactError, match=r"no version of viewfs://\S+ begin with 0000000000"):
        ship(spark, url, "0000000000")
    with pytest.raises(ArtifactError, match=r"cannot read nosuch://x/y through Hadoop: .*nosuch"):
        ship(spark, "nosuch://x/y")


def test_every_job_takes_a_url_that_only_hadoop_knows(spark, tmp_path, saved):
    url = hadoop_url(spark, tmp_path)
    events = spark.range(4).withColumnRenamed("id", "n")
    assert found(spark, url) == [[], [], [1, 2], [1]]
    assert [row.rules for row in match(events, url, version=saved[0][:12]).orderBy("n").collect()] == [[], [], [2], []]
    assert check_columns(events.withColumnRenamed("n", "m"), url).column("attribute").to_pylist() == ["n"]
    assert sorted(map(tuple, coverage(url, events).rules.collect())) == [(1, 2), (2, 1)]
    changed = backtest(url, url, events, old_version=saved[0], examples=0).where("gained > 0")
    assert [(row.rule, row.gained) for row in changed.collect()] == [(1, 2)]
    assert ratify(url, events).passed
    assert [row.found for row in events.select(match_ids(url, "n", session=spark).alias("found")).collect()][3] == [1]
    register(spark, "hadoop_ads", url, events=events)
    rows = spark.sql("SELECT n, rules FROM hadoop_ads(TABLE(SELECT CAST(id AS BIGINT) AS n FROM range(4)))").collect()
    assert sorted((row.n, row.rules) for row in rows) == [(0, []), (1, []), (2, [1, 2]), (3, [1])]
    with pytest.raises(ArtifactError, match="nosuch"):
        match(events, "nosuch://x/y")


def test_a_stream_on_a_copy_through_hadoop_says_that_it_keeps_its_version(spark, tmp_path, saved):
    url = hadoop_url(spark, tmp_path)
    stream = spark.readStream.format("rate").load().selectExpr("value AS n")
    with pytest.warns(RuledexWarning, match="only Hadoop knows viewfs://.* takes up no new versions"):
        match(stream, url)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        match(stream, url, version=saved[1])


class UnreachableFileSystem(fsspec.AbstractFileSystem):
    """A file system that has no credentials, for a scheme that Hadoop has, too."""

    protocol = "viewfs"

    def cat_file(self, path, start=None, end=None, **_):
        raise PermissionError("no credentials")


def test_hadoop_reads_what_fsspec_knows_and_cannot_read(spark, tmp_path, saved, monkeypatch):
    # As with s3fs, which takes s3a for its own, on a cluster whose keys only Hadoop has.
    url = hadoop_url(spark, tmp_path)
    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, "viewfs", UnreachableFileSystem)
    assert found(spark, url) == [[], [], [1, 2], [1]]
    assert saved[1] in ship(spark, url)
    with pytest.raises(ArtifactError, match=r"no credentials"):
        ship(spark, url, storage_options={"token": "wrong"})
    with pytest.raises(ArtifactError, match=r"cannot read viewfs://\S+ through Hadoop"):
        ship(spark, f"{url}/nowhere")
    with pytest.raises(ArtifactError, match="nowhere"):  # of the tasks, which might have had credentials
        match(spark.range(1), f"{url}/nowhere")


# Options of fsspec.


class GuardedFiles(SimpleHTTPRequestHandler):
    """A server of files for those who have its token."""

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != "Bearer secret":
            self.send_error(403)
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


class GuardedFileSystem(fsspec.AbstractFileSystem):
    """The client of such a server."""

    protocol = "guarded"

    def __init__(self, token: str = "", **options: object) -> None:
        super().__init__(**options)
        self._token = token

    def cat_file(self, path, start=None, end=None, **_):
        request = urllib.request.Request(f"http://{path}", headers={"Authorization": f"Bearer {self._token}"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read()[start:end]
        except urllib.error.HTTPError as error:
            raise (FileNotFoundError(path) if error.code == 404 else PermissionError(str(error))) from error

    def info(self, path, **_):
        return {"name": path, "type": "file", "size": len(self.cat_file(path))}

    def _open(self, path, mode="rb", **_):
        import io

        return io.BytesIO(self.cat_file(path))

    def find(self, path, **_):
        import json

        manifest = json.loads(self.cat_file(f"{path}/manifest.json"))
        return [f"{path}/{name}" for name in [*manifest["files"], "manifest.json"]]


@pytest.fixture
def server(tmp_path):
    """The address of a server of files."""

    def handler(*arguments):
        return GuardedFiles(*arguments, directory=str(tmp_path))

    fsspec.register_implementation("guarded", GuardedFileSystem, clobber=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{running.server_port}"
        running.shutdown()


def test_an_index_behind_options_is_shipped_to_workers_that_do_not_have_them(spark, server, saved):
    url = f"guarded://{server}/index"
    shipped = ship(spark, url, storage_options={"token": "secret"})
    assert (saved[1] in shipped, shipped.endswith(":foreign"), "secret" in shipped) == (True, True, False)
    assert found(spark, shipped) == [[], [], [1, 2], [1]]
    with pytest.raises(ArtifactError, match=r"cannot read guarded://\S+: .*403"):
        ship(spark, url, storage_options={"token": "wrong"})
    with pytest.raises(RuledexError, match="storage_options are those of fsspec by name, not 5"):
        ship(spark, url, storage_options=5)


def test_options_that_are_set_for_a_url_reach_the_tasks_of_every_job(spark, tmp_path, saved):
    # Without its options, this file system does not know where its folder is.
    url = "dir://index"
    with pytest.raises(ArtifactError, match="dir://index"):
        match(spark.range(1), url)
    set_storage_options("dir://", {"path": str(tmp_path), "target_protocol": "file"})
    try:
        assert found(spark, url) == [[], [], [1, 2], [1]]
        rules = spark.createDataFrame([(7, "n = 0")], "id long, expr string")
        report = build_index(rules, "dir://index")
        assert Index.open(tmp_path / "index").version == report.version
        assert found(spark, url) == [[7], [], [], []]
        assert Index.open(url, trust=True).match({"n": 0}) == [7]
    finally:
        set_storage_options("dir://", None)


def test_options_are_those_of_the_longest_beginning_of_a_url():
    from ruledex.artifact.store import storage_options_of

    set_storage_options("s3://ads", {"key": "a"})
    set_storage_options("s3://ads/eu/", {"key": "b"})
    try:
        urls = ("s3://ads", "s3://ads/us/index", "s3://ads/eu/index", "s3://adsense/x", "s3://ads/eu", "/data/index")
        assert [storage_options_of(url).get("key") for url in urls] == ["a", "a", "b", None, "b", None]
    finally:
        set_storage_options("s3://ads", None)
        set_storage_options("s3://ads/eu/", None)
    assert storage_options_of("s3://ads") == {}


@pytest.mark.parametrize(("url", "options"), [("", {}), (5, {}), ("s3://x", 5), ("s3://x", {1: 2}), ("/data", {})])
def test_options_are_set_by_name_for_the_beginning_of_a_url(url, options):
    with pytest.raises(RuledexError, match=r"of a URL|by name"):
        set_storage_options(url, options)
