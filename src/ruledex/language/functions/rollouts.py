"""The hash by which GrowthBook puts users into buckets, as a function of rules."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from ruledex.language.functions.signature import Constants, Function, Parameter
from ruledex.language.tree import Value
from ruledex.language.value import Family

GROWTHBOOK_HASH: Final = "growthbook_hash"
VERSIONS: Final = (1, 2)
_BITS_32: Final = 0xFFFFFFFF


def fnv32a(text: str) -> int:
    """Return the FNV-1a hash of 32 bits of a text's UTF-16 units, as JavaScript has them. Each is mixed in one step."""
    digest = 0x811C9DC5
    units = text.encode("utf-16-le", "surrogatepass")
    for unit in memoryview(units).cast("H"):
        digest = (digest ^ unit) * 0x01000193 & _BITS_32
    return digest


def bucket(seed: str, text: str, version: int) -> float:
    """Return the bucket of a text, at least 0 and below 1, in steps of 0.001 (version 1) or 0.0001 (version 2)."""
    if version == 1:
        return fnv32a(text + seed) % 1_000 / 1_000
    return fnv32a(str(fnv32a(seed + text))) % 10_000 / 10_000


def growthbook_hash(seed: Value, value: Value, version: Value) -> float | None:
    """Return the bucket of a value. Nothing that counts as false in JavaScript has one."""
    text = _javascript_text(value)
    return bucket(str(seed), text, int(version)) if text else None  # type: ignore[arg-type]  # `_check` has seen both


def _javascript_text(value: Value) -> str:
    """Return a value as JavaScript writes it, or "" for false, 0 and what JSON cannot hold."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else ""
    if not isinstance(value, int | float | Decimal) or not value:
        return ""
    text = repr(float(value))
    mantissa, _, exponent = text.partition("e")
    if -7 < int(exponent or 0) < 21:  # JavaScript writes an exponent only beyond
        return f"{Decimal(text):f}".removesuffix(".0")
    return f"{mantissa}e{int(exponent):+d}"


def _check(constants: Constants) -> str | None:
    seed, _, version = constants
    if not isinstance(seed, str):
        return "the seed is a text"
    return None if version in VERSIONS else f"the version of the hash is 1 or 2, not {version}"


FUNCTIONS: Final = (
    Function(
        name=GROWTHBOOK_HASH,
        parameters=(
            Parameter("seed", Family.STRING, literal=True),
            Parameter("x", Family.ANY),
            Parameter("version", Family.NUMBER, literal=True, default=1),
        ),
        result=Family.NUMBER,
        call=growthbook_hash,
        spark=None,
        check=_check,
        summary=(
            "The bucket from 0 to 1 into which GrowthBook puts a user (FNV-1a of 32 bits, in version 1 or 2). Unknown "
            "for the empty text, 0 and false. `ruledex convert --from growthbook` writes it."
        ),
        example="growthbook_hash('new-checkout', user_id, 2) < 0.1",
    ),
)
