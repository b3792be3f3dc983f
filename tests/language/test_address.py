"""Addresses and networks."""

from __future__ import annotations

import pytest

from ruledex.language.address import Network


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
