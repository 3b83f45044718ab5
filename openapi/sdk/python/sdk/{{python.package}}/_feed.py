# {{#events}}
from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NoReturn, Protocol, TypeVar

import httpx

from ._errors import ApiError, ApiTimeoutError, GatewayError, UnexpectedReplyError, UsageError
from ._retry import first_wait, may_be_retried
from ._stream import FAILURE, AsyncStream, NoMessageError, OpenStream, Stream

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
F = TypeVar("F", bound="Feed[Any]")
A = TypeVar("A", bound="AsyncFeed[Any]")

_POLLS_UNTIL_STREAM = 30
"""After how many pages to see whether there is a stream now."""
_LONG_RETRY = 60
"""From so many seconds on, a stream says that it fails for a longer time."""


class FeedOutput(Protocol[T_co]):
    """What the output of a feed has."""

    @property
    def items(self) -> Sequence[T_co]:
        """What happened."""

    @property
    def next_cursor(self) -> str:
        """What follows is asked for by this."""

    @property
    def has_more(self) -> bool:
        """Whether more is there already."""


@dataclass(frozen=True)
class Means:
    """What a feed does to go on; for tasks, each returns an awaitable."""

    kind: Any
    """The class of what happens."""
    open: Callable[[str | None], Any]
    """Opens the stream behind a cursor."""
    sleep: Callable[[float], Any]
    fetch: Callable[[str | None], Any] | None = None
    """Fetches a page, where there may be no stream."""
    poll_seconds: float = 1.0


@dataclass(frozen=True)
class _Given(Generic[T]):
    """Something that happened."""

    value: T


_Steps = Generator["Callable[[], Any] | _Given[T]", Any, None]
"""What is to be done next, of which the result is sent back; or what is given to whoever iterates."""


def _has_no_streams(error: GatewayError) -> bool:
    """Whether the service, or what is between, has none at all."""
    return (
        isinstance(error, UnexpectedReplyError)
        or (isinstance(error, ApiError) and error.status in (404, 405))
        or (isinstance(error, ApiTimeoutError) and not isinstance(error.__cause__, httpx.ConnectTimeout))
        or isinstance(error.__cause__, NoMessageError)
    )


class _Following(Generic[T]):
    """How far a feed was followed, and how it goes on: once for threads and for tasks."""

    cursor: str | None
    """From where to go on after a restart, as ``after``: all before it has been taken. It moves on when more is asked for,
    so after a restart some may come again. ``None`` before it first does."""

    def __init__(self, means: Means) -> None:
        if not (isinstance(means.poll_seconds, (int, float)) and 0 < means.poll_seconds < math.inf):
            raise UsageError(f"poll_seconds must be a number above 0, and is {means.poll_seconds}.")
        self.cursor = None
        self._means = means
        self._steps: _Steps[T] | None = None
        self._stream: OpenStream | None = None
        self._polls_until_stream: float = 0

    def __reduce__(self) -> NoReturn:
        """It has a connection."""
        raise UsageError("A feed can't be copied or pickled: follow again, with its cursor as after.")

    def _advance(self, result: Any = None, error: BaseException | None = None) -> Callable[[], Any] | _Given[T]:
        """What is to be done next, after what came of the last. An error ends the steps; they begin anew, where it was."""
        if self._steps is None:
            self._steps = self._follow()
        try:
            return self._steps.throw(error) if error else self._steps.send(result)
        except BaseException:
            self._steps = None
            raise

    def _follow(self) -> _Steps[T]:
        while True:
            self._stream = yield from self._open()
            if self._stream:
                yield from self._take_messages(self._stream)
            else:
                yield from self._take_page()

    def _open(self) -> Generator[Callable[[], Any], Any, OpenStream | None]:
        if self._polls_until_stream > 0:
            return None
        try:
            stream: OpenStream = yield partial(self._means.open, self.cursor)
            return stream
        except GatewayError as error:
            if self._means.fetch is None:
                raise
            # What is wrong with the call itself, the pages tell.
            self._polls_until_stream = math.inf if _has_no_streams(error) else _POLLS_UNTIL_STREAM
            return None

    def _take_messages(self, stream: Any) -> _Steps[T]:
        while message := (yield stream.next):
            if message.event == FAILURE:
                yield stream.close
                error = stream.failure_in(message)
                if not may_be_retried(error):
                    raise error
            elif message.event in ("", "message"):
                yield _Given(stream.event_in(message, self._means.kind))
            self.cursor = message.id or self.cursor
        if not stream.is_left:
            retry = stream.retry
            wait = first_wait() if retry is None or retry >= _LONG_RETRY else retry
            yield partial(self._means.sleep, wait)

    def _take_page(self) -> _Steps[T]:
        assert self._means.fetch
        page: FeedOutput[T] = yield partial(self._means.fetch, self.cursor)
        self._polls_until_stream -= 1
        for item in page.items:
            yield _Given(item)
        self.cursor = page.next_cursor
        if not page.has_more:
            yield partial(self._means.sleep, self._means.poll_seconds)


class Feed(_Following[T]):
    """What happens, one by one, without an end: ``for`` waits for what comes next.

    Iterated again, it goes on where it was, also after an error. It is for one thread.
    """

    def __iter__(self: F) -> F:
        """This feed."""
        return self

    def __next__(self) -> T:
        """What comes next.

        Raises:
            GatewayError: The call failed. Asked again, it is called again.
        """
        step = self._advance()
        while not isinstance(step, _Given):
            try:
                result = step()
            except BaseException as error:
                if not isinstance(error, GatewayError):
                    self.close()
                step = self._advance(error=error)
            else:
                step = self._advance(result)
        return step.value

    def close(self) -> None:
        """Closes its connection, until it is asked for more. Closing the client does so, too."""
        if isinstance(self._stream, Stream):
            self._stream.is_left = True
            self._stream.close()


class AsyncFeed(_Following[T]):
    """What happens, one by one, without an end: ``async for`` waits for what comes next.

    Iterated again, it goes on where it was, also after an error. It is for one task.
    """

    def __aiter__(self: A) -> A:
        """This feed."""
        return self

    async def __anext__(self) -> T:
        """What comes next.

        Raises:
            GatewayError: The call failed. Asked again, it is called again.
        """
        step = self._advance()
        while not isinstance(step, _Given):
            try:
                result = await step()
            except BaseException as error:
                if not isinstance(error, GatewayError):
                    await self.close()
                step = self._advance(error=error)
            else:
                step = self._advance(result)
        return step.value

    async def close(self) -> None:
        """Closes its connection, until it is asked for more. Closing the client does so, too."""
        if isinstance(self._stream, AsyncStream):
            self._stream.is_left = True
            await self._stream.close()
# {{/events}}
