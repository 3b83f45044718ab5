from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from threading import BoundedSemaphore
from types import TracebackType
from typing import Any, TypeVar

import httpx

from ._attempts import AttemptHook
from ._calls import AsyncCalls, Calls, async_responding, responding
from ._clock import AsyncClock, Clock
from ._derived import Derivable
from ._errors import UsageError
from ._exchange import operation_named
from ._loops import Loops
from ._proxy import proxy_for
from ._settings import Connection, Headers, Options, complete, connection_from
from .procedures import AsyncProcedures, Procedures

S = TypeVar("S", bound="ContentGateway")
A = TypeVar("A", bound="AsyncContentGateway")

_TIMEOUT = 30.0
_CONNECT_TIMEOUT = 5.0
_MAX_RETRIES = 2
_MAX_CONNECTIONS = 100


def _limits(max_connections: int) -> httpx.Limits:
    if not isinstance(max_connections, int) or max_connections < 1:
        raise UsageError(f"max_connections must be at least 1, and is {max_connections}.")
    # Turns limit them, so that streams have connections beside those of calls.
    return httpx.Limits(max_connections=None, max_keepalive_connections=max_connections)


def _connector(limits: httpx.Limits, connection: Connection) -> Callable[[], httpx.AsyncClient]:
    """What makes the HTTP client of a loop. Certificates and proxy are read once."""
    certificates = httpx.create_ssl_context()
    proxy = proxy_for(connection.base_url)

    def connect() -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(verify=certificates, limits=limits, proxy=proxy))

    return connect


class ContentGateway(Derivable, Procedures):
    """A client of {{title}}: ``gateway.game.list(…)``. Each method takes the parameters of a procedure and returns its output.

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
        on_attempt: AttemptHook | None = None,
        app_name: str | None = None,
    ) -> None:
        """Makes a client; connections are made at the first call.

        Args:
            base_url: Where the service is, such as ``{{homepage}}``. Default: the environment variable
                ``{{environment}}_URL``.
            api_key: An API key; without one only public procedures can be called. Default: the environment variable
                ``{{environment}}_API_KEY``; ``""`` is none.
            timeout: The seconds that an attempt may take, from connecting to the end of the reply.
            connect_timeout: The seconds that connecting may take.
            max_retries: How many attempts may follow the first.
            max_connections: How many calls may be under way at once. Others wait for their turn; the timeout of an attempt
                begins when it has come.
            headers: Sent with each call.
            http_client: Sends the requests, with certificates of your own, say; it isn't closed with this client. Its own
                timeouts aren't used, and which proxies it takes is its own business. Default: one that goes through the proxy
                that ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY`` name.
            clock: What to wait by; for tests.
            on_attempt: Called after each attempt that ended by itself. What it raises is ignored.
            app_name: Added to the ``User-Agent``: a name, or one with a version, such as ``my-app/1.2``.

        Raises:
            UsageError: One of these can't be used; it says which.
        """
        defaults = complete(timeout, connect_timeout, max_retries, headers)
        connection = connection_from(base_url, api_key, defaults, on_attempt, app_name)
        limits = _limits(max_connections)
        self._owns = http_client is None
        if http_client is None:
            transport = httpx.HTTPTransport(limits=limits, proxy=proxy_for(connection.base_url))
            http_client = httpx.Client(transport=transport)
        self._http = http_client
        self._clock = clock or Clock()
        self._turns = BoundedSemaphore(max_connections)
        self._bind(connection)

    def _bind(self, connection: Connection) -> None:
        self._connection = connection
        self._calls = Calls(connection, self._http, self._clock, self._turns)
        Procedures.__init__(self, self._calls)

    def call(
        self,
        operation: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        max_retries: int | None = None,
        headers: Headers | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Calls an operation by its name, such as one that is newer than this package.

        Args:
            operation: Its name, such as ``game.getById``.
            parameters: Its input, as it is sent: members have the names of the document.
            timeout: The seconds that an attempt may take. Default: the client's.
            connect_timeout: The seconds that connecting may take. Default: the client's.
            max_retries: How many attempts may follow the first. Default: the client's.
            headers: Sent in addition to the client's; these win.
            idempotency_key: Called again with the same one, nothing is done again, but answered the same. Default: a
                new UUID, unless the operation is known to write nothing.

        Returns:
            The output, as it came.

        Raises:
            GatewayError: The call failed.
            UsageError: An option or the name can't be used.
        """
        options = Options(timeout, connect_timeout, max_retries, headers, idempotency_key)
        return self._calls.call(operation_named(operation), parameters, options)

    @property
    def with_response(self) -> CallWithResponse:
        """``with_response.call(…)`` is ``call(…)``, and returns a ``Response``: the output, with status and headers."""
        client = copy.copy(self)
        client._calls = self._calls.responding()
        return CallWithResponse(client)

    def close(self) -> None:
        """Closes the connections, unless an ``http_client`` was given, or this client was made by ``with_options``."""
        if self._owns:
            self._http.close()

    def __enter__(self: S) -> S:
        """Is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes the connections."""
        self.close()


