"""The decorator where Numba's own would fail: each case is a process of its own, as it would be on a cluster."""

import logging
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from ruledex.compiled import cache
from ruledex.compiled.decorator import IS_DISABLED
from tests.compiled.conftest import HELPER_FILE

pytestmark = pytest.mark.skipif(IS_DISABLED, reason="nothing is compiled")

NOBODY = 65534
# This user may write to nothing but may read everything: root's own interpreter often lies where only root may look.
MAY_READ = "-all,+dac_read_search"
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", f"--inh-caps={MAY_READ}"]
AS_NOBODY += [f"--ambient-caps={MAY_READ}", f"--bounding-set={MAY_READ}"]
CALL = """
import numpy as np
from ruledex.compiled.cache import cache_report
from ruledex.compiled.sample import total
assert total(np.arange(5)) == 20
report = cache_report()
print(report.folder, report.n_uncached, sum(total.dispatcher.stats.cache_hits.values()), sep="|")
"""

KERNEL_OF_A_CLASS = """
from __future__ import annotations
from typing import NamedTuple
import numpy as np
from ruledex.compiled.decorator import jit

class Pair(NamedTuple):
    values: np.ndarray

@jit
def total(pair: Pair):
    return 2 * pair.values.sum()
"""


def run(install, path, *, temporary=None, user=None, code=CALL, **environment):
    """Run code with ruledex at `path`, without HOME; as nobody where the tests may become nobody."""
    temporary = temporary or install / "tmp"
    temporary.mkdir(exist_ok=True)
    if user is not None:
        os.chown(temporary, user, user)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(path),
        "TMPDIR": str(temporary),
        "RULEDEX_COMPILE": "now",
        **environment,
    }
    command = [sys.executable, "-B", "-c", code]
    if user is not None:
        command = [*AS_NOBODY, *command]
    finished = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    folder, n_uncached, n_hits = finished.stdout.strip().split("|")
    return folder, int(n_uncached), int(n_hits)


def unprivileged():
    """Nobody's id where this process may take it; else none, and the user who runs the tests is only without HOME."""
    return NOBODY if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("setpriv") else None


def make_read_only(site):
    for path in [site, *site.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_a_writable_install_keeps_code_beside_the_source(install):
    site = install / "site"
    first, second = run(install, site), run(install, site)
    assert first == (str(site / "ruledex" / "compiled" / "__pycache__"), 0, 0)
    assert second == (first[0], 0, 1)


def test_a_user_without_a_home_and_a_read_only_install_get_a_private_temporary_folder(install):
    make_read_only(install / "site")
    user = unprivileged()
    first, second = (run(install, install / "site", user=user) for _ in range(2))
    folder = Path(first[0])
    if user is None:
        assert first[1] == 0
    else:
        assert folder == install / "tmp" / f"ruledex-kernels-{user}"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert second == (first[0], 0, 1)


def test_the_user_s_cache_is_used_where_there_is_a_home(install):
    make_read_only(install / "site")
    user = unprivileged()
    home = install / "home"
    home.mkdir()
    if user is None:
        pytest.skip("a user who owns the install can write to it")
    os.chown(home, user, user)
    first, second = (run(install, install / "site", user=user, HOME=str(home)) for _ in range(2))
    assert first[0] == str(home / ".cache" / "ruledex" / "kernels")
    assert second == (first[0], 0, 1)


def test_code_of_an_archive_is_kept_and_found_again_after_the_archive_has_moved(install):
    for name in ("ruledex.zip", "elsewhere.egg"):
        with zipfile.ZipFile(install / name, "w") as archive:
            for path in sorted((install / "site").rglob("*.py")):
                archive.write(path, path.relative_to(install / "site"))
    user = unprivileged()
    first = run(install, install / "ruledex.zip", user=user, XDG_CACHE_HOME=str(install / "tmp" / "cache"))
    second = run(install, install / "elsewhere.egg", user=user, XDG_CACHE_HOME=str(install / "tmp" / "cache"))
    assert first == (str(install / "tmp" / "cache" / "ruledex" / "kernels"), 0, 0)
    assert second == (first[0], 0, 1)


def test_a_folder_that_the_user_names_comes_first(install):
    named = install / "named"
    assert run(install, install / "site", NUMBA_CACHE_DIR=str(named))[0] == str(named / "ruledex")


def test_without_any_folder_each_process_compiles_for_itself_and_says_so(install):
    user = unprivileged()
    if user is None:
        pytest.skip("needs a user who may write nowhere")
    make_read_only(install / "site")
    code = "import tempfile; tempfile.tempdir = '/proc/nowhere'\n" + CALL
    assert run(install, install / "site", user=user, code=code) == ("None", 2, 0)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [(HELPER_FILE, "FACTOR * value", "3 * value"), ("constants.py", "FACTOR = 2", "FACTOR = 3")],
    ids=["a kernel in a package of any depth", "a constant"],
)
def test_what_a_kernel_is_made_of_has_changed_and_it_is_compiled_anew(install, file, old, new):
    site = install / "site"
    run(install, site)
    changed = site / "ruledex" / file
    changed.write_text(changed.read_text().replace(old, new))
    assert run(install, site, code=CALL.replace("== 20", "== 30"))[1:] == (0, 0)
    assert run(install, site, code=CALL.replace("== 20", "== 30"))[1:] == (0, 1)


