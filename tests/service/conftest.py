"""Two services that all tests share: an open one, and one that asks for tokens and that tests may hurt."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from ruledex import Index
from ruledex.service.tokens import add_token
from tests.service.serving import Client, Service

RULES = [(number, f"a = {number % 5} AND b > {number % 3}", float(number)) for number in range(60)]
WORDS = [("über/alles", "lang = 'de'"), ("x y", "lang LIKE 'f%'"), ("plain", "n % 3 = 1")]

UNEXPECTED = ("not JSON", "request failed", "refresh failed", "change failed", "process ended")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starting a service takes seconds."""
    for item in items:
        if Path(__file__).parent in item.path.parents and {"service", "fragile"} & set(
            getattr(item, "fixturenames", ())
        ):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("root")
    sources = tmp_path_factory.mktemp("sources")
    (sources / "rules.jsonl").write_text('{"id": 1, "expr": "a = 1"}\n{"id": 2, "expr": "a = 2"}\n')
    (sources / "bad.jsonl").write_text('{"id": 1, "expr": "a = 1"}\n{"id": 2, "expr": "a = "}\n')
    Index.build(RULES).save(root / "ads")
    Index.build(WORDS).save(root / "words")
    (root / "notes").mkdir()  # which is no index
    quick = ["idle_seconds=1.5", "header_seconds=1", "line_bytes=100000", "batch_events=20000", "rule_characters=5000"]
    settings = [option for setting in quick for option in ("--set", setting)]
    started = Service(root, "--workers", "2", "--sources", str(sources), "--cors", "https://page.example", *settings)
    yield started
    assert started.stop() == 0
    assert [line for line in started.log if line["event"] in UNEXPECTED] == []


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    file = tmp_path_factory.mktemp("tokens") / "tokens.json"
    made = {
        "admin": add_token(file, "admin", {"*": "admin"}),
        "reader": add_token(file, "reader", {"ads": "read"}),
        "editor": add_token(file, "editor", {"ads": "write", "words": "read"}),
        "slow": add_token(file, "slow", {"*": "read"}, rate=5),
        "gone": add_token(file, "gone", {"*": "read"}),
    }
    return made | {"file": str(file)}


@pytest.fixture(scope="session")
def fragile(tmp_path_factory: pytest.TempPathFactory, tokens: dict[str, str]) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("fragile")
    Index.build(RULES).save(root / "ads")
    Index.build(WORDS).save(root / "words")
    started = Service(root, "--workers", "2", "--tokens", tokens["file"], "--log-requests")
    yield started
    assert started.stop() == 0


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    opened = service.client()
    yield opened
    opened.close()


_numbers = count()


@pytest.fixture
def own(client: Client) -> str:
    """An index of the test's own, with the rules 1 and 2."""
    name = f"own-{next(_numbers)}"
    client.build(name, [(1, "a = 1"), (2, "a = 1 AND b = 2")])
    return name