class AsyncContentGateway(Derivable, AsyncProcedures):
    """A client of {{title}} for ``async`` programs: ``await gateway.game.list(…)``. With asyncio, and with trio.

    Can be used by several tasks at once, and in several event loops: it has connections and turns in each. Close it, or use it in
    an ``async with`` statement, to close its connections.
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
        on_attempt: AttemptHook | None = None,
        app_name: str | None = None,
    ) -> None:
        """Makes a client; connections are made at the first call.

        Args:
            base_url: Where the service is, such as ``{{homepage}}``. Default: the environment variable
                ``{{environment}}_URL``.
            api_key: An API key; without one only public procedures can be called. Default: the environment variable
                ``{{environment}}_API_KEY``; ``""`` is none.
            timeout: The seconds that an attempt may take, from connecting to the end of the reply.
            connect_timeout: The seconds that connecting may take.
            max_retries: How many attempts may follow the first.
            max_connections: How many calls may be under way at once. Others wait for their turn; the timeout of an attempt
                begins when it has come.
            headers: Sent with each call.
            http_client: Sends the requests, with certificates of your own, say; it isn't closed with this client. Its own
                timeouts aren't used, and which proxies it takes is its own business. Default: one that goes through the proxy
                that ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY`` name.
            clock: What to wait by; for tests.
            on_attempt: Called after each attempt that ended by itself. What it raises is ignored.
            app_name: Added to the ``User-Agent``: a name, or one with a version, such as ``my-app/1.2``.

        Raises:
            UsageError: One of these can't be used; it says which.
        """
        defaults = complete(timeout, connect_timeout, max_retries, headers)
        connection = connection_from(base_url, api_key, defaults, on_attempt, app_name)
        limits = _limits(max_connections)
        self._owns = http_client is None
        connect = _connector(limits, connection) if http_client is None else lambda own=http_client: own
        self._clock = clock or AsyncClock()
        self._loops = Loops(connect, max_connections)
        self._bind(connection)

    def _bind(self, connection: Connection) -> None:
        self._connection = connection
        self._calls = AsyncCalls(connection, self._clock, self._loops)
        AsyncProcedures.__init__(self, self._calls)

    async def call(
        self,
        operation: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        max_retries: int | None = None,
        headers: Headers | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Calls an operation by its name, such as one that is newer than this package.

        Args:
            operation: Its name, such as ``game.getById``.
            parameters: Its input, as it is sent: members have the names of the document.
            timeout: The seconds that an attempt may take. Default: the client's.
            connect_timeout: The seconds that connecting may take. Default: the client's.
            max_retries: How many attempts may follow the first. Default: the client's.
            headers: Sent in addition to the client's; these win.
            idempotency_key: Called again with the same one, nothing is done again, but answered the same. Default: a
                new UUID, unless the operation is known to write nothing.

        Returns:
            The output, as it came.

        Raises:
            GatewayError: The call failed.
            UsageError: An option or the name can't be used.
        """
        options = Options(timeout, connect_timeout, max_retries, headers, idempotency_key)
        return await self._calls.call(operation_named(operation), parameters, options)

    @property
    def with_response(self) -> AsyncCallWithResponse:
        """``with_response.call(…)`` is ``call(…)``, and returns a ``Response``: the output, with status and headers."""
        client = copy.copy(self)
        client._calls = self._calls.responding()
        return AsyncCallWithResponse(client)

    async def close(self) -> None:
        """Closes the connections, unless an ``http_client`` was given, or this client was made by ``with_options``."""
        if self._owns:
            await self._loops.close()

    async def __aenter__(self: A) -> A:
        """Is closed at the end of the block."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes the connections."""
        await self.close()


class CallWithResponse:
    """The call by name, which returns a ``Response``."""

    def __init__(self, client: ContentGateway) -> None:
        """Made by the client."""
        self.call = responding(client.call)


class AsyncCallWithResponse:
    """The call by name, which returns a ``Response``."""

    def __init__(self, client: AsyncContentGateway) -> None:
        """Made by the client."""
        self.call = async_responding(client.call)
