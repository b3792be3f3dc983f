"""A writer killed at any moment, by a signal that it cannot catch, harms nothing that is published."""

import os
import signal
import time

import numpy as np

from ruledex.artifact import collect_garbage, list_versions, open_version, verify

from .samples import output_of, publish_sample, start_python

N_ROUNDS = 10
N_AT_ONCE = 5

# Forks a writer for every line that it is sent, which publishes until it dies; when it has died, says of what.
# A new interpreter for each would spend its time on imports.
NURSERY = """
import os, sys
import numpy as np
from ruledex.artifact import ArtifactWriter, collect_garbage

def publish(root):
    number = 0
    while True:
        number += 1
        with ArtifactWriter(root, segment_bytes=200_000) as writer:
            for part in range(5):
                writer.array(f"part/{part}", np.full(20_000, number * 10 + part))
            writer.document("number", number)
            writer.publish({"number": number})
        if number % 3 == 0:
            collect_garbage(root)

for line in sys.stdin:
    if line.startswith("wait"):
        print(os.WTERMSIG(os.waitpid(int(line.split()[1]), 0)[1]), flush=True)
    elif pid := os.fork():
        print(pid, flush=True)
    else:
        publish(sys.argv[1])
"""


def test_fifty_writers_killed_at_random_moments_leave_a_whole_current_version(root):
    first = publish_sample(root)
    generator = np.random.default_rng(9)
    n_left = 0
    nursery = start_python(NURSERY, str(root))
    assert nursery.stdin is not None
    assert nursery.stdout is not None

    def ask(line: str) -> int:
        nursery.stdin.write(f"{line}\n")
        nursery.stdin.flush()
        return int(nursery.stdout.readline())

    living: list[int] = []
    try:
        for _ in range(N_ROUNDS):
            living = [ask("start") for _ in range(N_AT_ONCE)]
            while living:
                time.sleep(generator.uniform(0, 0.02))
                writer = living.pop()
                os.kill(writer, signal.SIGKILL)
                assert ask(f"wait {writer}") == signal.SIGKILL
                artifact = open_version(root, verify="always")
                if artifact.version != first:
                    number = artifact.metadata["number"]
                    assert artifact.document("number") == number
                    for part in range(5):
                        assert (artifact.array(f"part/{part}") == number * 10 + part).all()
            n_left += len(list((root / "staging").iterdir()))
            assert verify(root).ok
            collected = collect_garbage(root)
            assert collected.living == ()
            assert list((root / "staging").iterdir()) == []
            assert list_versions(root) == [open_version(root).version]
    finally:
        for writer in living:
            os.kill(writer, signal.SIGKILL)
    output_of(nursery)
    assert n_left > 0
