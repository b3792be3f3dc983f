"""Turn errors of Spark, which come with stack traces of two languages, into errors of one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ruledex.errors import RuledexError

_OURS: Final = re.compile(r"^ruledex\.errors\.\w+: (.+)$", re.MULTILINE)
_PYTHON: Final = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception)(?:: .+)?)$", re.MULTILINE)
_BEFORE_JAVA: Final = re.compile(
    r"^(?:An error occurred while calling \S+\s+: )?(?:[\w.$]+(?:Exception|Error): )?"
    r"(?:Job aborted due to stage failure: .*?Lost task .*?\): )?"
)


@contextmanager
def convert_failures() -> Iterator[None]:
    """Replace errors of Spark, inside a `with`, by a `RuledexError`."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise RuledexError(describe_failure(error)) from error


def describe_failure(error: Exception) -> str:
    """Return the message of an error of Spark: our own message if a worker raised one, or else its first line."""
    text = str(error)
    if ours := _OURS.findall(text):
        return str(ours[-1])  # a stack trace ends with its error
    raised = _PYTHON.findall(text) if "Traceback (most recent call last)" in text else []
    line = raised[-1] if raised else next(iter(_BEFORE_JAVA.sub("", text).strip().splitlines()), type(error).__name__)
    # A message that begins with an error class in brackets is complete.
    return line if line.startswith("[") else f"{line} (--conf spark.log.level=ERROR shows more)"
