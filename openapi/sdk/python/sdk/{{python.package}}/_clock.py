from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio


@dataclass(frozen=True)
class Clock:
    """What a client waits by. Give one of your own to test a program without waiting."""

    now: Callable[[], float] = time.time
    """The seconds since 1970. Read where a ``Retry-After`` is a date and the reply has no ``Date``."""
    sleep: Callable[[float], None] = time.sleep
    """Waits for so many seconds; called once before each attempt after the first of a call, and by feeds."""


@dataclass(frozen=True)
class AsyncClock:
    """What an ``async`` client waits by. Give one of your own to test a program without waiting."""

    now: Callable[[], float] = time.time
    """The seconds since 1970. Read where a ``Retry-After`` is a date and the reply has no ``Date``."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    """Waits for so many seconds; called once before each attempt after the first of a call, and by feeds."""
