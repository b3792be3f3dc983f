"""Write which files of tests take long, for `make quick` to leave out.

    PYTEST_ADDOPTS=--junitxml=build/tests.xml make coverage
    python tools/long_tests.py build/tests.xml > tests/long.txt

A file that is not in the list is run.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

SECONDS = 3.0  # of all tests of a file together, uncompiled
ROOT = Path(__file__).resolve().parent.parent


def long_files(report: str) -> list[str]:
    """Return the files whose tests take long by a report in JUnit's format, sorted."""
    seconds: defaultdict[Path, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        seconds[_file(case.attrib["classname"])] += float(case.attrib["time"])
    return sorted(path.relative_to(ROOT).as_posix() for path, taken in seconds.items() if taken > SECONDS)


def _file(name: str) -> Path:
    """Return the file of a module, or of a class in it."""
    path = ROOT.joinpath(*name.split("."))
    while not path.with_suffix(".py").is_file():
        path = path.parent
    return path.with_suffix(".py")


if __name__ == "__main__":
    print("\n".join(long_files(sys.argv[1])))
