from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import httpx

T = TypeVar("T")

_RATE_LIMIT = re.compile(r'"([^"]*)";r=(\d+);t=(\d+)', re.ASCII)


@dataclass(frozen=True)
class RateLimit:
    """What is left of a rate limit."""

    policy: str
    """The name of the limit, such as ``read``."""
    remaining: int
    """How many calls it still allows."""
    reset_seconds: int
    """In how many seconds it allows all of them again."""


@dataclass(frozen=True)
class Response(Generic[T]):
    """A successful reply: the output, and what came with it."""

    data: T
    """The output."""
    status: int
    """The HTTP status."""
    headers: httpx.Headers = field(repr=False)
    """The headers."""
    request_id: str | None
    """Finds the request in the operator's log."""
    rate_limit: RateLimit | None
    """What is left of the rate limit; ``None`` if the service doesn't say."""
    replayed: bool
    """Whether this is the stored answer of an earlier call with the same idempotency key."""
    attempts: int
    """How many attempts were made."""
    body: str = field(repr=False)
    """The text of the reply, as it came."""


def rate_limit_of(headers: httpx.Headers) -> RateLimit | None:
    """Reads ``RateLimit: "read";r=599;t=1``. Returns ``None`` where there is no such header or it reads otherwise."""
    match = _RATE_LIMIT.match(headers.get("RateLimit", ""))
    return RateLimit(match[1], int(match[2]), int(match[3])) if match else None
