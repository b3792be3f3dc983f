import pytest

from ruledex.artifact import current_version, list_versions
from ruledex.artifact.manifest import encode_pointer, parse_pointer
from ruledex.errors import ArtifactError

from .samples import publish_sample

VERSION = "0123456789abcdef" * 4


def test_a_pointer_leads_to_its_version():
    assert parse_pointer(encode_pointer(VERSION), "CURRENT") == VERSION


def test_no_single_changed_lost_or_added_byte_leads_anywhere():
    data = encode_pointer(VERSION)
    wrong = [data[:length] for length in range(len(data))] + [data + b" ", data + data]
    for position in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            wrong.append(bytes(changed))
    for damaged in wrong:
        with pytest.raises(ArtifactError, match=r"^CURRENT is"):
            parse_pointer(damaged, "CURRENT")


def test_a_pointer_of_a_newer_format_asks_for_an_upgrade():
    with pytest.raises(ArtifactError, match="upgrade ruledex"):
        parse_pointer(b'{"format":2,"else":"entirely"}', "CURRENT")


def test_a_root_where_nothing_was_published_says_so(root):
    with pytest.raises(ArtifactError, match=r"no index is published at .*root"):
        current_version(root)
    assert list_versions(root) == []


def test_versions_stand_side_by_side(root):
    first, second = publish_sample(root, 1), publish_sample(root, 2)
    assert list_versions(root) == sorted([first, second])
    assert current_version(root) == second
