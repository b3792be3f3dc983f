"""Killed processes, and good and broken versions that are published under load."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from http.client import HTTPException

import pytest

from ruledex import Index
from ruledex.artifact import list_versions

N_KILLS = int(os.environ.get("RULEDEX_SERVICE_KILLS", "1"))
PAUSE = 7.0 if N_KILLS > 3 else 0.0  # seconds between kills: the service gives up after ten deaths in a minute
EVENT = {"a": 1, "b": 9}


class Load:
    """Clients that match as fast as they can, in threads. Failures are kept with when their connection was opened."""

    def __init__(self, service, token, index, allowed, n_clients=4):
        self.failures = []  # (when the connection was opened, when it failed, what happened)
        self.wrong = []
        self.n_answers = 0
        self._done = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(service.client(token), index, allowed)) for _ in range(n_clients)
        ]

    def _run(self, client, index, allowed):
        n_since_open = 0
        while not self._done.is_set():
            try:
                answer = client.ask("POST", f"/v1/indexes/{index}/match", EVENT)
            except (OSError, HTTPException) as error:
                self.failures.append((client.opened_at, time.time(), repr(error)))
                continue
            if answer.status != 200 or answer.value["rules"] not in allowed:
                self.wrong.append((answer.status, answer.data[:300]))
            self.n_answers += 1
            n_since_open += 1
            if n_since_open % 50 == 0:
                client.close()  # new connections come all the time
        client.close()

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def admin(fragile, tokens):
    opened = fragile.client(tokens["admin"])
    yield opened
    opened.close()


def test_a_killed_worker_fails_only_its_open_connections(fragile, tokens, admin):
    expected = admin.match("ads", EVENT)
    for _ in range(N_KILLS):
        workers = fragile.pids("worker")
        assert len(workers) == 2
        with Load(fragile, tokens["admin"], "ads", [expected]) as load:
            fragile.wait_for(lambda load=load: load.n_answers > 50)
            killed = time.time()
            os.kill(workers[0], signal.SIGKILL)
            # Its end is noticed first, and then another one is ready.
            fragile.wait_for(
                lambda gone=workers[0]: gone not in (alive := fragile.pids("worker")) and len(alive) == 2, 120
            )
            n_before = load.n_answers
            fragile.wait_for(lambda load=load, n=n_before: load.n_answers > n + 50)
        assert load.wrong == []
        assert [failure for failure in load.failures if failure[0] > killed] == []


def test_a_killed_writer_loses_no_acknowledged_change(fragile, tokens, admin):
    admin.build("journal", [(0, "a = 1")])
    acknowledged, unknown = [], []
    for kill in range(N_KILLS):
        (writer,) = fragile.pids("writer")
        with Load(fragile, tokens["admin"], "words", [[]], n_clients=2) as load:
            until = time.monotonic() + 120
            n_since, is_killed = 0, False
            while n_since < 20:
                assert time.monotonic() < until
                if len(acknowledged) >= 25 * (kill + 1) and not is_killed:
                    threading.Timer(0.002, os.kill, (writer, signal.SIGKILL)).start()
                    is_killed = True
                number = 1 + len(acknowledged) + len(unknown)
                answer = admin.put("journal", number, f"a = 1 AND c != {number}")
                if answer.status == 201:
                    acknowledged.append(number)
                    n_since += is_killed and fragile.pids("writer") not in ([writer], [])
                else:
                    assert (answer.status, answer.code) == (503, "writer")
                    assert answer.headers["retry-after"] == "1"
                    unknown.append(number)
        assert load.wrong == []  # reading goes on
        assert load.failures == []
    found = set(Index.open(fragile.root / "journal").ids.to_pylist())
    assert set(acknowledged) <= found
    assert found <= {0, *acknowledged, *unknown}
    assert set(admin.match("journal", {"a": 1, "c": -1})) == found


class Editor(threading.Thread):
    """Adds rules of its own, and now and then one that all editors want to be the first to add."""

    def __init__(self, client, number):
        super().__init__()
        self.client = client
        self.number = number
        self.acknowledged, self.unknown, self.unexpected = set(), set(), []
        self.first = []  # the common rules that this editor was told to have added
        self.done = threading.Event()

    def run(self):
        for turn in range(1_000_000):
            if self.done.is_set():
                break
            is_common = turn % 4 == 0
            rule_id = 1_000_000 + turn if is_common else 1 + 8 * turn + self.number
            answer = self.client.put("together", rule_id, f"a = 1 AND c != {rule_id}", **{"if-none-match": "*"})
            if answer.status == 201:
                self.acknowledged.add(rule_id)
                if is_common:
                    self.first.append(rule_id)
            elif answer.status == 503:
                self.unknown.add(rule_id)
            elif not (is_common and answer.status == 412):
                self.unexpected.append((rule_id, answer.status, answer.data))
        self.client.close()


def test_a_writer_killed_among_changes_of_many_loses_none_that_it_acknowledged(fragile, tokens, admin):
    """Changes that wait at the same time are written together, and still each is made by itself."""
    admin.build("together", [(0, "a = 1")])
    editors = [Editor(fragile.client(tokens["admin"]), number) for number in range(8)]
    for editor in editors:
        editor.start()

    def n_acknowledged():
        return sum(len(editor.acknowledged) for editor in editors)

    try:
        for _ in range(N_KILLS):
            (writer,) = fragile.pids("writer")
            n_before = n_acknowledged()
            fragile.wait_for(lambda n=n_before: n_acknowledged() > n + 60, 120)
            os.kill(writer, signal.SIGKILL)
            fragile.wait_for(lambda gone=writer: fragile.pids("writer") not in ([gone], []), 120)
            time.sleep(PAUSE)
        n_before = n_acknowledged()
        fragile.wait_for(lambda: n_acknowledged() > n_before + 20, 120)
    finally:
        for editor in editors:
            editor.done.set()
        for editor in editors:
            editor.join()
    assert [editor.unexpected for editor in editors] == [[]] * 8
    acknowledged = set().union(*(editor.acknowledged for editor in editors))
    unknown = set().union(*(editor.unknown for editor in editors))
    index = Index.open(fragile.root / "together")
    found = set(index.ids.to_pylist())
    assert acknowledged <= found
    assert found <= {0} | acknowledged | unknown
    first = [rule_id for editor in editors for rule_id in editor.first]
    assert len(first) == len(set(first))  # two editors were never both told that they were the first
    admin.close()  # unused while there were many kills: the service may have closed the connection
    assert set(admin.match("together", {"a": 1, "c": -1})) == found
    # Eight editors that wait for the disk wait for it together.
    assert index.describe()["changes"]["journal_records"] < len(found)


def test_reading_never_waits_for_the_writer(fragile, tokens, admin):
    expected = admin.match("ads", EVENT)
    (writer,) = fragile.pids("writer")
    change = threading.Thread(target=lambda: answers.append(admin.put("ads", 950, "never = 1").status))
    answers = []
    os.kill(writer, signal.SIGSTOP)
    try:
        change.start()
        with Load(fragile, tokens["admin"], "ads", [expected]) as load:
            fragile.wait_for(lambda: load.n_answers > 200)
        assert answers == []  # the change waits meanwhile, and is not lost
    finally:
        os.kill(writer, signal.SIGCONT)
        change.join()
    assert (load.wrong, load.failures) == ([], [])
    assert answers == [201]
    assert admin.ask("DELETE", "/v1/indexes/ads/rules/950").status == 200


def test_a_change_through_any_worker_is_soon_seen_by_all(fragile, tokens, admin):
    """Connections to both workers, told by the ids that they give to requests, change and look in turns."""
    admin.build("seen", [(0, "a = 1")])
    clients = {}
    for _ in range(100):
        client = fragile.client(tokens["admin"])
        worker = client.ask("GET", "/health/live").headers["x-request-id"].split("-")[0]
        if clients.setdefault(worker, client) is not client:
            client.close()
        if len(clients) == 2:
            break
    one, other = clients.values()
    seconds = []
    for number in range(1, 21):
        writer, reader = (one, other) if number % 2 else (other, one)
        assert writer.put("seen", number, "a = 1").status == 201
        acknowledged = time.monotonic()
        assert writer.match("seen", {"a": 1}) == list(range(number + 1))  # the worker that was asked sees it at once
        fragile.wait_for(lambda reader=reader, n=number: reader.match("seen", {"a": 1}) == list(range(n + 1)))
        seconds.append(time.monotonic() - acknowledged)
    assert sorted(seconds)[10] < 1.0  # half of them, since one may wait long on a busy machine
    for client in clients.values():
        client.close()


def test_versions_published_under_load_are_taken_over_without_a_failed_request(fragile, tokens, admin, tmp_path):
    root = fragile.root / "moving"
    admin.build("moving", [(1, "a = 1"), (2, "a = 2")])
    good = [[1], [1, 3], [4]]
    with Load(fragile, tokens["admin"], "moving", good) as load:
        fragile.wait_for(lambda: load.n_answers > 20)
        Index.build([(1, "a = 1"), (3, "b = 9")]).save(root)
        fragile.wait_for(lambda: admin.match("moving", EVENT) == [1, 3])
        (current,) = [v for v in list_versions(root) if v == Index.open(root).version]
        publish_broken(root, tmp_path / "scratch")
        fragile.wait_for(lambda: len(fragile.logged("version refused", index="moving")) >= 2)  # by each worker
        assert admin.match("moving", EVENT) == [1, 3]
        page = admin.ask("GET", "/metrics").data.decode()
        assert 'ruledex_refused_versions_total{index="moving"}' in page
        assert admin.ask("GET", "/health/ready").status == 200
        assert admin.ask("POST", "/v1/indexes/moving/rollback", {"version": current}).status in (200, 503)
        Index.build([(4, "a = 1")]).save(root)
        fragile.wait_for(lambda: admin.match("moving", EVENT) == [4])
        n_before = load.n_answers
        fragile.wait_for(lambda: load.n_answers > n_before + 50)
    assert load.wrong == []
    assert load.failures == []


def publish_broken(root, scratch):
    """Publish a version of which a file is damaged, as a faulty disk or copy would."""
    version = Index.build([(7, "a = 1"), (8, "q = 'x' OR b = 9")]).save(scratch)
    files = [
        path for path in (scratch / "versions" / version).rglob("*") if path.is_file() and path.stat().st_size > 64
    ]
    damaged = max((path for path in files if path.suffix != ".json"), key=lambda path: path.stat().st_size)
    damaged.write_bytes(damaged.read_bytes()[:-16])
    shutil.copytree(scratch / "versions" / version, root / "versions" / version)
    shutil.copy(scratch / "CURRENT", root / "next")
    (root / "next").rename(root / "CURRENT")


def test_a_stop_lets_requests_under_way_end(tmp_path):
    """This one starts a service of its own, and stops it in the middle of a stream."""
    from tests.service.serving import Service

    Index.build([(1, "a = 1")]).save(tmp_path / "root")
    service = Service(tmp_path / "root", "--workers", "1")
    client = service.client()
    assert client.ask("GET", "/v1/indexes").value["indexes"][0]["name"] == "root"  # a root that is itself an index
    client.close()
    line = b'{"a": 1}\n'
    with service.connect() as connection:
        head = b"POST /v1/indexes/root/match HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(line), line))
        came = connection.recv(65536)
        service.process.send_signal(signal.SIGTERM)
        service.wait_for(lambda: service.logged("stopping"))
        time.sleep(0.3)
        connection.sendall(b"%x\r\n%b\r\n0\r\n\r\n" % (len(line), line))
        while chunk := connection.recv(65536):
            came += chunk
    assert came.count(b'{"rules":[1],"count":1}') == 2
    assert came.endswith(b"0\r\n\r\n")
    assert service.stop() == 0
    assert len(service.logged("stopped")) == 2
