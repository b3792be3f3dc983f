#!/bin/sh
# Run the tests on each Python that is installed, each in a virtual environment of its own under build/.
#
#   tools/matrix.sh [3.11 3.12 3.13]     the tests of `make uncompiled`
#   FULL=1 tools/matrix.sh               all tests, compiled, with Spark
#
# A Python is found on PATH as python<version>, or among pyenv's versions.
set -u
cd "$(dirname "$0")/.." || exit 2
[ $# -gt 0 ] || set -- 3.11 3.12 3.13

find_python() {
  for found in "$(command -v "python$1")" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python3; do
    # pyenv has a python3.12 on PATH that only says that it is not there.
    if [ -x "$found" ] && "$found" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
      echo "$found"
      return
    fi
  done
}

status=0
summary=""
for version in "$@"; do
  python=$(find_python "$version")
  if [ -z "$python" ]; then
    summary="$summary
  $version  not installed"
    continue
  fi
  venv="build/venv-$version"
  echo "Python $version ($python)"
  if [ ! -f "$venv/ready" ] || [ pyproject.toml -nt "$venv/ready" ] || [ constraints.txt -nt "$venv/ready" ]; then
    "$python" -m venv "$venv" &&
      "$venv/bin/pip" install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' &&
      touch "$venv/ready" || { status=1; summary="$summary
  $version  could not be set up"; continue; }
  fi
  if [ -n "${FULL:-}" ]; then
    make --no-print-directory unit BIN="$venv/bin" READY="$venv/ready"
  else
    make --no-print-directory uncompiled BIN="$venv/bin" READY="$venv/ready"
  fi && result=passed || { result=failed; status=1; }
  summary="$summary
  $version  $result"
done
echo "Python versions:$summary"
exit $status
