"""What a client tells of its attempts, to a hook and to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ._errors import GatewayError
from ._response import Response
from ._version import PRODUCT


@dataclass(frozen=True)
class AttemptEvent:
    """An attempt that ended by itself. It holds no key, no body and no headers."""

    operation: str
    """The operation, such as ``game.list``."""
    attempt: int
    """Which attempt of the call this was, from 1."""
    status: int | None
    """The HTTP status; ``None`` without a whole reply."""
    reason: str | None
    """The gateway's reason of a failure, such as ``OVERLOADED``; else ``None``."""
    error: str | None
    """The name of the error's type, such as ``ServerError``; ``None`` of a success."""
    request_id: str | None
    """Finds the request in the operator's log, if the reply names it."""
    duration: float
    """The seconds that this attempt took."""
    wait: float | None
    """The seconds until the next attempt; ``None`` if there is none."""


AttemptHook = Callable[[AttemptEvent], None]


def attempt_event(
    operation: str, attempt: int, outcome: Response[Any] | GatewayError, duration: float, wait: float | None
) -> AttemptEvent:
    """Describes an attempt by what became of it."""
    return AttemptEvent(
        operation=operation,
        attempt=attempt,
        status=getattr(outcome, "status", None),
        reason=getattr(outcome, "reason", None),
        error=type(outcome).__name__ if isinstance(outcome, GatewayError) else None,
        request_id=getattr(outcome, "request_id", None),
        duration=duration,
        wait=wait,
    )


def _line_of(event: AttemptEvent) -> str:
    outcome = " ".join(str(part) for part in (event.status, event.reason or event.error) if part is not None)
    request = f", request {event.request_id}" if event.request_id else ""
    wait = "" if event.wait is None else f", again in {round(event.wait, 2):g} s"
    line = (
        f"{PRODUCT}: {event.operation} attempt {event.attempt}: {outcome} "
        f"in {event.duration * 1000:.0f} ms{request}{wait}"
    )
    return " ".join(line.split())


def write_to_log(event: AttemptEvent) -> None:
    """Writes an attempt to standard error, in one line, at once: those of other threads would mix with its parts."""
    sys.stderr.write(f"{_line_of(event)}\n")


def call_hooks(hooks: tuple[AttemptHook, ...], event: AttemptEvent) -> None:
    """Calls hooks, of which none breaks a call by what it raises."""
    for hook in hooks:
        with suppress(Exception):
            hook(event)
