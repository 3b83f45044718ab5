"""A call, but for sending: what is sent at each attempt, and what the replies mean. Both clients share it."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx
import msgspec

from . import _errors as errors
from ._attempts import attempt_event, call_hooks
from ._bodies import CUT_OFF, FOREIGN, MOST_BYTES, NO_STREAM, TOO_LONG, UnreadableError, read_output
from ._failures import end_of, failure_in, one_line, words_of
from ._model import encoded
from ._operations import READS
from ._response import Response, rate_limit_of
from ._retry import may_pass, retry_after_of
from ._settings import Complete, Connection
from ._stream import AsyncStream, Message, Stream
from ._version import ENVIRONMENT

if TYPE_CHECKING:
    from ._recorder import CallRecord

T = TypeVar("T")
S = TypeVar("S", Stream, AsyncStream)
D = TypeVar("D")
T_co = TypeVar("T_co", covariant=True)

_SHOWN_OF_BODY = 500
_OPERATION = re.compile(r"[a-z][A-Za-z0-9]*\.[a-z][A-Za-z0-9]*", re.ASCII)

_BY_STATUS: dict[int, type[errors.ApiError]] = {
    400: errors.BadRequestError,
    401: errors.AuthenticationError,
    403: errors.PermissionDeniedError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    413: errors.PayloadTooLargeError,
    422: errors.UnprocessableError,
    429: errors.RateLimitError,
}


@dataclass(frozen=True)
class Operation(Generic[T_co]):
    """What the document says of an operation."""

    id: str
    path: str
    writes: bool
    output: type[T_co]


def operation_named(name: str) -> Operation[dict[str, Any]]:
    """An operation by its name, which this package may not know. What it doesn't know may write.

    Raises:
        UsageError: No operation has such a name.
    """
    if not isinstance(name, str) or not _OPERATION.fullmatch(name):
        raise errors.UsageError(f"operation must be a name such as game.getById, and is {name!r}.")
    return Operation(name, f"/api/trpc/{name}", name not in READS, dict)


class Deadline(dict[str, float]):
    """httpx's timeouts of an attempt, of which each is what is left of the whole."""

    def __init__(self, timeout: float, connect_timeout: float) -> None:
        """Begins now."""
        super().__init__(connect=connect_timeout, read=timeout, write=timeout, pool=timeout)
        self._end = time.monotonic() + timeout

    def __getitem__(self, name: str) -> float:
        """The seconds left of ``connect``, ``read``, ``write`` or ``pool``; never 0, which would mean not to wait at all."""
        return max(min(super().__getitem__(name), self._end - time.monotonic()), 0.001)

    def get(self, name: str, default: Any = None) -> Any:
        """The same, as the HTTP client asks for it."""
        return self[name] if name in self else default

    def allow(self, seconds: float) -> None:
        """Ends no more than a silence of so many seconds from now on: a stream has begun."""
        self["read"] = seconds
        self._end = math.inf

    def check(self) -> None:
        """Ends an attempt whose reply comes, but too slowly.

        Raises:
            httpx.ReadTimeout: The time is over.
        """
        if time.monotonic() > self._end:
            raise httpx.ReadTimeout("The reply was not whole in time.")


def _media_type_of(headers: httpx.Headers) -> str | None:
    return headers.get("Content-Type", "").partition(";")[0].strip().lower() or None


