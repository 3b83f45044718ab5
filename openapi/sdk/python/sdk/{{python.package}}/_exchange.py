"""A call, but for sending: what is sent at each attempt, and what the replies mean. Both clients share it."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast
from uuid import uuid4

import httpx
import msgspec

from . import _errors as errors
from ._response import Response, rate_limit_of
from ._retry import retry_after_of
from ._settings import Complete, Connection
from ._version import CONTRACT, PRODUCT, __version__
from .models import Issue

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_USER_AGENT = f"{PRODUCT}-python/{__version__} (contract {CONTRACT}; python {platform.python_version()})"
_LONGEST_REPLY = 64 * 2**20
_SHOWN_OF_BODY = 500
_SHOWN_ISSUES = 10

# Older releases of msgspec have errors that are no ValueError.
_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)

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


class _FailureData(msgspec.Struct, rename="camel"):
    code: str
    reason: str
    request_id: str | None = None
    issues: list[Issue] | None = None
    hint: str | None = None
    docs: str | None = None


class _Failure(msgspec.Struct):
    message: str
    data: _FailureData


class _FailureBody(msgspec.Struct):
    json: _Failure


class _FailureEnvelope(msgspec.Struct):
    error: _FailureBody


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

    def check(self) -> None:
        """Ends an attempt whose reply comes, but too slowly.

        Raises:
            httpx.ReadTimeout: The time is over.
        """
        if time.monotonic() > self._end:
            raise httpx.ReadTimeout("The reply was not whole in time.")


class _TooLongError(Exception):
    def __init__(self) -> None:
        super().__init__(f"the reply is longer than {_LONGEST_REPLY // 2**20} MiB")


def _media_type_of(headers: httpx.Headers) -> str:
    return headers.get("Content-Type", "").partition(";")[0].strip().lower() or "no content type"


def _listing(issues: list[Issue]) -> str:
    shown = [f"{issue.path or '(input)'}: {issue.message}" for issue in issues[:_SHOWN_ISSUES]]
    more = [f"and {len(issues) - _SHOWN_ISSUES} more"] if len(issues) > _SHOWN_ISSUES else []
    return f" Issues: {'; '.join(shown + more)}." if issues else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


class Exchange(Generic[T]):
    """One call and its attempts."""

    def __init__(
        self,
        connection: Connection,
        operation: Operation[T],
        parameters: msgspec.Struct | None,
        options: Complete,
    ) -> None:
        """Makes what all attempts share, such as the idempotency key."""
        self._operation = operation
        self._origin = connection.origin
        self._attempts = 0
        self._connect_timeout = options.connect_timeout
        self.timeout = options.timeout
        # Without the user and password that the base URL may have.
        self._address = f"{connection.origin}{connection.base_url.path.rstrip('/')}"
        self.url = f"{str(connection.base_url).rstrip('/')}{operation.path}"
        self.content = msgspec.json.encode({"json": {} if parameters is None else parameters})
        self._cursor = getattr(parameters, "cursor", None)
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "user-agent": _USER_AGENT,
            **({"authorization": f"Bearer {connection.api_key}"} if connection.api_key else {}),
        }
        if operation.writes or options.idempotency_key is not None:
            self._headers["idempotency-key"] = options.idempotency_key or str(uuid4())
        self._callers = options.headers

    def begin(self) -> tuple[dict[str, str], Deadline]:
        """Counts an attempt. Returns its headers and how long it may take."""
        self._attempts += 1
        count = {"x-retry-count": str(self._attempts - 1)} if self._attempts > 1 else {}
        headers = {**self._headers, **count, **self._callers}
        return headers, Deadline(self.timeout, self._connect_timeout)

    def check(self, body: bytearray) -> None:
        """Stops reading what no program could hold.

        Raises:
            ApiConnectionError: The reply is too long.
        """
        if len(body) > _LONGEST_REPLY:
            error = _TooLongError()
            raise self.unanswered(error) from error

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
        reason = _one_line(str(cause)) or type(cause).__name__
        return errors.ApiConnectionError(f"{head} reply from {self._origin} after {attempts}: {reason}", **self._call())

    def read(self, status: int, headers: httpx.Headers, body: bytes, now: float) -> Response[T]:
        """What a whole reply means.

        Raises:
            ApiError: The service answered that the call failed.
            UnexpectedReplyError: It wasn't the gateway that answered.
        """
        if status >= 400:
            raise self._refused(status, headers, body, now)
        if status != 200:
            location = headers.get("Location") if status >= 300 else None
            raise self._unexpected(
                status,
                headers,
                body,
                f"{status} to {location}, which is not followed: give that base URL if it is right."
                if location
                else f"{status} {_media_type_of(headers)}, which no content gateway answers.{self._question(headers)}",
            )
        return Response(
            data=self._output(headers, body),
            status=status,
            headers=headers,
            request_id=headers.get("X-Request-Id"),
            rate_limit=rate_limit_of(headers),
            replayed=headers.get("Idempotency-Replayed") == "true",
            attempts=self._attempts,
            body=body.decode("utf-8", "replace"),
        )

    def _question(self, headers: httpx.Headers) -> str:
        request_id = headers.get("X-Request-Id")
        return f" Is {self._origin} a content gateway?" + (f" (request {request_id})" if request_id else "")

    def _absolute(self, docs: str | None) -> str | None:
        return f"{self._address}{docs}" if docs and docs.startswith("/") else docs

    def _unexpected(self, status: int, headers: httpx.Headers, body: bytes, what: str) -> errors.UnexpectedReplyError:
        return errors.UnexpectedReplyError(
            f"{self._operation.id}: {_one_line(what)}",
            status=status,
            request_id=headers.get("X-Request-Id"),
            body=body.decode("utf-8", "replace")[:_SHOWN_OF_BODY],
            headers=headers,
            **self._call(),
        )

    def _output(self, headers: httpx.Headers, body: bytes) -> T:
        def unexpected(what: str) -> errors.UnexpectedReplyError:
            text = f"200 {_media_type_of(headers)}{what}.{self._question(headers)}"
            return self._unexpected(200, headers, body, text)

        try:
            reply = msgspec.json.decode(body)
        except _UNREADABLE as error:
            said_to_be_json = "json" in _media_type_of(headers)
            what = " without the gateway's envelope" if said_to_be_json else ", which no content gateway answers"
            raise unexpected(what) from error
        try:
            output = reply["result"]["data"]["json"]
        except (KeyError, TypeError, IndexError):
            output = None
        if not isinstance(output, dict):
            raise unexpected(" without the gateway's envelope")
        for member in msgspec.structs.fields(cast("type[msgspec.Struct]", self._operation.output)):
            if member.required and member.encode_name not in output:
                raise unexpected(f" whose output lacks {member.encode_name}")
        next_cursor = output.get("nextCursor")
        if isinstance(next_cursor, str) and next_cursor == self._cursor:
            # Followed, it would lead here for ever.
            raise unexpected(" whose nextCursor is the cursor that was sent")
        try:
            return msgspec.convert(output, self._operation.output)
        except _UNREADABLE as error:
            raise unexpected(f" whose output is not readable: {str(error).rstrip('.')}") from error

    def _refused(self, status: int, headers: httpx.Headers, body: bytes, now: float) -> errors.GatewayError:
        kind = _BY_STATUS.get(status, errors.ServerError if 500 <= status < 600 else errors.ApiError)
        try:
            failure = msgspec.json.decode(body, type=_FailureEnvelope).error.json
        except _UNREADABLE:
            failure = None
        if failure is None and status == 404:
            # Another server hasn't found the path: this says nothing of a record.
            what = f"404 {_media_type_of(headers)}, which no content gateway answers.{self._question(headers)}"
            return self._unexpected(status, headers, body, what)
        data = failure.data if failure else None
        issues = (data and data.issues) or []
        request_id = (data and data.request_id) or headers.get("X-Request-Id")
        if failure:
            hint = f" Hint: {failure.data.hint}" if failure.data.hint else ""
            request = f" (request {request_id})" if request_id else ""
            text = f"{failure.data.reason}: {failure.message}{_listing(issues)}{hint}{request}"
        else:
            media_type = _media_type_of(headers)
            text = f"without the gateway's error envelope ({media_type}).{self._question(headers)}"
        return kind(
            _one_line(f"{self._operation.id}: {status} {text}"),
            status=status,
            reason=data.reason if data else None,
            code=data.code if data else None,
            message=failure.message if failure else None,
            issues=issues,
            hint=data.hint if data else None,
            docs=self._absolute(data.docs) if data else None,
            request_id=request_id,
            retry_after=retry_after_of(headers, now),
            headers=headers,
            **self._call(),
        )
