"""Files of events."""

from __future__ import annotations

from pathlib import Path

from ruledex.errors import EventError
from ruledex.sources import read_events


def test_a_line_that_is_no_event_is_an_error_among_the_events(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"a": {"b": [1, 2]}}\n\n{\n[1]\n{}\n')
    first, broken, no_object, last = read_events(str(path))
    assert first == (1, {"a": {"b": [1, 2]}})
    assert last == (5, {})
    for line, error in (broken, no_object):
        assert isinstance(error, EventError)
        assert f"line {line}" in str(error)
