"""Lines of a stream that pauses."""

from __future__ import annotations

import threading

import pytest

from ruledex.cli.event_stream import LiveLines
from ruledex.errors import InputError


def test_lines_come_in_their_order():
    lines = [b"%d\n" % i for i in range(1000)]
    assert list(LiveLines(iter(lines))) == lines


def test_a_pause_can_be_seen():
    goes_on = threading.Event()

    def pausing():
        yield b"first"
        goes_on.wait()
        yield b"second"

    live = LiveLines(pausing())
    lines = iter(live)
    assert next(lines) == b"first"
    assert live.is_waiting
    goes_on.set()
    assert list(lines) == [b"second"]


def test_an_error_of_the_stream_comes_where_the_lines_are_used():
    def broken():
        yield b"first"
        raise InputError("the pipe broke")

    lines = iter(LiveLines(broken()))
    assert next(lines) == b"first"
    with pytest.raises(InputError, match="the pipe broke"):
        next(lines)
