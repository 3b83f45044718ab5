from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from .models import Issue


def _revive(kind: type[GatewayError], args: tuple[Any, ...], members: dict[str, Any]) -> GatewayError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(members)
    return error


class GatewayError(Exception):
    """A call failed. ``str()`` of it is one line that says which, how and, where that is known, why."""

    operation: str
    """The operation that was called, such as ``game.create``; empty of a ``UsageError`` outside of a call."""
    attempts: int
    """How many attempts were made."""
    idempotency_key: str | None
    """The ``Idempotency-Key`` of a call that writes, to repeat it by; ``None`` on reads."""

    def __init__(self, text: str, *, operation: str, attempts: int, idempotency_key: str | None) -> None:
        """Makes an error that reads ``text``."""
        super().__init__(text)
        self.operation = operation
        self.attempts = attempts
        self.idempotency_key = idempotency_key

    def __reduce__(self) -> tuple[Any, ...]:
        """Lets errors cross processes, with all their members."""
        return _revive, (type(self), self.args, self.__dict__)


class UsageError(GatewayError, ValueError):
    """A client, an option or an input can't be used. It shows no value that may be secret."""

    def __init__(self, text: str, *, operation: str = "", attempts: int = 0, idempotency_key: str | None = None) -> None:
        """Makes an error that reads ``text``."""
        super().__init__(text, operation=operation, attempts=attempts, idempotency_key=idempotency_key)


class ApiError(GatewayError):
    """The service answered that the call failed. Most statuses have a type of their own; branch on ``reason``."""

    status: int
    """The HTTP status."""
    reason: str | None
    """The stable cause to branch on, such as ``GAME_NOT_FOUND``; ``None`` if it wasn't the gateway that answered."""
    code: str | None
    """The kind of failure, such as ``NOT_FOUND``."""
    message: str | None
    """The failure in the service's own words."""
    issues: Sequence[Issue]
    """Every fault of the input, where the reason is ``VALIDATION_FAILED``; else empty."""
    hint: str | None
    """What to do about it, if the service says so."""
    docs: str | None
    """The address of the page about the reason, if the service names one."""
    request_id: str | None
    """Finds the request in the operator's log."""
    retry_after: float | None
    """After how many seconds to try again, if the service says so."""
    headers: httpx.Headers
    """The headers of the reply."""

    def __init__(
        self,
        text: str,
        *,
        status: int,
        reason: str | None,
        code: str | None,
        message: str | None,
        issues: Sequence[Issue],
        hint: str | None,
        request_id: str | None,
        retry_after: float | None,
        headers: httpx.Headers,
        operation: str,
        attempts: int,
        idempotency_key: str | None,
        docs: str | None = None,
    ) -> None:
        """Makes an error that reads ``text``."""
        super().__init__(text, operation=operation, attempts=attempts, idempotency_key=idempotency_key)
        self.status = status
        self.reason = reason
        self.code = code
        self.message = message
        self.issues = issues
        self.hint = hint
        self.docs = docs
        self.request_id = request_id
        self.retry_after = retry_after
        self.headers = headers


class BadRequestError(ApiError):
    """Status 400: the service cannot read the input; ``issues`` lists its faults."""


class AuthenticationError(ApiError):
    """Status 401: the API key is missing, unknown, expired or revoked."""


class PermissionDeniedError(ApiError):
    """Status 403: the API key doesn't allow this, or the record is another user's."""


class NotFoundError(ApiError):
    """Status 404: there is no such record."""


class ConflictError(ApiError):
    """Status 409: the call is at odds with another one."""


class PayloadTooLargeError(ApiError):
    """Status 413: the input is too large."""


class UnprocessableError(ApiError):
    """Status 422: the idempotency key was used for another input."""


class RateLimitError(ApiError):
    """Status 429: too many calls; ``retry_after`` says how long to wait."""


class ServerError(ApiError):
    """Status 5xx: the service failed."""


class ApiConnectionError(GatewayError):
    """There was no reply, or not the whole of it. ``__cause__`` is the error of the HTTP client."""


class ApiTimeoutError(ApiConnectionError):
    """There was no reply in time."""


class UnexpectedReplyError(GatewayError):
    """What answered is not {{service}}, or not one that this package can read: see whether the base URL is right."""

    status: int
    """The HTTP status."""
    request_id: str | None
    """The reply's ``X-Request-Id``, if it has one."""
    body: str
    """The first 500 characters of the reply."""
    headers: httpx.Headers
    """The headers of the reply."""
    is_cut_off: bool
    """Whether it broke off on its way. Then the call was tried again, as where a connection breaks."""

    def __init__(
        self,
        text: str,
        *,
        status: int,
        request_id: str | None,
        body: str,
        headers: httpx.Headers,
        is_cut_off: bool,
        operation: str,
        attempts: int,
        idempotency_key: str | None,
    ) -> None:
        """Makes an error that reads ``text``."""
        super().__init__(text, operation=operation, attempts=attempts, idempotency_key=idempotency_key)
        self.status = status
        self.request_id = request_id
        self.body = body
        self.headers = headers
        self.is_cut_off = is_cut_off
