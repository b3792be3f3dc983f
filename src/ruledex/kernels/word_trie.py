"""Many words looked for in one text at once, byte by byte: the automaton of Aho and Corasick (1975).

States are numbered from 0, the root, and their transitions lie in one hash table with open addressing. A state's `fail` is
the longest proper suffix of its text that is a state too; `next_inside` and `next_end` lead from a state (itself
included) along those suffixes to the first whose word is wanted inside or at the end of a text, or are -1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import jit

# Where in a text a word is wanted, as bits.
INSIDE, START, END, WHOLE = 1, 2, 4, 8
_USE_BITS = 16  # a hit is word * _USE_BITS + use

N_BYTES = 256


class WordTrie(NamedTuple):
    """The automaton as flat arrays."""

    keys: NDArray[np.int64]  # state * N_BYTES + byte, or -1; the length is a power of two
    targets: NDArray[np.int32]
    root: NDArray[np.int32]  # [N_BYTES] the root's transitions, 0 where there is none
    word: NDArray[np.int32]  # [n_states] the word that ends here, or -1
    uses: NDArray[np.uint8]  # [n_words]
    fail: NDArray[np.int32]
    next_inside: NDArray[np.int32]
    next_end: NDArray[np.int32]


def word_trie(words: list[bytes], uses: list[int]) -> WordTrie:
    """The automaton of distinct words, none of them empty, each with the places where it is wanted."""
    text = np.frombuffer(b"".join(words), np.uint8)
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=offsets[1:])
    capacity = 1 << (2 * text.size + 2).bit_length()
    n_states = text.size + 1
    keys, targets = np.full(capacity, -1, np.int64), np.zeros(capacity, np.int32)
    parent, depth = np.zeros(n_states, np.int32), np.zeros(n_states, np.int32)
    letter, word = np.zeros(n_states, np.uint8), np.full(n_states, -1, np.int32)
    n_states = insert_words(text, offsets, keys, targets, parent, depth, letter, word)
    order = np.argsort(depth[:n_states], kind="stable")
    fail, root = np.zeros(n_states, np.int32), np.zeros(N_BYTES, np.int32)
    next_inside, next_end = np.full(n_states, -1, np.int32), np.full(n_states, -1, np.int32)
    use_bits = np.array(uses, np.uint8)
    link_suffixes(keys, targets, order, parent, letter, word, use_bits, fail, root, next_inside, next_end)
    return WordTrie(keys, targets, root, word[:n_states].copy(), use_bits, fail, next_inside, next_end)


@jit
def step(keys: NDArray[np.int64], targets: NDArray[np.int32], state: int, byte: int) -> int:
    """The state that a byte leads to, or minus one and the place where such a transition would be put, negated."""
    key = np.int64(state) * N_BYTES + byte
    mask = keys.size - 1
    # A state and a byte take 40 bits at most, so that nothing overflows.
    at = ((key * 40503) >> 7) & mask
    while keys[at] != key:
        if keys[at] == -1:
            return -1 - at
        at = (at + 1) & mask
    return targets[at]


@jit
def insert_words(
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    keys: NDArray[np.int64],
    targets: NDArray[np.int32],
    parent: NDArray[np.int32],
    depth: NDArray[np.int32],
    letter: NDArray[np.uint8],
    word: NDArray[np.int32],
) -> int:
    """Put all words into the table; return the number of states."""
    n_states = 1
    for number in range(offsets.size - 1):
        state = 0
        for place in range(offsets[number], offsets[number + 1]):
            byte = np.int64(text[place])
            following = step(keys, targets, state, byte)
            if following < 0:
                at = -1 - following
                following = n_states
                n_states += 1
                keys[at] = np.int64(state) * N_BYTES + byte
                targets[at] = following
                parent[following] = state
                depth[following] = depth[state] + 1
                letter[following] = byte
            state = following
        word[state] = number
    return n_states


@jit
def link_suffixes(
    keys: NDArray[np.int64],
    targets: NDArray[np.int32],
    order: NDArray[np.int64],
    parent: NDArray[np.int32],
    letter: NDArray[np.uint8],
    word: NDArray[np.int32],
    uses: NDArray[np.uint8],
    fail: NDArray[np.int32],
    root: NDArray[np.int32],
    next_inside: NDArray[np.int32],
    next_end: NDArray[np.int32],
) -> None:
    """Fill the last four; `order` are the states by depth, so that shorter suffixes are ready before they are asked for."""
    for state in order[1:]:
        byte = np.int64(letter[state])
        suffix = np.int64(parent[state])
        if suffix == 0:
            root[byte] = state
        while suffix != 0:
            suffix = np.int64(fail[suffix])
            following = step(keys, targets, suffix, byte)
            if following >= 0:
                fail[state] = following
                break
        wanted = uses[word[state]] if word[state] >= 0 else np.uint8(0)
        next_inside[state] = state if wanted & INSIDE else next_inside[fail[state]]
        next_end[state] = state if wanted & END else next_end[fail[state]]


@jit
def find_words(trie: WordTrie, text: NDArray[np.uint8], out: NDArray[np.int64]) -> int:
    """Write hits, as many as `out` has room for, and return how many there are; a word may be hit more than once."""
    n_hits = 0
    state = 0
    place = 0
    while state >= 0:
        word = np.int64(trie.word[state])
        if word >= 0:
            for use in (START, WHOLE):
                if trie.uses[word] & use and (use == START or place == text.size):
                    if n_hits < out.size:
                        out[n_hits] = word * _USE_BITS + use
                    n_hits += 1
        if place == text.size:
            break
        state = step(trie.keys, trie.targets, state, np.int64(text[place]))
        place += 1
    state = 0
    for byte in text:
        following = -1
        while state != 0:
            following = step(trie.keys, trie.targets, state, np.int64(byte))
            if following >= 0:
                break
            state = np.int64(trie.fail[state])
        state = following if state != 0 else np.int64(trie.root[byte])
        hit = trie.next_inside[state]
        while hit >= 0:
            if n_hits < out.size:
                out[n_hits] = np.int64(trie.word[hit]) * _USE_BITS + INSIDE
            n_hits += 1
            hit = trie.next_inside[trie.fail[hit]]
    hit = trie.next_end[state]
    while hit >= 0:
        if n_hits < out.size:
            out[n_hits] = np.int64(trie.word[hit]) * _USE_BITS + END
        n_hits += 1
        hit = trie.next_end[trie.fail[hit]]
    return n_hits


def hits(trie: WordTrie, text: bytes) -> list[tuple[int, int]]:
    """The words of a text that stand where they are wanted, as (word, use), some of them more than once."""
    data = np.frombuffer(text, np.uint8)
    found = np.empty(64, np.int64)
    n_hits = find_words(trie, data, found)
    if n_hits > found.size:
        found = np.empty(n_hits, np.int64)
        find_words(trie, data, found)
    return [divmod(hit, _USE_BITS) for hit in found[:n_hits].tolist()]
