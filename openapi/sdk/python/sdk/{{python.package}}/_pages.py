from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar, cast

import msgspec
from msgspec import UNSET

from ._errors import UsageError

T = TypeVar("T")
W = TypeVar("W", bound="_Walk[Any]")
P = TypeVar("P", bound="Page[Any]")
A = TypeVar("A", bound="AsyncPage[Any]")


def _copy_of(page: W, members: dict[str, Any]) -> W:
    twin = type(page)(**members)
    # How it fetches the next page is no member.
    twin.__dict__.update(page.__dict__)
    return twin


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
            raise UsageError("This is the last page: see has_next_page.")
        if not hasattr(self, "_follow"):
            raise UsageError("This page came from no call: list again, with its next_cursor as cursor.")
        return self._follow(self.next_cursor)

    def __copy__(self: W) -> W:
        """A page that can fetch the same next one."""
        return _copy_of(self, msgspec.structs.asdict(cast(msgspec.Struct, self)))

    def __deepcopy__(self: W, memo: dict[int, Any]) -> W:
        """The same, with records of its own."""
        return _copy_of(self, copy.deepcopy(msgspec.structs.asdict(cast(msgspec.Struct, self)), memo))


class Page(_Walk[T]):
    """A page of a list, which can fetch the one that follows."""

    def next_page(self: P) -> P:
        """Fetches the records that follow this page, with the same input and options.

        Raises:
            UsageError: This is the last page.
            GatewayError: The call failed.
        """
        page: P = self._next()
        return page


class AsyncPage(_Walk[T]):
    """A page of a list, which can fetch the one that follows."""

    async def next_page(self: A) -> A:
        """Fetches the records that follow this page, with the same input and options.

        Raises:
            UsageError: This is the last page.
            GatewayError: The call failed.
        """
        page: A = await self._next()
        return page


def following(parameters: msgspec.Struct, cursor: str) -> msgspec.Struct:
    """The parameters of the page behind a cursor. Its number counts on, if there is one."""
    page = getattr(parameters, "page", UNSET)
    more = {} if page is UNSET else {"page": page + 1}
    return msgspec.structs.replace(parameters, cursor=cursor, **more)


def pages(first: Callable[[], P]) -> Iterator[P]:
    """A page and all that follow it, each fetched when it is asked for."""
    page = first()
    yield page
    while page.has_next_page:
        page = page.next_page()
        yield page


def records(first: Callable[[], Page[T]], most: int | None) -> Iterator[T]:
    """The records of a page and of all that follow it, up to so many, each page fetched when its first record is asked for.

    Raises:
        UsageError: ``most`` is no number of records.
    """
    _check(most)
    return islice((record for page in pages(first) for record in page.items), most)


async def async_pages(first: Callable[[], Awaitable[A]]) -> AsyncIterator[A]:
    """A page and all that follow it, each fetched when it is asked for."""
    page = await first()
    yield page
    while page.has_next_page:
        page = await page.next_page()
        yield page


def async_records(first: Callable[[], Awaitable[AsyncPage[T]]], most: int | None) -> AsyncIterator[T]:
    """The records of a page and of all that follow it, up to so many, each page fetched when its first record is asked for.

    Raises:
        UsageError: ``most`` is no number of records.
    """
    _check(most)

    async def each() -> AsyncIterator[T]:
        count = 0
        async for page in async_pages(first):
            for record in page.items:
                yield record
                count += 1
                if count == most:
                    return

    return each()


def _check(most: int | None) -> None:
    if most is not None and not (isinstance(most, int) and most >= 1):
        raise UsageError(f"max_records must be a whole number from 1, and is {most}.")
