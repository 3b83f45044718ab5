# {{#events}}
from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
F = TypeVar("F", bound="Feed[Any]")
A = TypeVar("A", bound="AsyncFeed[Any]")


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


class _Following(Generic[T]):
    """How far a feed was followed."""

    cursor: str | None
    """From where to go on after a restart, as ``after``: all before it has been taken. It moves on when more is asked for
    after the last of a page, so after a restart some may come again. ``None`` before it first does."""

    def __init__(self, poll_seconds: float) -> None:
        if not (math.isfinite(poll_seconds) and poll_seconds > 0):
            raise ValueError(f"poll_seconds must be a number above 0, and is {poll_seconds}.")
        self.cursor = None
        self._poll_seconds = poll_seconds
        self._page: FeedOutput[T] | None = None
        self._left: deque[T] = deque()

    def _take_page(self) -> bool:
        """Moves on past a page. Returns whether to wait before the next."""
        page, self._page = self._page, None
        if page is None:
            return False
        self.cursor = page.next_cursor
        return not page.has_more

    def _turn_to(self, page: FeedOutput[T]) -> None:
        self._page = page
        self._left.extend(page.items)


class Feed(_Following[T]):
    """What happens, one by one, without an end: ``for`` waits for what comes next.

    Iterated again, it goes on where it was, also after an error.
    """

    def __init__(
        self, fetch: Callable[[str | None], FeedOutput[T]], sleep: Callable[[float], object], poll_seconds: float
    ) -> None:
        """Made by the client."""
        super().__init__(poll_seconds)
        self._fetch = fetch
        self._sleep = sleep

    def __iter__(self: F) -> F:
        """This feed."""
        return self

    def __next__(self) -> T:
        """What comes next.

        Raises:
            GatewayError: The call failed. Asked again, it is called again.
        """
        while not self._left:
            if self._take_page():
                self._sleep(self._poll_seconds)
            self._turn_to(self._fetch(self.cursor))
        return self._left.popleft()


class AsyncFeed(_Following[T]):
    """What happens, one by one, without an end: ``async for`` waits for what comes next.

    Iterated again, it goes on where it was, also after an error. It is for one task.
    """

    def __init__(
        self,
        fetch: Callable[[str | None], Awaitable[FeedOutput[T]]],
        sleep: Callable[[float], Awaitable[object]],
        poll_seconds: float,
    ) -> None:
        """Made by the client."""
        super().__init__(poll_seconds)
        self._fetch = fetch
        self._sleep = sleep

    def __aiter__(self: A) -> A:
        """This feed."""
        return self

    async def __anext__(self) -> T:
        """What comes next.

        Raises:
            GatewayError: The call failed. Asked again, it is called again.
        """
        while not self._left:
            if self._take_page():
                await self._sleep(self._poll_seconds)
            self._turn_to(await self._fetch(self.cursor))
        return self._left.popleft()
# {{/events}}
