import threading

import pytest

from ruledex.artifact import collect_garbage, list_versions
from ruledex.artifact.pins import MOST_PINS, Pin, Pinned, last_pin, list_pins, pinned_versions, put_pin, read_pin
from ruledex.errors import ArtifactError

from .samples import publish_sample


@pytest.fixture(params=["local", "remote"])
def place(request, root, memory):
    return root if request.param == "local" else memory


def test_whoever_pins_second_gets_the_first_ones_pin(place):
    first, second = publish_sample(place, 1), publish_sample(place, 2)
    assert read_pin(place, "query", 7) is None
    assert put_pin(place, "query", 7, Pin(first)) == Pin(first)
    assert put_pin(place, "query", 7, Pin(second)) == Pin(first)
    assert read_pin(place, "query", 7) == Pin(first)
    assert read_pin(place, "another", 7) is None
    refusal = Pin(first, second, "it is broken", 3)
    assert put_pin(place, "query", 8, refusal) is refusal
    assert list_pins(place) == [Pinned("query", 7, Pin(first)), Pinned("query", 8, refusal)]


def test_of_many_that_pin_at_once_one_wins(root):
    versions = [publish_sample(root, seed) for seed in range(8)]
    held = {}

    def pin(version):
        held[version] = put_pin(root, "query", 1, Pin(version))

    threads = [threading.Thread(target=pin, args=(version,)) for version in versions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(held) == len(versions)
    assert set(held.values()) == {read_pin(root, "query", 1)}


def test_the_last_pin_is_the_latest_before_a_time(place):
    versions = [publish_sample(place, seed) for seed in range(2)]
    assert last_pin(place, "query", 100) is None
    put_pin(place, "query", 5, Pin(versions[0]))
    put_pin(place, "query", 40, Pin(versions[1]))
    assert last_pin(place, "query", 5) is None
    assert last_pin(place, "query", 40) == Pin(versions[0])
    assert last_pin(place, "query", 41) == Pin(versions[1])


def test_a_version_that_is_gone_is_not_pinned(place):
    old = publish_sample(place, 1)
    new = publish_sample(place, 2)
    collect_garbage(place, alone=True)
    assert put_pin(place, "query", 1, Pin(old)) is None
    assert read_pin(place, "query", 1) is None
    assert put_pin(place, "query", 1, Pin(new)) == Pin(new)
    assert put_pin(place, "query", 1, Pin(old)) == Pin(new)


def test_garbage_collection_keeps_pinned_versions(place):
    versions = [publish_sample(place, seed) for seed in range(3)]
    put_pin(place, "query", 1, Pin(versions[0], refused=versions[1], reason="it is broken"))
    assert pinned_versions(place) == {versions[0]}
    assert collect_garbage(place, alone=True).versions == (versions[1],)
    assert list_versions(place) == sorted([versions[0], versions[2]])


def test_a_stream_forgets_its_oldest_pins_and_no_other_streams(place):
    version = publish_sample(place)
    put_pin(place, "another", 1, Pin(version))
    for time in range(MOST_PINS + 5):
        put_pin(place, "query", time, Pin(version))
    times = [pinned.time for pinned in list_pins(place) if pinned.stream == "query"]
    assert times == list(range(5, MOST_PINS + 5))
    assert read_pin(place, "another", 1) == Pin(version)
    put_pin(place, "query", 2, Pin(version))  # by a clock that was set back
    assert read_pin(place, "query", 2) == Pin(version)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"version": "x"}', b'{"n_refused":0,"reason":null,"refused":null,"version":"x"}']
)
def test_a_damaged_pin_is_an_error_and_nothing_is_collected(root, content):
    versions = [publish_sample(root, seed) for seed in range(2)]
    put_pin(root, "query", 1, Pin(versions[0]))
    (root / "pins" / "query" / f"{1:020d}.json").write_bytes(content)
    with pytest.raises(ArtifactError, match="is damaged"):
        read_pin(root, "query", 1)
    with pytest.raises(ArtifactError, match="is damaged"):
        collect_garbage(root)
    assert list_versions(root) == sorted(versions)


def test_a_stream_is_named_by_letters_and_digits(root):
    version = publish_sample(root)
    with pytest.raises(ArtifactError, match="cannot name a stream"):
        put_pin(root, "../x", 1, Pin(version))
