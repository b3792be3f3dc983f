"""The image for Spark on Kubernetes, as far as it can be checked without building it."""

from __future__ import annotations

import subprocess

from tests.service.test_deploy import DEPLOY, found_program

DOCKERFILE = DEPLOY / "spark" / "Dockerfile"


def test_the_dockerfile_has_no_findings():
    checked = subprocess.run(
        [found_program("hadolint"), "--failure-threshold", "info", str(DOCKERFILE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stdout) == (0, "")


def test_what_it_copies_is_there():
    copied = [line.split()[1:-1] for line in DOCKERFILE.read_text().splitlines() if line.startswith("COPY ")]
    own = [name for names in copied for name in names if not names[0].startswith("--from")]
    assert own
    assert all((DEPLOY.parent / name).exists() for name in own)
