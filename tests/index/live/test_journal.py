"""The journal's file: what was appended comes back, and what is damaged is an error or a tail that is cut off."""

from __future__ import annotations

import os

import pytest

from ruledex.errors import ArtifactError
from ruledex.index import Index
from ruledex.index.live.changes import IndexChange, PutRule
from ruledex.index.live.journal import Journal

VERSION = "ab" * 32
CHANGES = [
    IndexChange([PutRule(1, "a = 1", 0.5, '{"tenant":"a"}'), PutRule(2, "name = 'ü RDXR'", 0.0)], [], []),
    IndexChange([], [1], []),
    IndexChange([], [], [(2, 1e300), (3, -0.1)]),
    IndexChange([PutRule("x", "TRUE", 2.0)], ["y"], [("z", 3.0)]),
]


@pytest.fixture
def journal(tmp_path):
    made = Journal(tmp_path, VERSION)
    mark = None
    for change in CHANGES:
        mark = made.append(change, mark)
    return made


def bounds(journal):
    """Where each record ends, the header first."""
    ends, mark = [], None
    again = Journal(journal.path.parent.parent / "again", VERSION)
    again.path.parent.parent.mkdir()
    for change in CHANGES:
        mark = again.append(change, mark)
        ends.append(mark.end)
    return ends


def test_what_was_appended_comes_back(journal):
    changes, mark, goes_on = journal.read()
    assert (changes, goes_on, mark.n_records) == (CHANGES, True, 4)
    assert mark.end == journal.path.stat().st_size
    assert journal.read(mark) == ([], mark, True)
    after = journal.append(CHANGES[0], mark)
    assert journal.read(mark) == ([CHANGES[0]], after, True)


def test_a_journal_that_is_not_there_has_no_changes(tmp_path):
    assert Journal(tmp_path, VERSION).read() == ([], None, True)


def test_a_journal_that_was_replaced_or_removed_is_told_from_the_one_before(journal):
    _, mark, _ = journal.read()
    begun_anew = journal.replace(CHANGES[:1])
    assert journal.read(mark) == (CHANGES[:1], begun_anew, False)
    journal.remove()
    assert journal.read(mark) == ([], None, False)
    journal.remove()


def test_a_journal_cut_at_any_byte_has_the_changes_before(journal):
    data, ends = journal.path.read_bytes(), bounds(journal)
    header = ends[0] - (ends[1] - ends[0])  # at the most
    for length in range(header, len(data)):
        journal.path.write_bytes(data[:length])
        try:
            changes, mark, _ = journal.read()
        except ArtifactError:
            assert length < 72
            continue
        assert changes == CHANGES[: sum(end <= length for end in ends)]
        assert mark.end <= length


def test_whatever_follows_the_last_record_is_passed_over_and_cut_off(journal):
    whole = journal.path.read_bytes()
    for tail in (b"\0" * 50, b"RDXR", whole[-60:-1], os.urandom(200)):
        journal.path.write_bytes(whole + tail)
        changes, mark, _ = journal.read()
        assert (changes, mark.end) == (CHANGES, len(whole))
        after = journal.append(CHANGES[1], mark)
        assert journal.path.stat().st_size == after.end
        assert journal.read()[0] == [*CHANGES, CHANGES[1]]
        journal.path.write_bytes(whole)


def test_a_flipped_byte_anywhere_is_an_error_or_cuts_the_last_change_off(journal):
    whole = journal.path.read_bytes()
    n_cut = 0
    for at in range(len(whole)):
        for bit in (0x01, 0x80):
            data = bytearray(whole)
            data[at] ^= bit
            journal.path.write_bytes(data)
            try:
                changes = journal.read()[0]
            except ArtifactError:
                continue
            assert changes == CHANGES[:-1]
            n_cut += 1
    last = len(whole) - bounds(journal)[-2]
    assert n_cut == 2 * last


def test_a_journal_of_another_version_is_an_error(journal, tmp_path):
    other = Journal(tmp_path, "cd" * 32)
    other.path.write_bytes(journal.path.read_bytes())
    with pytest.raises(ArtifactError, match="of another version"):
        other.read()


def test_records_of_another_journal_are_none_of_this_one(journal, tmp_path):
    (tmp_path / "other").mkdir()
    other = Journal(tmp_path / "other", VERSION)
    mark = other.append(CHANGES[0], None)
    other.append(CHANGES[1], mark)
    ends = bounds(journal)
    stranger = other.path.read_bytes()[mark.end :]
    journal.path.write_bytes(journal.path.read_bytes()[: ends[0]] + stranger)
    assert journal.read()[0] == CHANGES[:1]


def test_a_record_that_is_left_out_is_an_error(journal):
    data, ends = journal.path.read_bytes(), bounds(journal)
    journal.path.write_bytes(data[: ends[0]] + data[ends[1] :])
    with pytest.raises(ArtifactError, match="record 1 cannot be read, and others follow"):
        journal.read()


def test_a_change_that_cannot_be_written_leaves_no_trace(journal, monkeypatch):
    whole = journal.path.read_bytes()
    _, mark, _ = journal.read()

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(ArtifactError, match="No space left"):
        journal.append(CHANGES[0], mark)
    assert journal.path.read_bytes() == whole


def test_a_damaged_journal_is_an_error_of_the_index_and_never_a_wrong_answer(tmp_path):
    index = Index.build([(1, "a = 1"), (2, "a = 2")], "scan")
    index.save(tmp_path)
    histories = [list(index)]
    for change in (lambda: index.add([(3, "a = 3")]), lambda: index.remove([1]), lambda: index.update([(2, "b = 2")])):
        change()
        histories.append(list(index))
    path = tmp_path / "journal" / index.version
    whole = path.read_bytes()
    seen, errors = set(), []
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            seen.add(histories.index(list(Index.open(tmp_path))))
        except ArtifactError as error:
            errors.append(str(error))
    assert seen == {2}
    assert errors
    assert all(path.name in error for error in errors)
