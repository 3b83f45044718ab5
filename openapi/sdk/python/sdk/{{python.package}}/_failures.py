"""How the service words a failure, and how the text of an error does."""

from __future__ import annotations

from math import ceil

import msgspec

from .models import Issue

_SHOWN_ISSUES = 10

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""What msgspec raises. Its older releases have errors that are no ``ValueError``."""


class FailureData(msgspec.Struct, rename="camel"):
    """The details of a failure."""

    code: str
    reason: str
    request_id: str | None = None
    http_status: int | None = None
    issues: list[Issue] | None = None
    hint: str | None = None
    docs: str | None = None


class Failure(msgspec.Struct):
    """A failure in the service's own words."""

    message: str
    data: FailureData


class _FailureBody(msgspec.Struct):
    json: Failure


class _FailureEnvelope(msgspec.Struct):
    error: _FailureBody


def failure_in(body: bytes) -> Failure | None:
    """The failure that a reply tells of; ``None`` if it isn't in the gateway's envelope."""
    try:
        return msgspec.json.decode(body, type=_FailureEnvelope).error.json
    except UNREADABLE:
        return None


def one_line(text: str) -> str:
    """A text without line breaks."""
    return " ".join(text.split())


def words_of(failure: Failure, hint: str | None) -> str:
    """A failure in a sentence or more: its reason, its message, every fault of the input, and what to do."""
    issues = failure.data.issues or []
    shown = [f"{issue.path or '(input)'}: {issue.message}" for issue in issues[:_SHOWN_ISSUES]]
    more = [f"and {len(issues) - _SHOWN_ISSUES} more"] if len(issues) > _SHOWN_ISSUES else []
    listing = f" Issues: {'; '.join(shown + more)}." if issues else ""
    return f"{failure.data.reason}: {failure.message}{listing}{f' Hint: {hint}' if hint else ''}"


def end_of(attempts: int, request_id: str | None, retry_after: float | None = None) -> str:
    """The end of a text: when to try again, which request it was, and after how many attempts."""
    retry = f" Retry after {ceil(retry_after)} s." if retry_after else ""
    request = [f"request {request_id}"] if request_id else []
    after = [f"after {attempts} attempts"] if attempts > 1 else []
    return retry + (f" ({', '.join(request + after)})" if request or after else "")
