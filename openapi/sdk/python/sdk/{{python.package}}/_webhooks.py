# {{#events}}
from __future__ import annotations

import base64
import hmac
import math
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

import msgspec

from ._errors import UsageError
from ._failures import UNREADABLE
from .models import Event

WebhookFault = Literal["header", "timestamp", "old", "ahead", "signature", "body"]
"""Why a message was refused: a header lacks, its time can't be read, it was sent too long ago, or later than now, no signature
is right, or the body is no message."""

_TOLERANCE = 300.0
_SCHEME = b"v1,"
_QUARTET = "[A-Za-z0-9+/]{4}"
_SECRET = re.compile(f"whsec_((?:{_QUARTET})+|(?:{_QUARTET})*(?:[A-Za-z0-9+/]{{3}}=|[A-Za-z0-9+/]{{2}}==))", re.ASCII)
_SECONDS = re.compile(r"\d{1,20}", re.ASCII)


class WebhookVerificationError(Exception):
    """A message is not to be trusted, or can't be read: answer it with 400. It holds neither the secret nor a signature."""

    fault: WebhookFault
    """Why it was refused."""

    def __init__(self, fault: WebhookFault, text: str) -> None:
        """Makes an error that reads ``text``."""
        super().__init__(fault, text)
        self.fault = fault
        self._text = text

    def __str__(self) -> str:
        """The fault in a sentence."""
        return self._text


class WebhookHeaders(Protocol):
    """The headers of a request: a mapping, or what a web framework has for one. Names may be in any case."""

    def items(self) -> Iterable[tuple[str, str]]:
        """The names and values."""
        ...


@dataclass(frozen=True)
class WebhookMessage:
    """A message of a webhook, which the service sent."""

    id: str
    """The id of the delivery, the same each time that it is attempted: skip a message whose id you have seen."""
    type: str
    """The type: that of the event, ``webhook.challenge``, ``webhook.test``, or one that is newer than this package."""
    timestamp: datetime
    """When that happened."""
    event: Event | None
    """The event; ``None`` if the message has none, or one of a form that this package doesn't know."""
    challenge: str | None
    """Of a ``webhook.challenge``, the text to answer as ``{"challenge": "…"}``; else ``None``."""


class _Body(msgspec.Struct):
    type: str
    timestamp: datetime
    data: Any = None


def _key_in(secret: object) -> bytes:
    match = _SECRET.fullmatch(secret) if isinstance(secret, str) else None
    if match is None:
        raise UsageError("secret must be whsec_ followed by base64.")
    return base64.b64decode(match[1])


def _keys_in(secret: str | Sequence[str]) -> list[bytes]:
    secrets = [secret] if isinstance(secret, str) else secret
    if not secrets:
        raise UsageError("secret must be a text or a list of texts, and is empty.")
    return [_key_in(one) for one in secrets]


def _bytes_of(body: str | bytes | bytearray | memoryview) -> bytes:
    if isinstance(body, str):
        return body.encode("utf-8", "replace")
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    raise TypeError("body must be the text or the bytes that came, not what was made of them.")


def _value_in(headers: dict[str, str], name: str) -> str:
    value = headers.get(name)
    if not value:
        raise WebhookVerificationError("header", f"The message has no header {name}.")
    return value


def _check_time(timestamp: str, now: float, tolerance: float) -> None:
    if not _SECONDS.fullmatch(timestamp):
        raise WebhookVerificationError("timestamp", "webhook-timestamp is no number of seconds.")
    age = math.floor(now) - int(timestamp)
    if abs(age) > tolerance:
        text = f"The message is more than {tolerance:g} s"
        if age > 0:
            raise WebhookVerificationError("old", f"{text} old.")
        raise WebhookVerificationError("ahead", f"{text} ahead of the clock.")


def _check_signature(signatures: str, content: bytes, keys: list[bytes]) -> None:
    given = [one for one in signatures.encode("utf-8", "replace").split(b" ") if one.startswith(_SCHEME)]
    right = [_SCHEME + base64.b64encode(hmac.digest(key, content, "sha256")) for key in keys]
    if not any(hmac.compare_digest(one, other) for one in right for other in given):
        raise WebhookVerificationError(
            "signature",
            "No signature is right: see whether the secret is that of the webhook, and the body is as it came.",
        )


def _event_in(data: object) -> Event | None:
    try:
        return msgspec.convert(data, Event)
    except UNREADABLE:
        return None


def _read(id: str, body: bytes) -> WebhookMessage:
    try:
        message = msgspec.json.decode(body, type=_Body)
    except UNREADABLE:
        text = "The body is no message: it lacks a type or a timestamp, or is not JSON."
        # What kept it from being read may show the body.
        raise WebhookVerificationError("body", text) from None
    data = message.data
    challenge = data.get("challenge") if message.type == "webhook.challenge" and isinstance(data, dict) else None
    return WebhookMessage(
        id=id,
        type=message.type,
        timestamp=message.timestamp,
        event=_event_in(data),
        challenge=challenge if isinstance(challenge, str) else None,
    )


def unwrap_webhook(
    body: str | bytes | bytearray | memoryview,
    headers: WebhookHeaders,
    secret: str | Sequence[str],
    *,
    tolerance: float = _TOLERANCE,
    now: float | None = None,
) -> WebhookMessage:
    """Verifies a message that came to the endpoint of a webhook, by the Standard Webhooks specification, and reads it.

    A message is refused that is more than five minutes old, or that many ahead, unless
    ``tolerance`` says otherwise. Messages come at least once: skip one whose
    ``id`` you have seen. Answer the ``challenge`` of one that has it.

    Args:
        body: The body as it came, before anything parses it.
        headers: The headers of the request, whose names may be in any case.
        secret: The secret of the webhook; a list of them while they are changed, or if the endpoint has several webhooks.
        tolerance: How many seconds ago a message may have been sent, and how far ahead its time may be, from 0.
        now: The time, in seconds since 1970; for tests. Default: the machine's.

    Returns:
        The message.

    Raises:
        WebhookVerificationError: The message is not to be trusted, or can't be read.
        UsageError: A secret has not the form, or the tolerance is no number from 0.
        TypeError: The body is neither text nor bytes.
    """
    keys = _keys_in(secret)
    if not tolerance >= 0:
        raise UsageError(f"tolerance must be a number from 0, and is {tolerance}.")
    content = _bytes_of(body)
    named = {name.lower(): value for name, value in headers.items()}
    id = _value_in(named, "webhook-id")
    timestamp = _value_in(named, "webhook-timestamp")
    signatures = _value_in(named, "webhook-signature")
    _check_time(timestamp, time.time() if now is None else now, tolerance)
    _check_signature(signatures, f"{id}.{timestamp}.".encode("utf-8", "replace") + content, keys)
    return _read(id, content)
# {{/events}}
