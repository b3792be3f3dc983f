import pytest

from ruledex.artifact.layout import check_name, check_version, is_file
from ruledex.errors import ArtifactError


@pytest.mark.parametrize("name", ["a", "program/children", "shard-0/A_b/9"])
def test_names_of_words_joined_by_slashes_are_taken(name):
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", "..", "a/../b", "a.b", "a b", "ä", "a\n", "x" * 101])
def test_names_that_some_file_system_cannot_hold_are_refused(name):
    with pytest.raises(ArtifactError, match="cannot name a part"):
        check_name(name)


@pytest.mark.parametrize("path", ["../CURRENT", "/etc/passwd", "tables/../../x.parquet", "manifest.json", "x", ""])
def test_a_manifest_cannot_list_a_file_outside_its_version(path):
    assert not is_file(path)


def test_a_version_is_64_hexadecimal_digits():
    assert check_version("0" * 64)
    for wrong in ("", "0" * 63, "g" * 64, "A" * 64, "../" + "0" * 61):
        with pytest.raises(ArtifactError, match="64 hexadecimal digits"):
            check_version(wrong)
