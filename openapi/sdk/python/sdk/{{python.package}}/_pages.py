from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
P = TypeVar("P", bound="Page[Any]")
A = TypeVar("A", bound="AsyncPage[Any]")


class _Walk(Generic[T]):
    items: list[T]
    next_cursor: str | None
    _follow: Callable[[str], Any]

    @property
    def has_next_page(self) -> bool:
        """Whether records follow this page."""
        return self.next_cursor is not None

    def _next(self) -> Any:
        if self.next_cursor is None:
            raise ValueError("This is the last page: see has_next_page.")
        return self._follow(self.next_cursor)


class Page(_Walk[T]):
    """A page of a list, which can fetch the one that follows."""

    def next_page(self: P) -> P:
        """Fetches the records that follow this page, with the same input and options.

        Raises:
            ValueError: This is the last page.
            GatewayError: The call failed.
        """
        page: P = self._next()
        return page


class AsyncPage(_Walk[T]):
    """A page of a list, which can fetch the one that follows."""

    async def next_page(self: A) -> A:
        """Fetches the records that follow this page, with the same input and options.

        Raises:
            ValueError: This is the last page.
            GatewayError: The call failed.
        """
        page: A = await self._next()
        return page


def records(first: Callable[[], Page[T]]) -> Iterator[T]:
    """The records of a page and of all that follow it, each page fetched when its first record is asked for."""
    page = first()
    yield from page.items
    while page.has_next_page:
        page = page.next_page()
        yield from page.items


async def async_records(first: Callable[[], Awaitable[AsyncPage[T]]]) -> AsyncIterator[T]:
    """The records of a page and of all that follow it, each page fetched when its first record is asked for."""
    page = await first()
    for record in page.items:
        yield record
    while page.has_next_page:
        page = await page.next_page()
        for record in page.items:
            yield record
