"""IP addresses and networks, as ranges of one ordered domain.

An address is a network of one. All of version 4 lies below all of version 6, so a network of either version is one
range of integers.
"""

from __future__ import annotations

import ipaddress

from ruledex.errors import quoted

_V6_START = 1 << 32


class Network:
    """A block of addresses from `first` to `last`, both included. `text` is its canonical form."""

    __slots__ = ("first", "last", "text")

    def __init__(self, text: str) -> None:
        try:
            # Host bits are dropped, as routers do: 10.1.2.3/8 is 10.0.0.0/8.
            network = ipaddress.ip_network(text, strict=False)
        except ValueError as error:
            raise ValueError(f"{quoted(text)} is not an address or a network such as 10.0.0.0/8") from error
        start = 0 if network.version == 4 else _V6_START
        self.first = start + int(network.network_address)
        self.last = start + int(network.broadcast_address)
        one = network.num_addresses == 1
        self.text = str(network.network_address) if one else str(network)

    @staticmethod
    def read(value: object) -> Network | None:
        """Return the address that a value of an event names, or None. A block is not an address of an event."""
        try:
            address = Network(value) if isinstance(value, str) else None
        except ValueError:
            return None
        return address if address is not None and address.first == address.last else None

    def holds(self, other: Network) -> bool:
        """Return whether all of `other` lies in this network."""
        return self.first <= other.first and other.last <= self.last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and (self.first, self.last) == (other.first, other.last)

    def __hash__(self) -> int:
        return hash((self.first, self.last))

    def __repr__(self) -> str:
        return f"Network({self.text!r})"
