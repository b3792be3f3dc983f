import random

from ruledex.kernels.word_trie import END, INSIDE, START, WHOLE, hits, word_trie


def expected_hits(words, uses, text):
    tests = {
        INSIDE: lambda word: word in text,
        START: text.startswith,
        END: text.endswith,
        WHOLE: lambda word: word == text,
    }
    return {(i, use) for i, word in enumerate(words) for use, test in tests.items() if uses[i] & use and test(word)}


def test_words_are_found_where_they_are_wanted_and_nowhere_else():
    rng = random.Random(1)
    for _ in range(60):
        words = list({bytes(rng.choices(b"ab\0\xff", k=rng.randint(1, 5))) for _ in range(rng.randint(1, 30))})
        uses = [rng.randint(1, 15) for _ in words]
        trie = word_trie(words, uses)
        for _ in range(10):
            text = bytes(rng.choices(b"ab\0\xff", k=rng.randint(0, 12)))
            assert set(hits(trie, text)) == expected_hits(words, uses, text)


def test_more_hits_than_the_first_buffer_holds_are_all_given():
    trie = word_trie([b"a"], [INSIDE])
    assert hits(trie, b"a" * 1000) == [(0, INSIDE)] * 1000