def test_a_kernel_whose_callee_moves_is_compiled_anew(install):
    site = install / "site"
    run(install, site)
    helper = site / "ruledex" / HELPER_FILE
    helper.rename(helper.with_name("moved.py"))
    sample = site / "ruledex" / "compiled" / "sample.py"
    sample.write_text(sample.read_text().replace("below.helper", "below.moved"))
    assert run(install, site)[1:] == (0, 0)
    assert run(install, site)[1:] == (0, 1)


def test_a_kernel_that_takes_a_class_which_is_renamed_is_compiled_anew(install):
    site = install / "site"
    sample = site / "ruledex" / "compiled" / "sample.py"
    sample.write_text(KERNEL_OF_A_CLASS)
    code = CALL.replace("import total", "import Pair, total").replace("np.arange(5)", "Pair(np.arange(5))")
    assert run(install, site, code=code)[1:] == (0, 0)
    assert run(install, site, code=code)[1:] == (0, 1)
    sample.write_text(KERNEL_OF_A_CLASS.replace("Pair", "Couple"))
    assert run(install, site, code=code.replace("Pair", "Couple"))[1:] == (0, 0)


def test_comments_docstrings_and_line_numbers_change_nothing(install):
    site = install / "site"
    run(install, site)
    helper = site / "ruledex" / HELPER_FILE
    helper.write_text(helper.read_text().replace("\n@jit", "\n# a reason\n\n@jit").replace("Twice", "Two times"))
    assert run(install, site)[1:] == (0, 1)


def test_code_that_cannot_be_kept_after_all_is_used_all_the_same(install):
    site, named = install / "site", install / "named"
    break_it = "from pathlib import Path; from ruledex.compiled.cache import cache_report; import shutil\n"
    break_it += f"cache_report(); shutil.rmtree({str(named)!r}); Path({str(named)!r}).write_text('')\n"
    assert run(install, site, code=break_it + CALL, NUMBA_CACHE_DIR=str(named))[1] == 2


def test_many_processes_at_once_compile_each_kernel_once(install):
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(install / "site"), "RULEDEX_COMPILE": "now"}
    command = [sys.executable, "-B", "-c", CALL]
    started = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [process.communicate()[0].strip().split("|") for process in started]
    assert [process.returncode for process in started] == [0] * 4
    assert sorted(int(n_hits) for _, _, n_hits in outputs) == [0, 1, 1, 1]


def test_with_compilation_disabled_a_kernel_is_the_function_itself(install):
    code = "from ruledex.compiled.sample import total; print(type(total).__name__, 0, total([1, 2]), sep='|')"
    assert run(install, install / "site", code=code, NUMBA_DISABLE_JIT="1") == ("function", 0, 6)


def test_a_temporary_folder_of_somebody_else_is_refused(tmp_path, monkeypatch, caplog):
    folder = tmp_path / "kernels"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setattr(cache, "_candidates", lambda: [("the temporary folder", lambda: folder)])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(cache, "_report", None)
    with caplog.at_level(logging.WARNING, "ruledex"):
        assert cache.cache_report().folder is None
    assert "may be written by others" in caplog.text


def test_a_lock_that_is_never_given_back_is_waited_for_only_so_long(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "LOCK_SECONDS", 0.0)
    monkeypatch.setattr(cache, "_report", cache.CacheReport(tmp_path, "the test's own"))
    with cache.locked("some") as had, cache.locked("some") as again:
        assert had
        assert not again
        assert cache.cache_report().n_unlocked == 1
    with cache.locked("some") as had:
        assert had
