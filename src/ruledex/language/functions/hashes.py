"""Hashes with Spark's results, so that a share of the users by hash is the same share in Spark.

`hash` and `xxhash64` hash by type: an INT and a BIGINT of one value differ. The type of an argument is the one that the
schema or its Arrow column declares; without one, integers are BIGINT. Each argument's hash is the seed of the next one,
and a missing argument leaves the seed as it is.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Sequence
from datetime import date, datetime, tzinfo
from decimal import Decimal
from typing import Final

from ruledex.language.functions.signature import Constants, Function, Parameter
from ruledex.language.functions.text import INT32_MAX, INT32_MIN
from ruledex.language.tree import Value
from ruledex.language.value import INT64_MAX, INT64_MIN, Family, as_double, instant

_SEED: Final = 42
_BITS_32: Final = 0xFFFFFFFF
GROWTHBOOK_HASH: Final = "growthbook_hash"
VERSIONS: Final = (1, 2)  # of GrowthBook's hash
_LONG_DIGITS: Final = 18  # a decimal of so many digits is hashed as a long in Spark
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
INT_TYPES: Final = ("int", "smallint", "tinyint")  # all of them are hashed as 32 bits


# What is hashed of a value: 32 bits, 64 bits, or bytes.


def _words(value: Value, kind: str, zone: tzinfo) -> tuple[str, bytes] | None:
    """Return the bytes that Spark hashes for a value and how it hashes them, or None if it has none for it."""
    if isinstance(value, bool):
        return "int", struct.pack("<i", value)
    if isinstance(value, str):
        try:
            return "bytes", value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return None
    if isinstance(value, datetime):
        return "long", struct.pack("<q", instant(value, zone))
    if isinstance(value, date):
        return "int", struct.pack("<i", value.toordinal() - _EPOCH_DAY)
    if isinstance(value, Decimal) or kind.startswith("decimal"):
        return _decimal_words(value, kind)  # type: ignore[arg-type]  # only numbers are left
    if kind == "float":
        return _float_words(as_double(value))  # type: ignore[arg-type]
    if isinstance(value, float) or kind == "double":
        # Adding zero turns -0.0 into 0.0: both are equal, and have one hash.
        return "long", struct.pack("<d", as_double(value) + 0.0)  # type: ignore[arg-type]
    if isinstance(value, int):
        if kind in INT_TYPES and INT32_MIN <= value <= INT32_MAX:
            return "int", struct.pack("<i", value)
        return ("long", struct.pack("<q", value)) if INT64_MIN <= value <= INT64_MAX else None
    return None  # versions and networks, which Spark does not have


def _float_words(value: float) -> tuple[str, bytes] | None:
    try:
        return "int", struct.pack("<f", value + 0.0)
    except OverflowError:
        return None


def _decimal_words(value: int | Decimal | float, kind: str) -> tuple[str, bytes] | None:
    """Return the digits of a decimal as a long, or as bytes if its type has more than 18 of them."""
    number = Decimal(value) if not isinstance(value, Decimal) else value
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int):
        return None
    scale = max(0, -exponent)
    precision = max(number.adjusted() + 1, 0) + scale
    if kind.startswith("decimal("):
        precision, scale = map(int, kind[8:-1].split(","))
    numerator, denominator = number.as_integer_ratio()
    unscaled, rest = divmod(numerator * 10**scale, denominator) if precision <= 38 else (0, 1)
    if rest or abs(unscaled) >= 10**38:
        return None
    if precision <= _LONG_DIGITS and abs(unscaled) < 10**_LONG_DIGITS:
        return "long", struct.pack("<q", unscaled)
    n_bytes = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return "bytes", unscaled.to_bytes(n_bytes, "big", signed=True)


# Murmur3 of 32 bits.


def _mix(digest: int, word: int) -> int:
    word = word * 0xCC9E2D51 & _BITS_32
    word = (word << 15 | word >> 17) & _BITS_32
    digest ^= word * 0x1B873593 & _BITS_32
    digest = (digest << 13 | digest >> 19) & _BITS_32
    return (digest * 5 + 0xE6546B64) & _BITS_32


def murmur3(data: bytes, seed: int) -> int:
    """Return Spark's Murmur3 of 32 bits. Unlike others, it mixes each byte after the last four as a word of its own."""
    digest = seed & _BITS_32
    n_aligned = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:n_aligned]):
        digest = _mix(digest, word)
    for (byte,) in struct.iter_unpack("<b", data[n_aligned:]):
        digest = _mix(digest, byte & _BITS_32)
    digest ^= len(data)
    digest = (digest ^ digest >> 16) * 0x85EBCA6B & _BITS_32
    digest = (digest ^ digest >> 13) * 0xC2B2AE35 & _BITS_32
    digest ^= digest >> 16
    return digest - (1 << 32) if digest >> 31 else digest


