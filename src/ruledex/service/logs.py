"""Structured logs: one JSON object per line on standard error."""

from __future__ import annotations

import logging
import os
import sys
import traceback
import warnings
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import orjson

_process = {"process": "service", "pid": os.getpid()}


def name_process(name: str) -> None:
    """Set the name under which this process logs, and log what libraries say in the same form."""
    _process.update(process=name, pid=os.getpid())
    logging.basicConfig(level=logging.WARNING, handlers=[_Libraries()], force=True)
    warnings.showwarning = _log_warning


def _log_warning(message: Warning | str, category: type[Warning], *_place: Any, **_places: Any) -> None:
    """Write a warning of Python as a line of the log."""
    log("warning", "warning", kind=category.__name__, message=str(message))


class _Libraries(logging.Handler):
    """Takes what libraries log."""

    def emit(self, record: logging.LogRecord) -> None:
        trace = {"traceback": "".join(traceback.format_exception(record.exc_info[1]))} if record.exc_info else {}
        log(record.levelname.lower(), "library", source=record.name, message=record.getMessage(), **trace)


def log(level: str, event: str, **fields: Any) -> None:
    """Write a line. A value without a JSON type becomes its text."""
    line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, **_process, "event": event}
    with suppress(OSError, ValueError):  # a closed stream must not stop the service
        sys.stderr.buffer.write(orjson.dumps(line | fields, default=str, option=orjson.OPT_NON_STR_KEYS) + b"\n")
        sys.stderr.buffer.flush()


def log_failure(event: str, error: BaseException, **fields: Any) -> None:
    """Write an error that nobody expected, with its traceback."""
    trace = "".join(traceback.format_exception(error))
    log("error", event, error=f"{type(error).__name__}: {error}", traceback=trace, **fields)
