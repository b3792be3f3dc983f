"""The parser on mutated rules, for a bounded time: longer in CI."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.fuzz.mutation import mutated
from tests.fuzz.target import read

CORPUS = Path(__file__).parent / "corpus"
SECONDS = float(os.environ.get("RULEDEX_FUZZ_SECONDS", 20 if os.environ.get("CI") == "true" else 5))
SEED = int(os.environ.get("RULEDEX_FUZZ_SEED", "2009"))


def _corpus() -> list[bytes]:
    return [line for path in sorted(CORPUS.glob("*.txt")) for line in path.read_bytes().splitlines()]


def test_all_of_the_corpus_but_its_comment_is_read():
    assert sum(map(read, _corpus())) == len(_corpus()) - 1


def test_bytes_become_a_rule_or_a_rule_error_and_rules_survive_their_text():
    generator = random.Random(SEED)
    corpus = _corpus()
    n_rules = n_texts = 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        content = mutated(generator, corpus)
        n_texts += 1
        try:
            if read(content):
                n_rules += 1
                if len(corpus) < 2_000 and len(content) < 500:
                    corpus.append(content)  # what is still a rule is a way to further ones
        except Exception as error:
            error.add_note(f"RULEDEX_FUZZ_SEED={SEED}, text {n_texts}: {content!r}")
            raise
    assert n_rules


@pytest.mark.parametrize("n_bytes", [1, 2])
def test_every_short_text_is_answered(n_bytes):
    for number in range(256**n_bytes if n_bytes == 1 else 128**n_bytes):
        read(bytes(divmod(number, 128)) if n_bytes == 2 else bytes([number]))
