import threading

import pytest

from ruledex.artifact.locks import claim_staging, release_lock, remove_dead_staging, root_lock, take_lock
from ruledex.artifact.ownership import claim_root
from ruledex.errors import ArtifactError

from .samples import output_of, start_python

YOUNG = "17-0123456789abcdef"
COPY = "copy-" + "0" * 64


def test_a_lock_is_given_to_one_at_a_time(tmp_path):
    held = take_lock(tmp_path / "lock")
    with pytest.raises(BlockingIOError):
        take_lock(tmp_path / "lock", wait=False)
    release_lock(held)
    release_lock(take_lock(tmp_path / "lock", wait=False))


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    script = (
        "import sys, time; from pathlib import Path; from ruledex.artifact.locks import take_lock;"
        "take_lock(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
    )
    process = start_python(script, str(tmp_path / "lock"))
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(BlockingIOError):
        take_lock(tmp_path / "lock", wait=False)
    process.kill()
    process.communicate()
    release_lock(take_lock(tmp_path / "lock", wait=False))


def test_the_staging_of_a_living_writer_stays_and_that_of_a_dead_one_goes(root):
    script = (
        "import os, sys; from pathlib import Path; from ruledex.artifact.locks import claim_staging;"
        "area = claim_staging(Path(sys.argv[1])); (area.files / 'part').write_bytes(b'x');"
        "print(area.path.name, end='', flush=True); os._exit(0)"
    )
    dead = output_of(start_python(script, str(root)))
    with claim_staging(root) as area:
        assert remove_dead_staging(root) == ([dead], [area.path.name])
        assert area.files.is_dir()
    assert list((root / "staging").iterdir()) == []


def test_a_staging_folder_without_a_lock_yet_is_collected_and_its_writer_would_begin_again(root):
    claim_root(root)
    (root / "staging" / YOUNG).mkdir(parents=True)
    assert remove_dead_staging(root) == ([YOUNG], [])


def test_what_is_no_folder_is_left_alone(root):
    claim_root(root)
    (root / "staging").mkdir()
    (root / "staging" / "note").write_text("mine")
    assert remove_dead_staging(root) == ([], [])
    assert (root / "staging" / "note").exists()


def test_a_claimed_name_begins_empty_whatever_its_last_owner_left(root):
    claim_root(root)
    (root / "staging" / COPY / "files").mkdir(parents=True)
    (root / "staging" / COPY / "files" / "half").write_bytes(b"x")
    with claim_staging(root, COPY) as area:
        assert list(area.files.iterdir()) == []


def test_many_claims_of_one_name_take_turns_while_garbage_is_collected(root):
    claim_root(root)
    inside = 0
    overlaps = []
    done = threading.Event()

    def work():
        nonlocal inside
        for number in range(25):
            with claim_staging(root, COPY) as area:
                inside += 1
                (area.files / "mine").write_bytes(bytes([number]))
                if inside != 1 or (area.files / "mine").read_bytes() != bytes([number]):
                    overlaps.append(number)
                inside -= 1

    def collect():
        while not done.is_set():
            remove_dead_staging(root)

    workers = [threading.Thread(target=work) for _ in range(4)]
    collector = threading.Thread(target=collect)
    for thread in [collector, *workers]:
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    collector.join()
    assert overlaps == []
    assert list((root / "staging").iterdir()) == []


def test_a_staging_area_may_be_closed_twice(root):
    area = claim_staging(root)
    area.close()
    area.close()


def test_the_roots_lock_is_released_when_its_holder_fails(root):
    claim_root(root)
    with pytest.raises(KeyError), root_lock(root):
        raise KeyError
    with root_lock(root):
        pass


def test_a_name_that_no_staging_folder_has_cannot_be_claimed(root):
    with pytest.raises(ArtifactError, match="not the name of a staging folder"):
        claim_staging(root, "../elsewhere")


def test_no_lock_is_taken_on_what_a_link_leads_to(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="symbolic links"):
        take_lock(tmp_path / "lock")
    assert not (tmp_path / "outside").exists()
