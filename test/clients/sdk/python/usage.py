"""What a program gets that uses a client wrongly or oddly: the package's own error before anything is sent, or it works."""

import asyncio
import copy
import json
import os
import pickle
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, cast
from uuid import uuid4

import httpx
from content_gateway import AsyncContentGateway, ContentGateway, GatewayError, Page, UnexpectedReplyError, UsageError
from content_gateway.models import GameInput, GameListInput
from servers import Gateway, seen, serve

Way = Callable[[], object]

API_KEY = "cgk_usage"
PASSWORD = "hunter2"


class Lists(Gateway):
    """Answers all calls with a page."""

    def handle(self) -> None:
        # A client of an event loop that has ended breaks its connections.
        with suppress(ConnectionResetError):
            super().handle()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen.append((self.name, self.path, dict(self.headers), body))
        cursor = None if body["json"].get("cursor") else "more"
        page = {"items": [], "page": 1, "limit": 20, "total": 0, "totalRelation": "exact", "hasMore": True, "nextCursor": cursor}
        self.answer(200, json.dumps({"result": {"data": {"json": page}}}).encode())

    def do_GET(self) -> None:
        """Sends a stream of two events, which stays open."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for number in (1, 2):
            event = {"id": str(number), "position": 1, "type": "game.created", "record": {"kind": "game", "id": "g1"}}
            data = json.dumps({"json": {**event, "actorId": None, "at": "2026-01-01T00:00:00Z"}})
            self.wfile.write(f"id: {number}\ndata: {data}\n\n".encode())
        self.rfile.read(1)


here = f"http://127.0.0.1:{serve(Lists)}"


def count_sent() -> int:
    """How many requests came, but for those of a client whose event loop has ended: one of these may come late."""
    return sum(not path.startswith("/own/") for _, path, *_ in seen)


def refused(does: Way) -> UsageError:
    """The error of wrong usage, of which nothing is sent."""
    sent = count_sent()
    error = failed(does)
    assert count_sent() == sent
    return error


def failed(does: Way) -> UsageError:
    """The error of wrong usage."""
    try:
        result = does()
        if isinstance(result, Coroutine):
            asyncio.run(result)
    except UsageError as error:
        assert isinstance(error, GatewayError) and isinstance(error, ValueError)
        assert str(copy.deepcopy(error)) == str(pickle.loads(pickle.dumps(error))) == str(error)
        return error
    raise AssertionError("it is not refused")


# A base URL that has more than an address would send that in place of the key, or elsewhere.
for address in (
    f"https://me:{PASSWORD}@gateway.invalid",
    f"https://{PASSWORD}@gateway.invalid",
    f"https://:{PASSWORD}@gateway.invalid/base",
    f"https://me%40:{PASSWORD}%2f@gateway.invalid",
    f"https://other.invalid\\@{PASSWORD}@gateway.invalid",
    f"https://gateway.invalid?key={PASSWORD}",
    "https://gateway.invalid?",
    f"https://gateway.invalid/#{PASSWORD}",
    f"ftp://gateway.invalid/{PASSWORD}",
    f"//gateway.invalid/{PASSWORD}",
    "https://",
    "https://gateway.invalid:65536",
    "https://gateway..invalid",
):
    os.environ["CONTENT_GATEWAY_URL"] = address
    makings: tuple[Way, ...] = (
        lambda: ContentGateway(address, API_KEY),
        lambda: AsyncContentGateway(address, API_KEY),
        lambda: ContentGateway(here).with_options(base_url=address),
        lambda: ContentGateway(),
    )
    for making in makings:
        error = refused(making)
        assert PASSWORD not in f"{error!r} {error.__cause__!r} {error.__context__!r}", error
    assert str(error).startswith("CONTENT_GATEWAY_URL must be")
del os.environ["CONTENT_GATEWAY_URL"]

gateway = ContentGateway(here, API_KEY)
asynchronous = AsyncContentGateway(here, API_KEY)
wrong = cast(Any, gateway)

# What isn't text of the kind that a header holds, no number, no mapping.
for option in (
    {"timeout": "5"},
    {"timeout": None, "connect_timeout": b"5"},
    {"max_retries": "2"},
    {"max_retries": 1.5},
    {"headers": [("X-First", "1")]},
    {"headers": {"X-First": 1}},
    {"api_key": b"cgk_bytes"},
    {"app_name": 7},
    {"base_url": 7},
):
    refused(lambda: wrong.with_options(**option))
refused(lambda: wrong.game.create(title="a", idempotency_key=uuid4()))
refused(lambda: ContentGateway(here, max_connections=cast(Any, "7")))
refused(lambda: wrong.call(None))
refused(lambda: wrong.game.list_all(max_records="7"))
refused(lambda: wrong.event.tail(silence_seconds="7"))
refused(lambda: wrong.event.follow(poll_seconds="7"))

# Half of a surrogate pair is no text, wherever it is, nor has every value a form in JSON.
loop: dict[str, Any] = {}
loop["itself"] = loop
for value in ("\ud800", ["a", "\udfff"], {"a\udc00": 1}, {"a": {"b": ["\ud83d "]}}, object(), {(1, 2): 3}, loop):
    error = refused(lambda: gateway.call("game.getNewest", {"a": value}))
    assert error.operation == "game.getNewest" and str(error).startswith("game.getNewest: the input can't be")
    refused(lambda: asynchronous.call("game.getNewest", {"a": value}))
halves: tuple[Way, ...] = (
    lambda: gateway.game.create(title="\ud800"),
    lambda: asynchronous.game.create(title="\ud800"),
    lambda: gateway.game.create(title="a", tag_names=["\ud800"]),
    lambda: gateway.game.batch_create([{"title": "a", "extra_info": {"file_size": "\ud800"}}]),
    lambda: next(gateway.game.list_all(cursor="\ud800")),
    lambda: next(gateway.event.tail(after="\ud800")),
    lambda: GameInput(title="\ud800").to_json(),
    lambda: gateway.game.create(title="a", idempotency_key="\ud800"),
    lambda: gateway.with_options(headers={"X-First": "\ud800"}),
    lambda: gateway.game.batch_create([cast(Any, {"title": "a", 1: 2})]),
)
for half in halves:
    refused(half)

# What can be iterated is a list, also in a walk, which sends it with each page.
sent = len(seen)
slugs = ["rpg", "action"]
kinds: tuple[Callable[[], Any], ...] = (lambda: iter(slugs), lambda: tuple(slugs), lambda: dict.fromkeys(slugs).keys())
for kind in kinds:
    list(gateway.game.list_pages(tag_slugs=kind()))
    gateway.call("game.list", {"tagSlugs": kind()})
    with suppress(UnexpectedReplyError):
        gateway.game.batch_create({"title": "a", "tag_names": kind()} for _ in range(2))  # type: ignore[arg-type]
    with suppress(UnexpectedReplyError):
        gateway.game.batch_create([GameInput(title="a", tag_names=kind())] * 1)
lists = [body["json"] for *_, body in seen[sent:]]
assert [members.get("tagSlugs") for members in lists] == 3 * [slugs, slugs, slugs, None, None]
assert [len(members["games"]) for members in lists if "games" in members] == 3 * [2, 1]
assert all(game["tagNames"] == slugs for members in lists for game in members.get("games", []))

# Copies work as what they are made of; what can't cross processes says so.
page = gateway.game.list()
for other_page in (page, copy.copy(page), copy.deepcopy(page)):
    assert isinstance(other_page, Page) and other_page == page and not other_page.next_page().has_next_page
assert copy.deepcopy(page).items is not page.items
model = GameListInput(limit=1, tag_slugs=slugs)
assert copy.deepcopy(model) == pickle.loads(pickle.dumps(model)) == model
for client in (gateway, asynchronous):
    refused(lambda: pickle.dumps(client))
    assert repr(copy.copy(client)) == repr(copy.deepcopy(client)) == repr(client)
for feed in (gateway.event.follow(), asynchronous.event.tail()):
    refused(lambda: copy.copy(feed))
    refused(lambda: copy.deepcopy(feed))
    refused(lambda: pickle.dumps(feed))
twin = copy.deepcopy({"gateway": gateway})["gateway"]
twin.close()
assert gateway.game.list() == page == twin.game.list()


# An async client works in any number of event loops: one after the other, at once in several threads, each with turns of its own.
async def calls(client: AsyncContentGateway) -> None:
    await asyncio.gather(*(client.call("game.list") for _ in range(9)))


def call_in_loop(_: int) -> None:
    asyncio.run(calls(narrow))


narrow = AsyncContentGateway(here, API_KEY, max_connections=2)
derived = narrow.with_options(api_key="")
for _ in range(3):
    asyncio.run(calls(narrow))
    asyncio.run(calls(derived))
assert len(narrow._loops._pools) == 1, "the connections of loops that have ended are kept"
with ThreadPoolExecutor(4) as threads:
    list(threads.map(call_in_loop, range(8)))
kept = asyncio.new_event_loop()
kept.run_until_complete(calls(narrow))
other = asyncio.new_event_loop()
thread = threading.Thread(target=other.run_forever)
thread.start()
asyncio.run_coroutine_threadsafe(calls(narrow), other).result()
kept.run_until_complete(calls(narrow))
kept.run_until_complete(narrow.close())
refused(lambda: asyncio.run_coroutine_threadsafe(calls(narrow), other).result())
other.call_soon_threadsafe(other.stop)
thread.join()
kept.close()
other.close()


# A feed that is followed in another loop opens its stream anew, however the former loop ended.
async def next_of(feed: Any) -> Any:
    return (await anext(feed)).id


following = asynchronous.event.tail()
assert asyncio.run(next_of(following)) == "1"
ended = asyncio.new_event_loop()
assert ended.run_until_complete(next_of(following)) == "2"
ended.close()
assert asyncio.run(next_of(following)) in ("1", "2")
asyncio.run(asynchronous.close())
refused(lambda: next_of(asynchronous.event.tail()))


# The HTTP client of a caller may belong to one loop: then the error says so.
async def call_by_own(client: AsyncContentGateway) -> None:
    await client.call("game.list", max_retries=0)


own = AsyncContentGateway(f"{here}/own", API_KEY, http_client=httpx.AsyncClient(trust_env=False))
asyncio.run(call_by_own(own))
assert "event loop" in str(failed(lambda: call_by_own(own)))


# After its end, a client says so, as do clients derived from it, pages and feeds.
tail = gateway.event.tail()
gateway.close()
gateway.close()
uses: tuple[Way, ...] = (
    lambda: gateway.game.list(),
    lambda: twin.game.list(),
    lambda: page.next_page(),
    lambda: next(tail),
    lambda: next(gateway.game.list_all()),
    lambda: call_by_own(narrow),
    lambda: call_by_own(derived),
)
for use in uses:
    assert "closed" in str(refused(use))
