import threading

import pytest

from ruledex.artifact.locks import claim_staging, release_lock, remove_dead_staging, root_lock, take_lock

from .samples import output_of, start_python


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


def test_the_staging_of_a_living_writer_stays_and_that_of_a_dead_one_goes(tmp_path):
    script = (
        "import os, sys; from pathlib import Path; from ruledex.artifact.locks import claim_staging;"
        "area = claim_staging(Path(sys.argv[1])); (area.files / 'part').write_bytes(b'x');"
        "print(area.path.name, end='', flush=True); os._exit(0)"
    )
    dead = output_of(start_python(script, str(tmp_path)))
    with claim_staging(tmp_path) as area:
        assert remove_dead_staging(tmp_path) == ([dead], [area.path.name])
        assert area.files.is_dir()
    assert list((tmp_path / "staging").iterdir()) == []


def test_a_staging_folder_without_a_lock_yet_is_collected_and_its_writer_would_begin_again(tmp_path):
    (tmp_path / "staging" / "young").mkdir(parents=True)
    assert remove_dead_staging(tmp_path) == (["young"], [])


def test_what_is_no_folder_is_left_alone(tmp_path):
    (tmp_path / "staging").mkdir()
    (tmp_path / "staging" / "note").write_text("mine")
    assert remove_dead_staging(tmp_path) == ([], [])
    assert (tmp_path / "staging" / "note").exists()


def test_a_claimed_name_begins_empty_whatever_its_last_owner_left(tmp_path):
    (tmp_path / "staging" / "copy" / "files").mkdir(parents=True)
    (tmp_path / "staging" / "copy" / "files" / "half").write_bytes(b"x")
    with claim_staging(tmp_path, "copy") as area:
        assert list(area.files.iterdir()) == []


def test_many_claims_of_one_name_take_turns_while_garbage_is_collected(tmp_path):
    inside = 0
    overlaps = []
    done = threading.Event()

    def work():
        nonlocal inside
        for number in range(25):
            with claim_staging(tmp_path, "copy") as area:
                inside += 1
                (area.files / "mine").write_bytes(bytes([number]))
                if inside != 1 or (area.files / "mine").read_bytes() != bytes([number]):
                    overlaps.append(number)
                inside -= 1

    def collect():
        while not done.is_set():
            remove_dead_staging(tmp_path)

    workers = [threading.Thread(target=work) for _ in range(4)]
    collector = threading.Thread(target=collect)
    for thread in [collector, *workers]:
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    collector.join()
    assert overlaps == []
    assert list((tmp_path / "staging").iterdir()) == []


def test_a_staging_area_may_be_closed_twice(tmp_path):
    area = claim_staging(tmp_path)
    area.close()
    area.close()


def test_the_roots_lock_is_released_when_its_holder_fails(tmp_path):
    with pytest.raises(KeyError), root_lock(tmp_path):
        raise KeyError
    with root_lock(tmp_path):
        pass
