"""Hide fields of events before they leave a worker. All other values stay exactly as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec
import orjson
import pyarrow as pa

_NULL: Final = msgspec.Raw(b"null")
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[msgspec.Raw])


def mask_event(text: bytes, fields: Sequence[str]) -> bytes:
    """Return an event in JSON with null in the place of some fields.

    A field is a dotted path. It leads through objects and through all elements of lists, and a name may contain points
    itself. Upper and lower case are alike, so that no spelling of a name passes.

    >>> mask_event(b'{"user": {"email": "a@b.c", "age": 20.50}}', ["user.email"])
    b'{"user":{"email":null,"age":20.50}}'
    """
    return _masked(text, [field.casefold() for field in fields]) if fields else text


def _masked(text: bytes | msgspec.Raw, paths: list[str]) -> bytes:
    kind = bytes(text).lstrip()[:1]
    if kind == b"[":
        return msgspec.json.encode([msgspec.Raw(_masked(element, paths)) for element in _list.decode(text)])
    if kind != b"{":
        return bytes(text)
    values = _object.decode(text)
    for name, value in values.items():
        folded = name.casefold()
        if folded in paths:
            values[name] = _NULL
        elif below := [path[len(folded) + 1 :] for path in paths if path.startswith(folded + ".")]:
            values[name] = msgspec.Raw(_masked(value, below))
    return msgspec.json.encode(values)


def event_text(event: Any) -> bytes:
    """Return an event of another format, or a value of it, as JSON: times as ISO text, decimals as numbers."""
    return orjson.dumps(event, default=_plain, option=orjson.OPT_NON_STR_KEYS)


def row_texts(batch: pa.RecordBatch) -> list[bytes | None]:
    """Return the rows of a record batch as events in JSON; None for those that Python or JSON cannot hold."""
    try:
        return [event_text(row) for row in batch.to_pylist(maps_as_pydicts="lossy")]
    except Exception:  # a time past the year 9999, an unknown zone, keys that are lists: whatever a client may send
        return (
            [None] * batch.num_rows
            if batch.num_rows == 1
            else [row_texts(batch.slice(i, 1))[0] for i in range(batch.num_rows)]
        )


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(f"{value:f}") if value.is_finite() else None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)
