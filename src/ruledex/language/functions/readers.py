"""Functions that read strings as versions and IP addresses, which have their own order. Spark has neither."""

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
        summary="The IP address that a string names. It equals every network that contains it.",
        example="cidr(client) IN ('10.0.0.0/8', '2001:db8::/32')",
        spark=None,
    ),
)
