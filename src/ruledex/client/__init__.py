"""A client of the service, with the method names of `Index`. Needs `pip install 'ruledex[client]'`."""

from __future__ import annotations

from ruledex.client.requests import ServiceError
from ruledex.client.service import AsyncRemoteIndex, AsyncService, RemoteIndex, Service

__all__ = ["AsyncRemoteIndex", "AsyncService", "RemoteIndex", "Service", "ServiceError"]
