"""Find many words in a text at once, byte by byte: the automaton of Aho and Corasick (1975).

States are numbered from 0, the root, and their transitions lie in one hash table with open addressing. Everything is
packed into two arrays, since each array of a call costs more than a few bytes of text.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit

# Where in a text a word is wanted, as bits.
INSIDE, START, END, WHOLE = 1, 2, 4, 8
_USE_BITS = 16  # a hit is word * _USE_BITS + use
_MAX_FIRST_HITS = 64
_SEEN_BITS = 32

N_BYTES = 256

# The columns of `states`. `FAIL` is the longest proper suffix of a state's text that is a state too; NEXT_INSIDE and
# NEXT_END lead from a state, itself included, along those suffixes to the first whose word is wanted there, or are -1.
WORD, USES, FAIL, NEXT_INSIDE, NEXT_END = range(5)
_N_COLUMNS = 5

Number: TypeAlias = Any  # a Python integer where a kernel is called, one of 64 bits inside


class WordTrie(NamedTuple):
    """The automaton as flat arrays."""

    table: NDArray[np.int64]  # rows (state * N_BYTES + byte, or -1; the next state), a power of two of them
    states: NDArray[np.int32]
    n_seen: int  # numbers of `_SEEN_BITS` bits for a bit per word


def word_trie(words: list[bytes], uses: list[int]) -> WordTrie:
    """Return the automaton of distinct words, none of them empty, each with the places where it is wanted."""
    text = np.frombuffer(b"".join(words), np.uint8)
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=offsets[1:])
    table = np.full((1 << (2 * text.size + 2).bit_length(), 2), -1, np.int64)
    parent, letter = np.zeros(text.size + 1, np.int32), np.zeros(text.size + 1, np.uint8)
    depth = np.zeros(text.size + 1, np.int32)
    states = np.zeros((text.size + 1, _N_COLUMNS), np.int32)
    states[:, [WORD, NEXT_INSIDE, NEXT_END]] = -1
    n_states = insert_words(text, offsets, np.array(uses, np.int32), table, states, parent, depth, letter)
    order = np.argsort(depth[:n_states], kind="stable")
    link_suffixes(table, order, parent, letter, states)
    return WordTrie(table, states[:n_states].copy(), -(-len(words) // _SEEN_BITS))


@jit
def next_state(table: NDArray[np.int64], state: Number, byte: Number) -> Number:
    """Return the state that a byte leads to, or -1 - the row of the table in which it would be put."""
    key = np.int64(state) * N_BYTES + byte
    mask = table.shape[0] - 1
    # A state and a byte take 40 bits at most, so that nothing overflows.
    at = ((key * 40503) >> 7) & mask
    while table[at, 0] != key:
        if table[at, 0] == -1:
            return -1 - at
        at = (at + 1) & mask
    return table[at, 1]


@jit
def insert_words(
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    uses: NDArray[np.int32],
    table: NDArray[np.int64],
    states: NDArray[np.int32],
    parent: NDArray[np.int32],
    depth: NDArray[np.int32],
    letter: NDArray[np.uint8],
) -> int:
    """Put all words into the table; return the number of states."""
    n_states = 1
    for number in range(offsets.size - 1):
        state: Number = 0
        for place in range(offsets[number], offsets[number + 1]):
            byte = np.int64(text[place])
            following = next_state(table, state, byte)
            if following < 0:
                at = -1 - following
                following = n_states
                n_states += 1
                table[at, 0] = np.int64(state) * N_BYTES + byte
                table[at, 1] = following
                parent[following] = state
                depth[following] = depth[state] + 1
                letter[following] = byte
            state = following
        states[state, WORD] = number
        states[state, USES] = uses[number]
    return n_states


@jit
def link_suffixes(
    table: NDArray[np.int64],
    order: NDArray[np.int64],
    parent: NDArray[np.int32],
    letter: NDArray[np.uint8],
    states: NDArray[np.int32],
) -> None:
    """Fill the last three columns. `order` has the states by depth, so that shorter suffixes come first."""
    for state in order[1:]:
        suffix = np.int64(parent[state])
        while suffix != 0:
            suffix = np.int64(states[suffix, FAIL])
            following = next_state(table, suffix, np.int64(letter[state]))
            if following >= 0:
                states[state, FAIL] = following
                break
        fail, uses = states[state, FAIL], states[state, USES]
        states[state, NEXT_INSIDE] = state if uses & INSIDE else states[fail, NEXT_INSIDE]
        states[state, NEXT_END] = state if uses & END else states[fail, NEXT_END]


@jit
def find_words(
    table: NDArray[np.int64], states: NDArray[np.int32], n_seen: Number, text: NDArray[np.uint8], out: NDArray[np.int64]
) -> int:
    """Write hits, as many as `out` has room for, and return how many there are: each word and use once.

    The last `n_seen` numbers of `out`, zero at first, say which words were found INSIDE. If one was found, so were all
    of its suffixes, so the time is linear in the text however many words end at one place.
    """
    n_hits = 0
    n_room = out.size - n_seen
    state: Number = 0
    place = 0
    while state >= 0:
        for use in (START, WHOLE):
            if states[state, USES] & use and (use == START or place == text.size):
                if n_hits < n_room:
                    out[n_hits] = np.int64(states[state, WORD]) * _USE_BITS + use
                n_hits += 1
        if place == text.size:
            break
        state = next_state(table, state, np.int64(text[place]))
        place += 1
    state = 0
    for byte in text:
        following = next_state(table, state, np.int64(byte))
        while following < 0 and state != 0:
            state = np.int64(states[state, FAIL])
            following = next_state(table, state, np.int64(byte))
        state = max(following, 0)
        hit = states[state, NEXT_INSIDE]
        while hit >= 0:
            word = np.int64(states[hit, WORD])
            seen_in, bit = n_room + word // _SEEN_BITS, np.int64(1) << (word % _SEEN_BITS)
            if out[seen_in] & bit:
                break
            out[seen_in] |= bit
            if n_hits < n_room:
                out[n_hits] = word * _USE_BITS + INSIDE
            n_hits += 1
            hit = states[states[hit, FAIL], NEXT_INSIDE]
    hit = states[state, NEXT_END]
    while hit >= 0:
        if n_hits < n_room:
            out[n_hits] = np.int64(states[hit, WORD]) * _USE_BITS + END
        n_hits += 1
        hit = states[states[hit, FAIL], NEXT_END]
    return n_hits


def hits(trie: WordTrie, text: bytes) -> list[tuple[int, int]]:
    """Return the words of a text that stand where they are wanted, as (word, use), without duplicates."""
    data = np.frombuffer(text, np.uint8)
    found = np.zeros(_MAX_FIRST_HITS + trie.n_seen, np.int64)
    n_hits = find_words(*trie, data, found)
    if n_hits > _MAX_FIRST_HITS:
        found = np.zeros(n_hits + trie.n_seen, np.int64)
        find_words(*trie, data, found)
    return [divmod(hit, _USE_BITS) for hit in found[:n_hits].tolist()] if n_hits else []
