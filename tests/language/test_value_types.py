"""Versions and networks: their order, and how they are written."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ruledex.language.value_types import Network, Version

# Semantic versioning 2.0.0, item 11, and what applications write besides.
IN_ORDER = ["0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11"]
IN_ORDER += ["1.0.0-rc.1", "1.0.0", "1.0.0.1", "1.9", "1.10", "4.10.2", "10", "2024.1.15.3"]


def test_versions_are_in_the_order_of_semantic_versioning():
    assert sorted(map(Version, reversed(IN_ORDER))) == list(map(Version, IN_ORDER))
    assert all(Version(a) < Version(b) for a, b in pairwise(IN_ORDER))


@pytest.mark.parametrize(("one", "other"), [("1.2", "1.2.0"), ("v1.2", "1.2"), ("1.2+build.5", "1.2"), ("01.2", "1.2")])
def test_versions_that_are_written_differently_may_be_equal(one, other):
    assert Version(one) == Version(other)
    assert hash(Version(one)) == hash(Version(other))


@pytest.mark.parametrize("text", ["", "soon", "1..2", "1.2-", "-1", "1.2.x", " 1.2", "١.٢"])
def test_what_is_no_version_is_none(text):
    assert Version.read(text) is None
    with pytest.raises(ValueError, match="is not a version"):
        Version(text)


def test_only_texts_are_versions():
    assert Version.read(1.2) is None
    assert Version.read(None) is None


@pytest.mark.parametrize(
    ("network", "address", "inside"),
    [
        ("10.0.0.0/8", "10.255.0.1", True),
        ("10.0.0.0/8", "11.0.0.0", False),
        ("10.1.2.3/8", "10.9.9.9", True),
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("10.1.0.0/16", "10.0.0.0/8", False),
        ("192.168.1.1", "192.168.1.1", True),
        ("2001:db8::/32", "2001:db8::1", True),
        ("::/0", "10.0.0.1", False),
        ("0.0.0.0/0", "::1", False),
    ],
)
def test_a_network_holds_what_lies_in_it(network, address, inside):
    assert Network(network).holds(Network(address)) is inside


def test_a_network_is_written_without_host_bits():
    assert Network("10.1.2.3/8").text == "10.0.0.0/8"
    assert Network("10.1.2.3/32").text == "10.1.2.3"
    assert Network("10.1.2.3/8") == Network("10.0.0.0/8")
    assert hash(Network("10.1.2.3/8")) == hash(Network("10.0.0.0/8"))


@pytest.mark.parametrize("value", ["", "10.0.0", "10.0.0.300", "10.0.0.0/33", "example.com", 5, None])
def test_what_is_no_address_is_none(value):
    assert Network.read(value) is None
