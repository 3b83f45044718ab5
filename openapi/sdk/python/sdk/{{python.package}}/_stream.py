"""Streams of Server-Sent Events, as HTML says it in section 9.2.6: how they are read, for threads and for tasks."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import httpx
import msgspec

from ._errors import GatewayError
from ._failures import UNREADABLE

FAILURE = "serialized-error"
"""The type of messages that tell of a failure."""
_MOST_HELD = 64 * 2**20
"""No message is nearly as long."""

_LINE_END = re.compile(r"\r\n|\n|\r")
_RETRY = re.compile(r"\d{1,9}", re.ASCII)


class NoMessageError(httpx.RemoteProtocolError):
    """A stream ended before it began."""


@dataclass(frozen=True)
class Message:
    """A message of a stream."""

    event: str
    """Its type; empty if it has none."""
    data: str
    id: str | None
    """The last id that was told."""
    retry: float | None
    """After how many seconds to connect again, as the stream told last."""


class Parser:
    """Makes messages of text."""

    retry: float | None = None
    """After how many seconds to connect again, as the stream told last."""

    def __init__(self) -> None:
        """Begins a stream."""
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._rest = ""
        self._ended_in_cr = False
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None

    def take(self, chunk: bytes) -> Iterator[Message]:
        """The messages that end in what comes next.

        Raises:
            httpx.RemoteProtocolError: One is too long.
        """
        text = self._decode(chunk)
        if not text:
            return
        # A line that ended with CR may have ended with CRLF.
        more = text[1:] if self._ended_in_cr and text[0] == "\n" else text
        self._ended_in_cr = text[-1] == "\r"
        *lines, self._rest = _LINE_END.split(self._rest + more)
        if len(self._rest) + sum(map(len, self._data)) > _MOST_HELD:
            raise httpx.RemoteProtocolError("a message is too long")
        for line in lines:
            if line:
                self._take_line(line)
                continue
            event, data = self._event, self._data
            self._event, self._data = "", []
            if data:
                yield Message(event, "\n".join(data), self._id, self.retry)

    def _take_line(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and value and "\0" not in value:
            self._id = value
        elif name == "retry" and _RETRY.fullmatch(value):
            self.retry = int(value) / 1000


class OpenStream:
    """A stream that has begun, and what its messages say."""

    is_left = False
    """Whether the caller wants no more of it for now."""

    def __init__(
        self,
        reply: httpx.Response,
        silence: float,
        failure: Callable[[Message], GatewayError],
        unreadable: Callable[[str], GatewayError],
        told: Callable[[Any], Any],
    ) -> None:
        """Made when the head of a reply has come, for streams that may be silent for so many seconds."""
        self.reply = reply
        self.failure_in = failure
        """The error that a message tells of."""
        self._unreadable = unreadable
        self._told = told
        self._silence = silence
        self._parser = Parser()
        self._messages: deque[Message] = deque()

    @property
    def retry(self) -> float | None:
        """After how many seconds to connect again, as the stream told last."""
        return self._parser.retry

    def event_in(self, message: Message, kind: Any) -> Any:
        """The event in a message.

        Raises:
            UnexpectedReplyError: There is none.
        """
        try:
            event = msgspec.convert(msgspec.json.decode(message.data)["json"], kind)
        except (*UNREADABLE, KeyError, TypeError) as error:
            raise self._unreadable(message.data) from error
        return self._told(event)


class Stream(OpenStream):
    """A stream for threads."""

    _chunks: Iterator[bytes] | None = None

    def begin(self) -> Message:
        """The first message, which ``next`` returns again.

        Raises:
            httpx.HTTPError: There is none.
        """
        first = self._read()
        if first is None:
            raise NoMessageError("the stream ended before its first message")
        self._messages.appendleft(first)
        return first

    def next(self) -> Message | None:
        """The next message; ``None`` at the end, or after too long a silence."""
        try:
            return self._read()
        except httpx.HTTPError:
            # The connection broke, or nothing came.
            self.close()
            return None

    def close(self) -> None:
        """Ends it, and its connection."""
        self.reply.close()

    def _read(self) -> Message | None:
        if self._chunks is None:
            self._chunks = self.reply.iter_bytes()
        while not self._messages:
            if self.reply.is_closed:
                return None
            chunk = next(self._chunks, None)
            if chunk is None:
                return None
            self._messages.extend(self._parser.take(chunk))
        return self._messages.popleft()


class AsyncStream(OpenStream):
    """A stream for tasks."""

    _chunks: AsyncIterator[bytes] | None = None

    async def begin(self) -> Message:
        """The first message, which ``next`` returns again.

        Raises:
            httpx.HTTPError: There is none.
        """
        first = await self._read()
        if first is None:
            raise NoMessageError("the stream ended before its first message")
        self._messages.appendleft(first)
        return first

    async def next(self) -> Message | None:
        """The next message; ``None`` at the end, or after too long a silence."""
        try:
            with anyio.fail_after(self._silence):
                return await self._read()
        except (httpx.HTTPError, TimeoutError, RuntimeError):
            # The connection broke, nothing came, or the event loop of the connection has ended.
            with suppress(RuntimeError):
                await self.close()
            return None

    async def close(self) -> None:
        """Ends it, and its connection."""
        with anyio.CancelScope(shield=True):
            await self.reply.aclose()

    async def _read(self) -> Message | None:
        if self._chunks is None:
            self._chunks = self.reply.aiter_bytes()
        while not self._messages:
            if self.reply.is_closed:
                return None
            chunk = await anext(self._chunks, None)
            if chunk is None:
                return None
            self._messages.extend(self._parser.take(chunk))
        return self._messages.popleft()
