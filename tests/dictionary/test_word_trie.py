import random

from ruledex.dictionary.word_trie import END, INSIDE, START, WHOLE, hits, word_trie


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
            found = hits(trie, text)
            assert set(found) == expected_hits(words, uses, text)
            assert len(found) == len(set(found))


def test_more_hits_than_the_first_buffer_holds_are_all_given():
    words = [b"a" * n for n in range(1, 500)]
    trie = word_trie(words, [INSIDE | END] * len(words))
    found = hits(trie, b"a" * 450)
    assert sorted(found) == sorted((n, use) for n in range(450) for use in (INSIDE, END))


def test_a_word_that_is_there_many_times_is_given_once():
    trie = word_trie([b"a", b"aa", b"b"], [INSIDE] * 3)
    assert sorted(hits(trie, b"a" * 1000 + b"b" + b"a" * 1000)) == [(0, INSIDE), (1, INSIDE), (2, INSIDE)]
