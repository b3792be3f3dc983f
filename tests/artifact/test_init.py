import pytest

from ruledex import artifact


@pytest.mark.parametrize("name", artifact.__all__)
def test_every_public_name_can_be_used(name):
    assert getattr(artifact, name) is not None


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = artifact.nothing


def test_the_function_verify_is_not_hidden_by_a_module():
    assert callable(artifact.verify)
