"""Strings read as values of a domain with an order of its own. Spark has neither."""

from __future__ import annotations

from ruledex.language.address import Network
from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.value import Family
from ruledex.language.version import Version

_TEXT = Parameter("x", Family.STRING)

FUNCTIONS: tuple[Function, ...] = (
    Function(
        name="version",
        parameters=(_TEXT,),
        result=Family.VERSION,
        call=Version.read,
        summary="The version that a string names, in the order of semantic versioning: `1.9` is below `1.10`.",
        example="version(app) < '4.10.2'",
        spark=None,
    ),
    Function(
        name="cidr",
        parameters=(_TEXT,),
        result=Family.ADDRESS,
        call=Network.read,
        summary="The IP address that a string names; it equals each network that it lies in.",
        example="cidr(client) IN ('10.0.0.0/8', '2001:db8::/32')",
        spark=None,
    ),
)