def xxhash_64(data: bytes, seed: int) -> int:
    """Return xxHash of 64 bits as a signed integer."""
    import xxhash  # only needed by rules that hash

    digest: int = xxhash.xxh64_intdigest(data, seed & (1 << 64) - 1)
    return digest - (1 << 64) if digest >> 63 else digest


def _chained(hashed: Callable[[bytes, int], int]) -> Callable[..., int | None]:
    def call(*values: Value | None, types: Sequence[str] = (), zone: tzinfo) -> int | None:
        digest = _SEED
        for index, value in enumerate(values):
            if value is None:
                continue
            words = _words(value, types[index] if types else "", zone)
            if words is None:
                return None
            digest = hashed(words[1], digest)
        return digest

    return call


# Hashes of texts.


def _of_text(hashed: Callable[[bytes], Value]) -> Callable[[str], Value | None]:
    def call(text: str) -> Value | None:
        try:
            return hashed(text.encode())
        except UnicodeEncodeError:
            return None

    return call


SHA2: Final = {0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}


def sha2(text: str, bits: int) -> str | None:
    """Return the hash of the SHA-2 family with so many bits, in hexadecimal digits."""
    try:
        return SHA2[bits](text.encode(), usedforsecurity=False).hexdigest()
    except UnicodeEncodeError:
        return None


def _check_sha2(constants: Constants) -> str | None:
    bits = constants[1]
    if isinstance(bits, int) and not isinstance(bits, bool) and bits in SHA2:
        return None
    return "the bits of sha2 are 224, 256, 384 or 512; 0 is the same as 256"


def _check_types(constants: Constants) -> str | None:
    if any(isinstance(constant, Decimal) for constant in constants):
        return "a decimal constant is hashed by the digits of its type, which it has not; write 1.5D or a string"
    return None


_TEXT = Parameter("x", Family.STRING)


def _digest(name: str, call: Callable[[str], Value | None], result: Family, what: str, example: str) -> Function:
    return Function(
        name=name,
        parameters=(_TEXT,),
        result=result,
        call=call,
        summary=f"The {what} of the string in UTF-8.",
        example=example,
        spark=f"{name}({{0}})",
    )


def _hash(name: str, call: Callable[..., int | None], summary: str, example: str) -> Function:
    return Function(
        name=name,
        parameters=(Parameter("x", Family.ANY),),
        result=Family.NUMBER,
        call=call,
        summary=summary,
        example=example,
        spark=f"{name}({{all}})",
        zoned=True,
        nullable=True,
        typed=True,
        variadic=True,
        check=_check_types,
    )


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
    return bucket(str(seed), text, int(version)) if text else None  # type: ignore[arg-type]  # `_check_growthbook` has seen both


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


def _check_growthbook(constants: Constants) -> str | None:
    seed, _, version = constants
    if not isinstance(seed, str):
        return "the seed is a text"
    return None if version in VERSIONS else f"the version of the hash is 1 or 2, not {version}"


FUNCTIONS: tuple[Function, ...] = (
    _hash(
        "hash",
        _chained(murmur3),
        "A number of 32 bits from all arguments (Murmur3), the same as Spark's. Types matter: integers are BIGINT "
        "unless a schema or a column says INT, and an integer constant is an INT if it fits one. A missing argument "
        "changes nothing.",
        "pmod(hash(user_id, 'salt'), 100) < 10",
    ),
    _hash(
        "xxhash64",
        _chained(xxhash_64),
        "A number of 64 bits from all arguments (xxHash), the same as Spark's. Types matter as for `hash`.",
        "pmod(xxhash64(user_id, 'salt'), 100) < 10",
    ),
    _digest("crc32", _of_text(zlib.crc32), Family.NUMBER, "CRC of 32 bits", "crc32(token) % 10 = 3"),
    _digest(
        "md5",
        _of_text(lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest()),
        Family.STRING,
        "MD5 hash, in hexadecimal digits,",
        "md5(password) IN ('5f4dcc3b5aa765d61d8327deb882cf99')",
    ),
    _digest(
        "sha1",
        _of_text(lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest()),
        Family.STRING,
        "SHA-1 hash, in hexadecimal digits,",
        "sha1(email) = '1b2cf535f27731c974343645a3985328'",
    ),
    Function(
        name="sha2",
        parameters=(_TEXT, Parameter("bits", Family.NUMBER, literal=True)),
        result=Family.STRING,
        call=sha2,
        summary="The SHA-2 hash of so many bits (224, 256, 384, 512) of the string in UTF-8, in hexadecimal digits.",
        example="sha2(email, 256) LIKE '00%'",
        spark="sha2({0}, {1})",
        check=_check_sha2,
    ),
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
        check=_check_growthbook,
        summary=(
            "The bucket from 0 to 1 into which GrowthBook puts a user (FNV-1a of 32 bits, in version 1 or 2). Unknown "
            "for the empty text, 0 and false. `ruledex convert --from growthbook` writes it."
        ),
        example="growthbook_hash('new-checkout', user_id, 2) < 0.1",
    ),
)
