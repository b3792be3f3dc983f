"""Where a part of Python or a package is missing: each case is a process in which it cannot be imported."""

import os
import subprocess
import sys

CODE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name == {hidden!r}:
            raise ImportError(name)

for name in {hidden!r}, "filelock", "filelock._unix":
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Refuse())
import ruledex
from ruledex import Index
from ruledex.errors import ArtifactError, RulesError
"""
WITHOUT_LOCKS = """
index = Index.build([(1, "a = 1"), (2, "b LIKE 'x%'")])
assert index.match({"a": 1}) == [1]
root = sys.argv[1]
index.save(root)
index.save(root)
opened = Index.open(root)
assert opened.match({"b": "xy"}) == [2]
try:
    opened.add([(3, "a = 3")])
except ArtifactError as error:
    assert "fcntl" in str(error), error
else:
    raise AssertionError
memory = Index.build([(1, "a = 1")])
memory.add([(3, "a = 3")])
assert memory.match({"a": 3}) == [3]
"""
WITHOUT_RE2 = """
rules = [(1, "a = 1"), (2, "name RLIKE 'b+c'"), (3, "name LIKE 'A%'")]
try:
    Index.build(rules)
except RulesError as error:
    [fault] = error.faults
    assert fault.rule_id == 2, fault
    assert "google-re2, which is not installed" in str(fault.error), fault
else:
    raise AssertionError
index = Index.build(rules, on_error="skip")
assert index.match({"a": 1, "name": "Abc"}) == [1, 3]
"""


def run(code, hidden, *arguments):
    environment = {**os.environ, "RULEDEX_COMPILE": "never"}
    command = [sys.executable, "-c", CODE.replace("{hidden!r}", repr(hidden)) + code, *map(str, arguments)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_without_fcntl_all_works_but_changes_in_a_folder_which_say_what_they_need(tmp_path):
    run(WITHOUT_LOCKS, "fcntl", tmp_path / "index")


def test_without_re2_a_build_says_which_rules_need_it():
    run(WITHOUT_RE2, "re2")
