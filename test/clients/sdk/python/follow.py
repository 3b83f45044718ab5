"""Follows the feed of a gateway, and prints the events that come; then checks against pages from memory what no gateway shows."""

import asyncio
import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

import httpx
from content_gateway import (
    AsyncClock,
    AsyncContentGateway,
    AsyncFeed,
    Clock,
    ContentGateway,
    Feed,
    NotFoundError,
)
from content_gateway.models import Event, EventType

CREATED: list[EventType] = ["game.created"]


def title_of(event: Event) -> str:
    return event.game.title if event.game else "none"


def follow() -> str:
    """Returns the cursor from which it followed."""
    with ContentGateway() as gateway:
        after = gateway.event.list(start="latest").next_cursor
        for number in (1, 2, 3):
            gateway.game.create(title=f"follow {number}")
        feed: Feed[Event] = gateway.event.follow(after=after, types=CREATED, include="record", poll_seconds=0.05)
        assert feed.cursor is None
        for count, event in enumerate(feed, 1):
            print(event.type, title_of(event))
            if count == 3:
                gateway.game.create(title="follow 4")
            if count == 4:
                break
        print("cursor:", "there" if feed.cursor else "none")
        assert feed.cursor
        # From the cursor, it goes on: nothing is missed.
        gateway.game.create(title="follow 5")
        later = gateway.event.follow(after=feed.cursor, types=CREATED, include="record", poll_seconds=0.05)
        assert title_of(next(later)) in ("follow 4", "follow 5")
        later.close()
        # A stream goes on where it was, also when it is closed.
        tail: Feed[Event] = gateway.event.tail(start="earliest", types=CREATED, include="record")
        titles = [title_of(event) for event in islice(tail, 2)]
        tail.close()
        titles += [title_of(event) for event in islice(tail, 3)]
        assert titles == [f"follow {number}" for number in range(1, 6)]
        return after


async def follow_in_task(after: str) -> None:
    async with AsyncContentGateway() as gateway:
        feed: AsyncFeed[Event] = gateway.event.follow(
            after=after, start="latest", types=CREATED, include="record", limit=2, poll_seconds=0.05
        )
        titles = []
        async for event in feed:
            titles.append(title_of(event))
            if len(titles) == 5:
                break
        assert titles == [f"follow {number}" for number in range(1, 6)]
        assert feed.cursor
        try:
            await asyncio.wait_for(anext(feed), 0.2)
        except asyncio.TimeoutError:
            pass
        else:
            raise AssertionError("an event came that nobody made")


class Memory:
    """A feed of pages from memory, without a stream, with what was asked for and how long it waited."""

    def __init__(self, *pages: dict[str, Any]) -> None:
        self.asked: list[dict[str, Any]] = []
        self.waits: list[float] = []
        self._pages = list(pages)

    def answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(404, text="not found")
        self.asked.append(json.loads(request.content)["json"])
        page = self._pages.pop(0)
        if "reason" in page:
            data = {"reason": page["reason"], "code": "NOT_FOUND"}
            return httpx.Response(404, json={"error": {"json": {"message": "Gone.", "data": data}}})
        return httpx.Response(200, json={"result": {"data": {"json": page}}})

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def client(self) -> ContentGateway:
        http = httpx.Client(transport=httpx.MockTransport(self.answer))
        return ContentGateway("http://memory", http_client=http, clock=Clock(sleep=self.waits.append))

    def async_client(self) -> AsyncContentGateway:
        http = httpx.AsyncClient(transport=httpx.MockTransport(self.answer))
        return AsyncContentGateway("http://memory", http_client=http, clock=AsyncClock(sleep=self.sleep))


def page_of(ids: str, cursor: str, has_more: bool) -> dict[str, Any]:
    record = {"kind": "game", "id": "g"}
    items = [
        {"id": id, "position": 1, "type": "game.new", "record": record, "actorId": None, "at": "2026-04-01T09:30:00Z"}
        for id in ids
    ]
    return {"items": items, "nextCursor": cursor, "hasMore": has_more}


PAGES = (
    page_of("12", "a", True),
    page_of("", "b", True),
    page_of("3", "c", False),
    {"reason": "EVENTS_GONE"},
    page_of("4", "d", False),
)


def ids_of(events: Iterable[Event], most: int) -> str:
    return "".join(event.id for event in islice(events, most))


def check() -> None:
    memory = Memory(*PAGES)
    feed = memory.client().event.follow(start="earliest", limit=2)
    assert (ids_of(feed, 2), feed.cursor) == ("12", None)
    # The page is taken when more is asked for.
    assert (ids_of(feed, 1), feed.cursor, memory.waits) == ("3", "b", [])
    # An error is raised, and ends nothing.
    try:
        next(feed)
    except NotFoundError as error:
        assert error.reason == "EVENTS_GONE"
    else:
        raise AssertionError("the error is missing")
    assert (feed.cursor, memory.waits) == ("c", [1])
    assert ids_of(feed, 1) == "4"
    assert [asked.get("after") for asked in memory.asked] == [None, "a", "b", "c", "c"]
    assert {asked["limit"] for asked in memory.asked} == {2}


async def check_in_task() -> None:
    memory = Memory(*PAGES)
    feed = memory.async_client().event.follow(start="earliest", poll_seconds=5)
    assert "".join([(await anext(feed)).id for _ in range(3)]) == "123"
    assert (feed.cursor, memory.waits) == ("b", [])
    try:
        await anext(feed)
    except NotFoundError as error:
        assert error.reason == "EVENTS_GONE"
    else:
        raise AssertionError("the error is missing")
    assert (await anext(feed)).id == "4"
    assert (feed.cursor, memory.waits) == ("c", [5])
    assert [asked.get("after") for asked in memory.asked] == [None, "a", "b", "c", "c"]


asyncio.run(follow_in_task(follow()))
check()
asyncio.run(check_in_task())
for seconds in (0, -1, float("nan"), float("inf")):
    try:
        Memory().client().event.follow(poll_seconds=seconds)
    except ValueError:
        try:
            Memory().client().event.tail(silence_seconds=seconds)
        except ValueError:
            continue
    raise AssertionError(f"{seconds} is taken")
