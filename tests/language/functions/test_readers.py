from ruledex.language.address import Network
from ruledex.language.functions.registry import lookup
from ruledex.language.version import Version


def test_a_version_is_read_or_unknown():
    version = lookup("version").call
    assert version("v1.10") == Version("1.10.0")
    assert version("1.9") < version("1.10")
    assert version("latest") is None
    assert version("1" * 5000) is None
    assert version("") is None


def test_an_address_is_read_or_unknown():
    cidr = lookup("cidr").call
    assert cidr("10.1.2.3") == Network("10.1.2.3")
    assert cidr("10.1.2.3/32") == Network("10.1.2.3")
    assert cidr("10.1.2.3/8") is None  # a block is no address
    assert cidr("2001:db8::1") == Network("2001:db8::1")
    assert cidr("10.1.2") is None
    assert cidr("") is None
