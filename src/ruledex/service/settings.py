"""What an operator can set, as one value that the supervisor hands to its processes."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal

import msgspec

from ruledex.errors import RuledexError, quoted

_HOURS: Final = re.compile(r"([01]?\d|2[0-3])-([01]?\d|2[0-3])")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a service. Limits per worker say so; sizes are in bytes, times in seconds."""

    root: str
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 2
    runtime: str = ""  # a private folder for sockets, uploads and metrics; the supervisor makes it
    trust: bool | None = None  # as in Index.open

    # Who may.
    tokens: str | None = None  # the file of tokens
    open_to_all: bool = False  # no tokens on an address that is not loopback
    cors: tuple[str, ...] = ()  # origins whose pages may ask
    sources: str | None = None  # the folder whose files may be named in a build

    # Limits.
    body_bytes: int = 8 * 1024 * 1024  # of a body that is read as a whole
    upload_bytes: int = 4 * 1024 * 1024 * 1024  # of the rules of a build
    line_bytes: int = 1024 * 1024  # of one line of NDJSON
    batch_events: int = 100_000  # events of one record batch of Arrow
    event_depth: int = 64  # objects and lists inside each other
    rule_characters: int = 64 * 1024
    listed_rules: int = 1_000  # rules of one page of a list

    # What may wait, per worker.
    requests: int = 512  # requests under way
    threads: int = 4  # batches and other long work at once
    waiting: int = 64  # long work that waits for a thread
    wait_seconds: float = 2.0  # the longest such wait
    idle_seconds: float = 30.0  # without a byte from the client, or to it
    header_seconds: float = 10.0  # until a request's headers are complete
    graceful_seconds: float = 30.0  # for requests under way when the service stops

    # Versions.
    refresh_seconds: float = 0.5  # between looks at what other processes published
    compact_changes: int = 20_000  # compact when a journal has as many changes; 0 for never
    quiet_hours: str | None = None  # compact whatever there is in these hours of the local day, such as 2-5
    keep_versions: int | None = None  # after a compaction, remove all but so many of the service's own versions

    # Recent events.
    recent_events: int = 1_000  # that the writer keeps per index; 0 for none
    recent_event_bytes: int = 16 * 1024  # longer events are not kept
    recent_bytes: int = 64 * 1024 * 1024  # of all that are kept
    events: tuple[str, ...] = ()  # files of events to begin with: FILE for all indexes, or INDEX=FILE
    mask: tuple[str, ...] = ()  # fields, as dotted paths, that are null in events that are kept or logged

    # The decision log.
    decisions: str | None = None  # its folder; None for no log
    decisions_format: Literal["jsonl", "parquet"] = "jsonl"
    decisions_sample: float = 1.0  # the part of all events that is logged, chosen by the hash of their ids
    decisions_event_id: str | None = None  # the field, as a dotted path, that has an event's id
    decisions_events: bool = False  # whether events are logged, too
    decisions_event_bytes: int = 64 * 1024  # longer ones are left out of their decisions
    decisions_rules: int = 100  # ids per decision
    decisions_file_bytes: int = 64 * 1024 * 1024  # of JSON lines, after which a file is complete
    decisions_file_seconds: float = 300.0  # after which a file is complete
    decisions_keep: int = 0  # complete files per index; 0 for all
    decisions_queue: int = 20_000  # decisions per worker that wait to be written
    decisions_queue_bytes: int = 32 * 1024 * 1024  # of their events

    telemetry: bool = False  # spans for OpenTelemetry, as the OTEL_* variables say
    log_requests: bool = False  # all of them, not only failures

    @property
    def is_loopback(self) -> bool:
        """Whether only this host can reach the address."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def needs_tokens(self) -> bool:
        """Whether requests without a token are refused."""
        return self.tokens is not None or not (self.is_loopback or self.open_to_all)

    def check(self) -> Settings:
        """Return the settings. Raises an error if they contradict each other."""
        if self.needs_tokens and self.tokens is None:
            raise RuledexError(
                f"{self.host} can be reached from other hosts: name a file of tokens with --tokens FILE, or give "
                "--open-to-all if anybody may ask and change rules"
            )
        if self.quiet_hours is not None and not _HOURS.fullmatch(self.quiet_hours):
            raise RuledexError(f"quiet hours are written as 2-5, not {quoted(self.quiet_hours)}")
        if not 0.0 <= self.decisions_sample <= 1.0:
            raise RuledexError(f"decisions are sampled at a rate from 0 to 1, not {self.decisions_sample:g}")
        field = "" if self.decisions_event_id is None else self.decisions_event_id.casefold()
        for masked in self.mask:
            hidden = masked.casefold()
            if field == hidden or field.startswith(hidden + ".") or hidden.startswith(field + "."):
                raise RuledexError(
                    f"{quoted(masked)} is masked, so it cannot be the event id of decisions, nor a part of it"
                )
        for path in self.seeds().values():
            if not Path(path).is_file():
                raise RuledexError(f"there is no file of events {quoted(path)}")
        return self

    def seeds(self) -> dict[str, str]:
        """Return the files of events to begin with by index; the one for all other indexes by the empty name."""
        found = {}
        for given in self.events:
            name, equals, path = given.partition("=")
            is_named = bool(equals and name) and "/" not in name and not Path(given).exists()
            found[name if is_named else ""] = path if is_named else given
        return found

    def is_quiet(self, hour: int) -> bool:
        """Return whether an hour of the day is one of the quiet hours, which may pass midnight."""
        if self.quiet_hours is None or (found := _HOURS.fullmatch(self.quiet_hours)) is None:
            return False
        first, last = int(found[1]), int(found[2])
        return first <= hour < last if first <= last else hour >= first or hour < last
