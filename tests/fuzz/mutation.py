"""Seeded mutations of a corpus: bytes flipped, cut out, repeated, and spliced with tokens and with other texts."""

from __future__ import annotations

import random
from collections.abc import Sequence

TOKENS = [
    *b"( ) , . ^ ' \" ` \\ + - * / % = < > ! \0 \xff \xc3 \n 0 9 e".split(b" "),
    *b"<=> != <> == -- /* */ '' \\' \\u00 \\uD83D 1e999 99999999999999999999 0.5 5L 5BD 5D NULL TRUE NOT".split(b" "),
    *b"AND OR XOR XNOR IN BETWEEN LIKE ILIKE RLIKE ANY ALL ESCAPE IS DATE TIMESTAMP r' lower( size( round(".split(b" "),
    *b"version( cidr( coalesce( subset_of( to_timestamp( substring( a a.b `a` 'x' '%' '2024-01-01' ^2 ^-1".split(b" "),
    *b"exists( forall( filter( -> i i. [0] [-1] [ ] @a @`b` @ array( named_struct( element_at( present( typeof(".split(
        b" "
    ),
    *b"now() INTERVAL DAYS HOUR ::INT :: CAST( try_cast( AS COLLATE UTF8_LCASE DIV UNKNOWN FALSE extract( FROM".split(
        b" "
    ),
]
MAX_BYTES = 4_000
MAX_REPEATS = 300


def mutated(generator: random.Random, corpus: Sequence[bytes]) -> bytes:
    """A text of the corpus after some mutations."""
    content = bytearray(generator.choice(corpus))
    for _ in range(generator.choice((1, 1, 2, 3, 5, 8))):
        start = generator.randint(0, len(content))
        end = min(len(content), start + generator.choice((0, 1, 2, 4, 8, 30)))
        kind = generator.randrange(6)
        if kind == 0:
            content[start:end] = generator.choice(TOKENS)
        elif kind == 1:
            content[start:start] = b" " + generator.choice(TOKENS) + b" "
        elif kind == 2:
            content[start:end] = b""
        elif kind == 3:
            content[start:end] = content[start:end] * generator.randint(2, MAX_REPEATS)
        elif kind == 4:
            other = generator.choice(corpus)
            cut = generator.randint(0, len(other))
            content[start:] = other[cut:]
        elif content:
            content[start % len(content)] = generator.randrange(256)
    return bytes(content[:MAX_BYTES])