class Exchange(Generic[T]):
    """One call and its attempts."""

    def __init__(
        self,
        connection: Connection,
        operation: Operation[T],
        parameters: msgspec.Struct | Mapping[str, Any] | None,
        options: Complete,
        is_stream: bool = False,
    ) -> None:
        """Makes what all attempts share, such as the idempotency key."""
        self._operation = operation
        self._origin = connection.origin
        self._has_key = connection.api_key is not None
        self._hooks = connection.hooks
        self._attempts = 0
        self._began = 0.0
        self._connect_timeout = options.connect_timeout
        self.timeout = options.timeout
        self._address = str(connection.base_url).rstrip("/")
        self.url = f"{self._address}{operation.path}"
        self.content = encoded({"json": {} if parameters is None else parameters}, operation.id)
        self._cursor = getattr(parameters, "cursor", None)
        if is_stream:
            self.url += f"?input={quote(self.content, safe='')}"
        self._headers = {
            **({} if is_stream else {"content-type": "application/json"}),
            "accept": "text/event-stream" if is_stream else "application/json",
            "user-agent": connection.user_agent,
            **({"authorization": f"Bearer {connection.api_key}"} if connection.api_key else {}),
        }
        if operation.writes or options.idempotency_key is not None:
            self._headers["idempotency-key"] = options.idempotency_key or str(uuid4())
        self._callers = options.headers
        self._record: CallRecord | None = None
        if connection.contract:
            # It is for tests: nothing else loads it.
            from ._recorder import recorder_of

            self._record = recorder_of(connection.contract).of(operation.id, self.content)

    def begin(self) -> tuple[dict[str, str], Deadline]:
        """Counts an attempt. Returns its headers and how long it may take."""
        self._attempts += 1
        count = {"x-retry-count": str(self._attempts - 1)} if self._attempts > 1 else {}
        headers = {**self._headers, **count, **self._callers}
        self._began = time.monotonic()
        return headers, Deadline(self.timeout, self._connect_timeout)

    def report(self, outcome: Response[Any] | errors.GatewayError, wait: float | None) -> None:
        """Tells the hooks what became of an attempt, and how long the call waits until the next, if there is one."""
        if wait is None:
            self._record_failure(outcome)
        if self._hooks:
            duration = time.monotonic() - self._began
            call_hooks(self._hooks, attempt_event(self._operation.id, self._attempts, outcome, duration, wait))

    def _record_failure(self, outcome: Response[Any] | errors.GatewayError) -> None:
        if self._record and isinstance(outcome, errors.ApiError) and outcome.reason:
            self._record.fail(outcome.reason)

    def check(self, reply: httpx.Response, body: bytearray) -> None:
        """Stops reading what no program could hold.

        Raises:
            UnexpectedReplyError: The reply is too long.
        """
        if len(body) > MOST_BYTES:
            raise self._unexpected(reply.status_code, reply.headers, body, TOO_LONG)

    def _call(self) -> dict[str, Any]:
        return {
            "operation": self._operation.id,
            "attempts": self._attempts,
            "idempotency_key": self._callers.get("idempotency-key", self._headers.get("idempotency-key")),
        }

    def unanswered(self, cause: Exception) -> errors.ApiConnectionError:
        """The error of an attempt to which there was no reply, or not the whole."""
        head = f"{self._operation.id}: no"
        attempts = "1 attempt" if self._attempts == 1 else f"{self._attempts} attempts"
        if isinstance(cause, httpx.ConnectTimeout) and self._connect_timeout <= self.timeout:
            text = f"{head} connection to {self._origin} within {self._connect_timeout:g} s, {attempts}"
            return errors.ApiTimeoutError(text, **self._call())
        if isinstance(cause, (httpx.TimeoutException, TimeoutError)):
            text = f"{head} reply from {self._origin} within {self.timeout:g} s, {attempts}"
            return errors.ApiTimeoutError(text, **self._call())
        reason = one_line(str(cause)) or type(cause).__name__
        return errors.ApiConnectionError(f"{head} reply from {self._origin} after {attempts}: {reason}", **self._call())

    def unusable(self, cause: Exception) -> errors.UsageError:
        """The error of a request that the HTTP client doesn't take."""
        advice = "Make another client: this one is closed, or its http_client is, or belongs to another event loop."
        text = f"{self._operation.id}: the request can't be sent: {one_line(str(cause))}."
        return errors.UsageError(f"{text} {advice}" if isinstance(cause, RuntimeError) else text, **self._call())

    def read(self, status: int, headers: httpx.Headers, body: bytes, now: float) -> Response[T]:
        """What a whole reply means.

        Raises:
            ApiError: The service answered that the call failed.
            UnexpectedReplyError: It wasn't the gateway that answered.
        """
        if status >= 400:
            raise self._refused(status, headers, body, now)
        if status != 200:
            raise self._unexpected(status, headers, body, FOREIGN)
        try:
            data = read_output(body, _media_type_of(headers), self._operation.output, self._cursor)
        except UnreadableError as error:
            raise self._unexpected(status, headers, body, str(error)) from error.__cause__
        response = self._response(data, status, headers, body)
        return self._record.told(response) if self._record else response

    def _response(self, data: D, status: int, headers: httpx.Headers, body: bytes) -> Response[D]:
        return Response(
            data=data,
            status=status,
            headers=headers,
            request_id=headers.get("X-Request-Id"),
            rate_limit=rate_limit_of(headers),
            replayed=headers.get("Idempotency-Replayed") == "true",
            attempts=self._attempts,
            body=body.decode("utf-8", "replace"),
        )

    def is_stream(self, reply: httpx.Response) -> bool:
        """Whether a reply is a stream, as far as its head says."""
        return reply.status_code == 200 and _media_type_of(reply.headers) == "text/event-stream"

    def no_stream(self, status: int, headers: httpx.Headers, body: bytes, now: float) -> errors.GatewayError:
        """The error of a whole reply that is none."""
        if status >= 400:
            return self._refused(status, headers, body, now)
        return self._unexpected(status, headers, body, NO_STREAM)

    def stream_of(self, kind: type[S], reply: httpx.Response, silence: float) -> S:
        """The stream that a reply is."""

        def failure(message: Message) -> errors.GatewayError:
            error = self.refused_by(message, reply.headers)
            self._record_failure(error)
            return error

        def unreadable(data: str) -> errors.GatewayError:
            return self._unexpected(200, reply.headers, data.encode(), " with an event that is not readable")

        def told(event: D) -> D:
            return self._record.answer(event) if self._record else event

        return kind(reply, silence, failure, unreadable, told)

    def opened(self, stream: S) -> Response[S]:
        """What there is to tell of a stream that has begun."""
        if self._record:
            self._record.begin()
        return self._response(stream, stream.reply.status_code, stream.reply.headers, b"")

    def refused_by(self, message: Message, headers: httpx.Headers) -> errors.GatewayError:
        """The error that a message of a stream tells of."""
        body = f'{{"error":{message.data}}}'.encode()
        failure = failure_in(body)
        status = (failure and failure.data.http_status) or 500
        passes = may_pass(status, failure.data.reason if failure else None, headers)
        return self._refused(status, headers, body, 0, message.retry if passes else None)

    def _absolute(self, docs: str | None) -> str | None:
        return f"{self._address}{docs}" if docs and docs.startswith("/") else docs

    def _unexpected(
        self, status: int, headers: httpx.Headers, body: bytes | bytearray, fault: str
    ) -> errors.UnexpectedReplyError:
        request_id = headers.get("X-Request-Id")
        location = headers.get("Location") if 300 <= status < 400 else None
        if location:
            text = f"{status} to {location}, which is not followed: give that base URL if it is right."
        else:
            media_type = _media_type_of(headers) or "no content type"
            end = end_of(self._attempts, request_id)
            text = f"{status} {media_type}{fault}. Is {self._origin} {{service}}?{end}"
        return errors.UnexpectedReplyError(
            f"{self._operation.id}: {one_line(text)}",
            status=status,
            request_id=request_id,
            # A character has at most four bytes.
            body=body[: 4 * _SHOWN_OF_BODY].decode("utf-8", "replace")[:_SHOWN_OF_BODY],
            headers=headers,
            is_cut_off=fault == CUT_OFF,
            **self._call(),
        )

    def _hint_of(self, reason: str, hint: str | None) -> str | None:
        """The service's hint, or that of this package, which knows how it is given a key."""
        if reason == "KEY_MISSING" and not self._has_key:
            return f"Give api_key, or set {ENVIRONMENT}_API_KEY."
        return hint

    def _refused(
        self, status: int, headers: httpx.Headers, body: bytes, now: float, retry_after: float | None = None
    ) -> errors.GatewayError:
        kind = _BY_STATUS.get(status, errors.ServerError if 500 <= status < 600 else errors.ApiError)
        failure = failure_in(body)
        if failure is None and status == 404:
            # Another server hasn't found the path: this says nothing of a record.
            return self._unexpected(status, headers, body, FOREIGN)
        data = failure.data if failure else None
        request_id = (data and data.request_id) or headers.get("X-Request-Id")
        retry_after = retry_after_of(headers, now) if retry_after is None else retry_after
        if failure:
            text = words_of(failure, self._hint_of(failure.data.reason, failure.data.hint))
        else:
            media_type = _media_type_of(headers) or "no content type"
            text = f"without the gateway's error envelope ({media_type}). Is {self._origin} {{service}}?"
        end = end_of(self._attempts, request_id, retry_after)
        return kind(
            one_line(f"{self._operation.id}: {status} {text}{end}"),
            status=status,
            reason=data.reason if data else None,
            code=data.code if data else None,
            message=failure.message if failure else None,
            issues=(data and data.issues) or [],
            hint=data.hint if data else None,
            docs=self._absolute(data.docs) if data else None,
            request_id=request_id,
            retry_after=retry_after,
            headers=headers,
            **self._call(),
        )
