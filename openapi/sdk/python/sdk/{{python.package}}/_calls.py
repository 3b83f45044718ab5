"""How calls are sent: the loop of attempts, once for threads and once for tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from threading import BoundedSemaphore
from typing import Any, ParamSpec, TypeVar, cast

import anyio
import httpx
import msgspec
from msgspec import UNSET
from tenacity import AsyncRetrying, Retrying

from ._clock import AsyncClock, Clock
from ._errors import GatewayError, UsageError
from ._exchange import Exchange, Operation

# {{#events}}
from ._feed import AsyncFeed, Feed, FeedOutput, Means

# {{/events}}
from ._loops import Loops, Pool
from ._pages import AsyncPage, Page, async_pages, async_records, following, pages, records
from ._response import Response
from ._retry import policy
from ._settings import Connection, Options
from ._stream import FAILURE, AsyncStream, Stream

P = ParamSpec("P")
T = TypeVar("T")
PageT = TypeVar("PageT", bound=Page[Any])
AsyncPageT = TypeVar("AsyncPageT", bound=AsyncPage[Any])
Parameters = msgspec.Struct | Mapping[str, Any] | None

# What httpx raises once a request is on its way; its other errors are faults of a program.
_ON_THE_WAY = (httpx.TransportError, httpx.DecodingError)
# What it raises where it doesn't take the request: it is closed, or the address is none.
_NOT_TAKEN = (RuntimeError, ValueError, OverflowError, httpx.InvalidURL)


_LONGEST_SILENCE = 86_400


# {{#events}}
def _behind(parameters: msgspec.Struct, cursor: str | None, **more: Any) -> msgspec.Struct:
    """The parameters of what follows in a feed, which begins at the latest unless they say otherwise."""
    if cursor is not None:
        return msgspec.structs.replace(parameters, after=cursor, start=UNSET, **more)
    is_told = any(getattr(parameters, name) is not UNSET for name in ("after", "start"))
    return msgspec.structs.replace(parameters, **({} if is_told else {"start": "latest"}), **more)


def _check_silence(seconds: float) -> None:
    if not isinstance(seconds, (int, float)) or not 0 < seconds <= _LONGEST_SILENCE:
        raise UsageError(f"silence_seconds must be more than 0 seconds and at most a day, and is {seconds}.")


# {{/events}}
class Calls:
    """Sends the calls of ``ContentGateway``."""

    def __init__(
        self,
        connection: Connection,
        http: httpx.Client,
        clock: Clock,
        turns: BoundedSemaphore,
        all_of_reply: bool = False,
    ) -> None:
        """Sends calls by an HTTP client, in turns; with ``all_of_reply`` they return a ``Response``."""
        self._connection = connection
        self._http = http
        self._clock = clock
        self._turns = turns
        self._all_of_reply = all_of_reply

    def responding(self) -> Calls:
        """The same, but calls return a ``Response``."""
        return Calls(self._connection, self._http, self._clock, self._turns, all_of_reply=True)

    def call(self, operation: Operation[T], parameters: Parameters, options: Options) -> T:
        """Calls an operation, as often as the policy allows.

        Raises:
            GatewayError: The call failed.
        """
        response = self._response(operation, parameters, options)
        return cast(T, response) if self._all_of_reply else response.data

    def all(
        self, operation: Operation[Page[T]], parameters: msgspec.Struct, options: Options, most: int | None
    ) -> Iterator[T]:
        """The records of a list, page by page, up to so many."""
        return records(lambda: self._response(operation, parameters, options).data, most)

    def pages(self, operation: Operation[PageT], parameters: msgspec.Struct, options: Options) -> Iterator[PageT]:
        """The pages of a list."""
        return pages(lambda: self._response(operation, parameters, options).data)

    # {{#events}}
    def follow(
        self,
        operation: Operation[FeedOutput[T]],
        stream: Operation[T],
        parameters: msgspec.Struct,
        options: Options,
        silence: float,
        poll_seconds: float,
    ) -> Feed[T]:
        """What a feed holds and what is added to it, by its stream, or page by page while there is none.

        Raises:
            UsageError: One of the times is no time to wait.
        """

        def fetch(cursor: str | None) -> FeedOutput[T]:
            return self._response(operation, _behind(parameters, cursor), options).data

        opening = options.opening(self._connection.defaults)
        opener = self._opener(stream, parameters, opening, silence)
        return Feed(Means(stream.output, opener, self._clock.sleep, fetch, poll_seconds))

    def tail(self, stream: Operation[T], parameters: msgspec.Struct, options: Options, silence: float) -> Feed[T]:
        """What comes by a stream.

        Raises:
            UsageError: ``silence`` is no time to wait.
        """
        return Feed(Means(stream.output, self._opener(stream, parameters, options, silence), self._clock.sleep))

    def _opener(
        self, operation: Operation[T], parameters: msgspec.Struct, options: Options, silence: float
    ) -> Callable[[str | None], Stream]:
        _check_silence(silence)

        def open_behind(cursor: str | None) -> Stream:
            complete = options.over(self._connection.defaults)
            sent = _behind(parameters, cursor, limit=UNSET)
            exchange = Exchange(self._connection, operation, sent, complete, is_stream=True)
            attempts = Retrying(sleep=self._clock.sleep, **policy(complete.max_retries, exchange.report))
            try:
                response: Response[Stream] = attempts(self._open, exchange, silence)
            except GatewayError as error:
                exchange.report(error, None)
                raise
            exchange.report(response, None)
            return response.data

        return open_behind

    def _open(self, exchange: Exchange[T], silence: float) -> Response[Stream]:
        headers, deadline = exchange.begin()
        try:
            request = self._http.build_request("GET", exchange.url, headers=headers, extensions={"timeout": deadline})
            reply = self._http.send(request, stream=True, follow_redirects=False)
            try:
                if not exchange.is_stream(reply):
                    body = reply.read()
                    raise exchange.no_stream(reply.status_code, reply.headers, body, self._clock.now())
                # What is waited for a chunk is settled when the first is asked for.
                deadline.allow(silence)
                stream = exchange.stream_of(Stream, reply, silence)
                first = stream.begin()
                if first.event == FAILURE:
                    raise exchange.refused_by(first, reply.headers)
            except BaseException:
                reply.close()
                raise
        except _ON_THE_WAY as error:
            raise exchange.unanswered(error) from error
        except _NOT_TAKEN as error:
            raise exchange.unusable(error) from error
        return exchange.opened(stream)

    # {{/events}}
    def _response(self, operation: Operation[T], parameters: Parameters, options: Options) -> Response[T]:
        complete = options.over(self._connection.defaults)
        exchange = Exchange(self._connection, operation, parameters, complete)
        attempts = Retrying(sleep=self._clock.sleep, **policy(complete.max_retries, exchange.report))
        try:
            response = attempts(self._attempt, exchange)
        except GatewayError as error:
            exchange.report(error, None)
            raise
        exchange.report(response, None)
        if isinstance(response.data, Page) and isinstance(parameters, msgspec.Struct):
            response.data._follow = lambda cursor: self._response(operation, following(parameters, cursor), options).data
        return response

    def _attempt(self, exchange: Exchange[T]) -> Response[T]:
        # Waiting for its turn is no part of an attempt.
        with self._turns:
            return self._send(exchange)

    def _send(self, exchange: Exchange[T]) -> Response[T]:
        headers, deadline = exchange.begin()
        body = bytearray()
        try:
            request = self._http.build_request(
                "POST", exchange.url, content=exchange.content, headers=headers, extensions={"timeout": deadline}
            )
            reply = self._http.send(request, stream=True, follow_redirects=False)
            try:
                for chunk in reply.iter_bytes():
                    body += chunk
                    exchange.check(reply, body)
                    deadline.check()
            finally:
                reply.close()
        except _ON_THE_WAY as error:
            raise exchange.unanswered(error) from error
        except _NOT_TAKEN as error:
            raise exchange.unusable(error) from error
        return exchange.read(reply.status_code, reply.headers, bytes(body), self._clock.now())


class AsyncCalls:
    """Sends the calls of ``AsyncContentGateway``."""

    def __init__(
        self,
        connection: Connection,
        clock: AsyncClock,
        loops: Loops,
        all_of_reply: bool = False,
    ) -> None:
        """Sends calls by what the running loop has, in turns; with ``all_of_reply`` they return a ``Response``."""
        self._connection = connection
        self._clock = clock
        self._loops = loops
        self._all_of_reply = all_of_reply

    def responding(self) -> AsyncCalls:
        """The same, but calls return a ``Response``."""
        return AsyncCalls(self._connection, self._clock, self._loops, all_of_reply=True)

    async def call(self, operation: Operation[T], parameters: Parameters, options: Options) -> T:
        """Calls an operation, as often as the policy allows.

        Raises:
            GatewayError: The call failed.
        """
        response = await self._response(operation, parameters, options)
        return cast(T, response) if self._all_of_reply else response.data

    def all(
        self, operation: Operation[AsyncPage[T]], parameters: msgspec.Struct, options: Options, most: int | None
    ) -> AsyncIterator[T]:
        """The records of a list, page by page, up to so many."""

        async def first() -> AsyncPage[T]:
            return (await self._response(operation, parameters, options)).data

        return async_records(first, most)

    def pages(
        self, operation: Operation[AsyncPageT], parameters: msgspec.Struct, options: Options
    ) -> AsyncIterator[AsyncPageT]:
        """The pages of a list."""

        async def first() -> AsyncPageT:
            return (await self._response(operation, parameters, options)).data

        return async_pages(first)

    # {{#events}}
    def follow(
        self,
        operation: Operation[FeedOutput[T]],
        stream: Operation[T],
        parameters: msgspec.Struct,
        options: Options,
        silence: float,
        poll_seconds: float,
    ) -> AsyncFeed[T]:
        """What a feed holds and what is added to it, by its stream, or page by page while there is none.

        Raises:
            UsageError: One of the times is no time to wait.
        """

        async def fetch(cursor: str | None) -> FeedOutput[T]:
            return (await self._response(operation, _behind(parameters, cursor), options)).data

        opening = options.opening(self._connection.defaults)
        opener = self._opener(stream, parameters, opening, silence)
        return AsyncFeed(Means(stream.output, opener, self._clock.sleep, fetch, poll_seconds))

    def tail(self, stream: Operation[T], parameters: msgspec.Struct, options: Options, silence: float) -> AsyncFeed[T]:
        """What comes by a stream.

        Raises:
            UsageError: ``silence`` is no time to wait.
        """
        return AsyncFeed(Means(stream.output, self._opener(stream, parameters, options, silence), self._clock.sleep))

    def _opener(
        self, operation: Operation[T], parameters: msgspec.Struct, options: Options, silence: float
    ) -> Callable[[str | None], Awaitable[AsyncStream]]:
        _check_silence(silence)

        async def open_behind(cursor: str | None) -> AsyncStream:
            complete = options.over(self._connection.defaults)
            sent = _behind(parameters, cursor, limit=UNSET)
            exchange = Exchange(self._connection, operation, sent, complete, is_stream=True)
            attempts = AsyncRetrying(sleep=self._clock.sleep, **policy(complete.max_retries, exchange.report))
            try:
                response: Response[AsyncStream] = await attempts(self._open, exchange, silence)
            except GatewayError as error:
                exchange.report(error, None)
                raise
            exchange.report(response, None)
            return response.data

        return open_behind

    async def _open(self, exchange: Exchange[T], silence: float) -> Response[AsyncStream]:
        http = self._pool(exchange).http
        headers, deadline = exchange.begin()
        try:
            request = http.build_request("GET", exchange.url, headers=headers, extensions={"timeout": deadline})
            with anyio.fail_after(exchange.timeout):
                reply = await http.send(request, stream=True, follow_redirects=False)
                try:
                    if not exchange.is_stream(reply):
                        body = await reply.aread()
                        raise exchange.no_stream(reply.status_code, reply.headers, body, self._clock.now())
                    # The stream itself sees to silences.
                    deadline.allow(silence + exchange.timeout)
                    stream = exchange.stream_of(AsyncStream, reply, silence)
                    first = await stream.begin()
                    if first.event == FAILURE:
                        raise exchange.refused_by(first, reply.headers)
                except BaseException:
                    with anyio.CancelScope(shield=True):
                        await reply.aclose()
                    raise
        except (*_ON_THE_WAY, TimeoutError) as error:
            raise exchange.unanswered(error) from error
        except _NOT_TAKEN as error:
            raise exchange.unusable(error) from error
        return exchange.opened(stream)

    # {{/events}}
    async def _response(
        self, operation: Operation[T], parameters: Parameters, options: Options
    ) -> Response[T]:
        complete = options.over(self._connection.defaults)
        exchange = Exchange(self._connection, operation, parameters, complete)
        attempts = AsyncRetrying(sleep=self._clock.sleep, **policy(complete.max_retries, exchange.report))
        try:
            response: Response[T] = await attempts(self._attempt, exchange)
        except GatewayError as error:
            exchange.report(error, None)
            raise
        exchange.report(response, None)
        if isinstance(response.data, AsyncPage) and isinstance(parameters, msgspec.Struct):

            async def follow(cursor: str) -> T:
                return (await self._response(operation, following(parameters, cursor), options)).data

            response.data._follow = follow
        return response

    async def _attempt(self, exchange: Exchange[T]) -> Response[T]:
        pool = self._pool(exchange)
        # Waiting for its turn is no part of an attempt.
        async with pool.turns:
            return await self._send(pool.http, exchange)

    def _pool(self, exchange: Exchange[T]) -> Pool:
        try:
            return self._loops.pool()
        except RuntimeError as error:
            raise exchange.unusable(error) from error

    async def _send(self, http: httpx.AsyncClient, exchange: Exchange[T]) -> Response[T]:
        headers, deadline = exchange.begin()
        body = bytearray()
        try:
            request = http.build_request(
                "POST", exchange.url, content=exchange.content, headers=headers, extensions={"timeout": deadline}
            )
            with anyio.fail_after(exchange.timeout):
                reply = await http.send(request, stream=True, follow_redirects=False)
                try:
                    async for chunk in reply.aiter_bytes():
                        body += chunk
                        exchange.check(reply, body)
                finally:
                    await reply.aclose()
        except (*_ON_THE_WAY, TimeoutError) as error:
            raise exchange.unanswered(error) from error
        except _NOT_TAKEN as error:
            raise exchange.unusable(error) from error
        return exchange.read(reply.status_code, reply.headers, bytes(body), self._clock.now())


def responding(method: Callable[P, T]) -> Callable[P, Response[T]]:
    """The type of a method of calls that return a ``Response``."""
    return cast("Callable[P, Response[T]]", method)


def async_responding(method: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[Response[T]]]:
    """The type of a method of calls that return a ``Response``."""
    return cast("Callable[P, Awaitable[Response[T]]]", method)
