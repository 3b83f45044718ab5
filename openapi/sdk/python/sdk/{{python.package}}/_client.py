from __future__ import annotations

from threading import BoundedSemaphore
from types import TracebackType
from typing import TypeVar

import httpx

from ._calls import AsyncCalls, AsyncTurns, Calls
from ._clock import AsyncClock, Clock
from ._settings import Headers, connection_from
from .procedures import AsyncProcedures, Procedures

S = TypeVar("S", bound="ContentGateway")
A = TypeVar("A", bound="AsyncContentGateway")

_TIMEOUT = 30.0
_CONNECT_TIMEOUT = 5.0
_MAX_RETRIES = 2
_MAX_CONNECTIONS = 100


def _limits(max_connections: int) -> httpx.Limits:
    if max_connections < 1:
        raise ValueError(f"max_connections must be at least 1, and is {max_connections}.")
    return httpx.Limits(max_connections=max_connections, max_keepalive_connections=max_connections)


class ContentGateway(Procedures):
    """The content gateway: ``gateway.game.list(…)``. Each method takes the parameters of a procedure and returns its output.

    Can be used by several threads at once. Close it, or use it in a ``with`` statement, to close its connections.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = _TIMEOUT,
        connect_timeout: float = _CONNECT_TIMEOUT,
        max_retries: int = _MAX_RETRIES,
        max_connections: int = _MAX_CONNECTIONS,
        headers: Headers | None = None,
        http_client: httpx.Client | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Makes a client; connections are made at the first call.

        Args:
            base_url: Where the service is, such as ``https://gateway.example.com``. Default: the environment variable
                ``{{environment}}_URL``.
            api_key: An API key; without one only public procedures can be called. Default: the environment variable
                ``{{environment}}_API_KEY``; ``""`` is none.
            timeout: The seconds that an attempt may take, from connecting to the end of the reply.
            connect_timeout: The seconds that connecting may take.
            max_retries: How many attempts may follow the first.
            max_connections: How many calls may be under way at once. Others wait for their turn; the timeout of an attempt
                begins when it has come.
            headers: Sent with each call.
            http_client: Sends the requests, through proxies, say; it isn't closed with this client. Its own timeouts
                aren't used.
            clock: What to wait by; for tests.

        Raises:
            ValueError: One of these can't be used; it says which.
        """
        connection = connection_from(base_url, api_key, timeout, connect_timeout, max_retries, headers)
        self._origin = connection.origin
        self._owns = http_client is None
        limits = _limits(max_connections)
        self._http = httpx.Client(limits=limits) if http_client is None else http_client
        super().__init__(Calls(connection, self._http, clock or Clock(), BoundedSemaphore(max_connections)))

    def close(self) -> None:
        """Closes the connections, unless they are those of an ``http_client`` that was given."""
        if self._owns:
            self._http.close()

    def __repr__(self) -> str:
        """Where it calls. The key doesn't show."""
        return f"<{type(self).__name__} {self._origin}>"

    def __enter__(self: S) -> S:
        """Is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes the connections."""
        self.close()


class AsyncContentGateway(AsyncProcedures):
    """The content gateway for ``async`` programs: ``await gateway.game.list(…)``. With asyncio, and with trio.

    Can be used by several tasks at once. Close it, or use it in an ``async with`` statement, to close its connections.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = _TIMEOUT,
        connect_timeout: float = _CONNECT_TIMEOUT,
        max_retries: int = _MAX_RETRIES,
        max_connections: int = _MAX_CONNECTIONS,
        headers: Headers | None = None,
        http_client: httpx.AsyncClient | None = None,
        clock: AsyncClock | None = None,
    ) -> None:
        """Makes a client; connections are made at the first call.

        Args:
            base_url: Where the service is, such as ``https://gateway.example.com``. Default: the environment variable
                ``{{environment}}_URL``.
            api_key: An API key; without one only public procedures can be called. Default: the environment variable
                ``{{environment}}_API_KEY``; ``""`` is none.
            timeout: The seconds that an attempt may take, from connecting to the end of the reply.
            connect_timeout: The seconds that connecting may take.
            max_retries: How many attempts may follow the first.
            max_connections: How many calls may be under way at once. Others wait for their turn; the timeout of an attempt
                begins when it has come.
            headers: Sent with each call.
            http_client: Sends the requests, through proxies, say; it isn't closed with this client. Its own timeouts
                aren't used.
            clock: What to wait by; for tests.

        Raises:
            ValueError: One of these can't be used; it says which.
        """
        connection = connection_from(base_url, api_key, timeout, connect_timeout, max_retries, headers)
        self._origin = connection.origin
        self._owns = http_client is None
        limits = _limits(max_connections)
        self._http = httpx.AsyncClient(limits=limits) if http_client is None else http_client
        super().__init__(AsyncCalls(connection, self._http, clock or AsyncClock(), AsyncTurns(max_connections)))

    async def close(self) -> None:
        """Closes the connections, unless they are those of an ``http_client`` that was given."""
        if self._owns:
            await self._http.aclose()

    def __repr__(self) -> str:
        """Where it calls. The key doesn't show."""
        return f"<{type(self).__name__} {self._origin}>"

    async def __aenter__(self: A) -> A:
        """Is closed at the end of the block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes the connections."""
        await self.close()
