"""The page at `/`, for people who own rules. Its files are in `static/`.

A worker reads them once, and each has a path of its own: no request names a file.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Final

from ruledex.service.endpoints import Endpoint, Handler
from ruledex.service.request import Headers, Request

_TYPES: Final = {
    "html": b"text/html; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
_START: Final = "index.html"
# Everything comes from this service and nothing is inline. Scripts cannot turn text into markup (trusted types).
_POLICY: Final = (
    b"default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; "
    b"require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS: Final = [
    (b"content-security-policy", _POLICY),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Kept, but asked for again each time: a new release of the service has new files under the same names.
    (b"cache-control", b"no-cache"),
]


def page_endpoints() -> list[Endpoint]:
    """Return one endpoint per file of the page. None needs a token: the files are the same for everybody."""
    found = []
    for file in sorted(files("ruledex.service.page").joinpath("static").iterdir(), key=lambda one: one.name):
        path = "/" if file.name == _START else f"/page/{file.name}"
        handler = _handler_of(file.read_bytes(), _TYPES[file.name.rpartition(".")[2]])
        found.append(Endpoint(method="GET", path=path, name="page", about="A file of the page.", handler=handler))
    return found


def _handler_of(data: bytes, content_type: bytes) -> Handler:
    etag = b'"%s"' % hashlib.blake2b(data, digest_size=12).hexdigest().encode()
    headers: Headers = [(b"content-type", content_type), (b"etag", etag), *_HEADERS]

    async def answer(request: Request) -> None:
        if request.headers.get(b"if-none-match") == etag:
            await request.answer_bytes(304, b"", headers[1:])
        else:
            await request.answer_bytes(200, data, headers)

    return answer
