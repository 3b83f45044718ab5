"""vectors.py [async]: plays the scripted exchanges of the server at VECTORS_URL, and prints what became of each, in a line of JSON."""

import asyncio
import json
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any, NoReturn

import content_gateway
import httpx
from content_gateway import (
    ApiError,
    AsyncClock,
    AsyncContentGateway,
    AttemptEvent,
    Clock,
    ContentGateway,
    GatewayError,
    Response,
    models,
)
from content_gateway.procedures import AsyncGameListPage, GameListPage

Vector = dict[str, Any]
Report = dict[str, Any]

CANCEL_AFTER = 1.0
OPTIONS = {
    "maxRetries": ("max_retries", 1),
    "timeoutMs": ("timeout", 0.001),
    "connectTimeoutMs": ("connect_timeout", 0.001),
    "idempotencyKey": ("idempotency_key", 1),
    "headers": ("headers", 1),
    "maxRecords": ("max_records", 1),
    "appName": ("app_name", 1),
    "maxConnections": ("max_connections", 1),
    "silenceMs": ("silence_seconds", 0.001),
}
AT_CLIENT = ("max_retries", "timeout", "connect_timeout", "headers")
CLIENT_ALONE = ("app_name", "max_connections")
KINDS = [kind for kind in vars(content_gateway).values() if isinstance(kind, type) and issubclass(kind, GatewayError)]


def snake(name: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", name).lower()


class Time:
    """A clock that doesn't wait, and notes how long it should."""

    def __init__(self, vector: Vector) -> None:
        self.waits: list[float] = []
        self._offset: float = vector.get("clockOffsetSeconds", 0)
        self._cancels = vector["call"].get("cancel") == "during-wait"

    def now(self) -> float:
        return time.time() + self._offset + sum(self.waits)

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        if self._cancels:
            raise KeyboardInterrupt

    async def sleep_in_task(self, seconds: float) -> None:
        self.waits.append(seconds)
        task = asyncio.current_task()
        if self._cancels and task:
            task.cancel()
            await asyncio.Event().wait()


def options_of(vector: Vector, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of the client and those of the call: of every second vector the client gets what it takes."""
    given = {
        OPTIONS[name][0]: value if OPTIONS[name][1] == 1 else value * OPTIONS[name][1]
        for name, value in vector["call"].get("options", {}).items()
    }
    at_client = CLIENT_ALONE + (AT_CLIENT if index % 2 == 1 or "via" in vector["call"] else ())
    client = {name: value for name, value in given.items() if name in at_client}
    return client, {name: value for name, value in given.items() if name not in client}


def event_report(event: AttemptEvent) -> Report:
    members = ("operation", "attempt", "status", "reason", "error", "wait")
    return {name: getattr(event, name) for name in members} | {"requestId": event.request_id}


def first_key_of(vector: Vector) -> tuple[str, dict[str, Any]]:
    """The key and the options of the client that is made; where another is derived from it, that one's differ."""
    if vector["call"].get("via"):
        return "cgk_other", {"headers": {"X-First": "1"}, "max_retries": 0}
    return vector["key"] or "", {}


def method_of(gateway: Any, vector: Vector, with_response: bool = False, suffix: str = "") -> Callable[..., Any]:
    """The method of a vector; with its form ``generic``, the call by name."""
    if vector["call"].get("form") == "generic":
        return partial(gateway.with_response.call, vector["call"]["operation"])
    router, name = vector["call"]["operation"].split(".")
    procedures = getattr(gateway, router)
    return getattr(procedures.with_response if with_response else procedures, snake(name) + suffix)  # type: ignore[no-any-return]


def events_of(gateway: Any, form: str) -> Callable[..., Any]:
    """The method that follows events, which the SDK of an older document has not."""
    return getattr(gateway.event, form)  # type: ignore[no-any-return]


def arguments_of(vector: Vector, options: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    call = vector["call"]
    if call.get("form") == "generic":
        return [call["input"]], options
    if call.get("scalar"):
        return list(call["input"].values()), options
    return [], {snake(name): value for name, value in call.get("input", {}).items()} | options


def outcome(response: Response[Any]) -> Report:
    match response.data:
        case models.Game() as game:
            ok: Report = {
                "id": game.id,
                "title": game.title,
                "reaction": game.viewer.reaction if game.viewer else None,
            }
        case GameListPage() | AsyncGameListPage() as page:
            ok = {
                "ids": [record.id for record in page.items],
                "totalRelation": page.total_relation,
                "hasNextPage": page.has_next_page,
            }
        case models.GameGetRelatedOutput() as related:
            ok = {"ids": [record.id for record in related.items]}
        case models.UserSearchOutput() as found:
            ok = {"count": len(found.items)}
        case models.CurrentUser() as user:
            ok = {"nickname": user.nickname, "scopes": user.api_key.scopes}
        case dict() as ok:
            pass
        case data:
            raise TypeError(f"no vector calls for {data}")
    rate_limit = response.rate_limit
    meta = {
        "status": response.status,
        "requestId": response.request_id,
        "attempts": response.attempts,
        "replayed": response.replayed,
        "rateLimit": rate_limit
        and {
            "policy": rate_limit.policy,
            "remaining": rate_limit.remaining,
            "resetSeconds": rate_limit.reset_seconds,
        },
    }
    return {"ok": ok, "meta": meta}


def failure(error: GatewayError, gateway: object) -> Report:
    members = {
        "type": next(kind.__name__ for kind in KINDS if kind is type(error)),
        "status": getattr(error, "status", None),
        "requestId": getattr(error, "request_id", None),
        "body": getattr(error, "body", None),
        "idempotencyKey": error.idempotency_key,
        "operation": error.operation,
        "attempts": error.attempts,
    }
    if isinstance(error, ApiError):
        members |= {
            "reason": error.reason,
            "code": error.code,
            "message": error.message,
            "issues": [{"path": issue.path, "code": issue.code, "message": issue.message} for issue in error.issues],
            "hint": error.hint,
            "docs": error.docs,
            "retryAfter": error.retry_after,
        }
    shown = (repr(error), repr(vars(error)), repr(error.__cause__), repr(gateway))
    return {"error": members, "text": str(error), "debug": "\n".join(shown)}


def play(vector: Vector, index: int) -> Report:
    """One vector in a thread; who cancels presses Ctrl-C."""
    clock = Time(vector)
    client_options, call_options = options_of(vector, index)
    positional, arguments = arguments_of(vector, call_options)
    form = vector["call"].get("form", "call")
    times = vector["call"].get("times", 1)
    events: list[Report] = []
    report: Report = {"name": vector["name"], "waits": clock.waits, "events": events}
    key, first_options = first_key_of(vector)
    client_options |= {"on_attempt": lambda event: events.append(event_report(event))}

    def read(gateway: ContentGateway) -> Iterator[str]:
        if form == "all":
            yield from (record.id for record in method_of(gateway, vector, suffix="_all")(**arguments))
            return
        if form in ("tail", "follow"):
            with closing(events_of(gateway, form)(**arguments)) as feed:
                yield from (event.id for event in feed)
            return
        if form == "page-iterator":
            for page in method_of(gateway, vector, suffix="_pages")(**arguments):
                yield from (record.id for record in page.items)
            return
        page = method_of(gateway, vector)(**arguments)
        yield from (record.id for record in page.items)
        while page.has_next_page:
            page = page.next_page()
            yield from (record.id for record in page.items)

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    with ContentGateway(
        vector["baseUrl"], key, clock=Clock(clock.now, clock.sleep), **(first_options or client_options)
    ) as client:
        gateway = client.with_options(api_key=vector["key"] or "", **client_options) if first_options else client
        try:
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, CANCEL_AFTER if vector["call"].get("cancel") == "during-reply" else 0)
            if form in ("call", "generic"):
                method = method_of(gateway, vector, with_response=True)
                if times == 1:
                    report |= outcome(method(*positional, **arguments))
                else:
                    with ThreadPoolExecutor(times) as threads:
                        calls = [threads.submit(method, *positional, **arguments) for _ in range(times)]
                    for called in calls:
                        report |= outcome(called.result())
            else:
                report["items"] = []
                for record in read(gateway):
                    report["items"].append(record)
                    if len(report["items"]) == vector["call"].get("take"):
                        break
        except GatewayError as error:
            report |= failure(error, gateway)
        except KeyboardInterrupt:
            report["cancelled"] = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return report


async def play_in_task(vector: Vector, index: int) -> Report:
    """The same in a task, which is cancelled."""
    clock = Time(vector)
    client_options, call_options = options_of(vector, index)
    positional, arguments = arguments_of(vector, call_options)
    form = vector["call"].get("form", "call")
    times = vector["call"].get("times", 1)
    events: list[Report] = []
    report: Report = {"name": vector["name"], "waits": clock.waits, "events": events}
    key, first_options = first_key_of(vector)
    client_options |= {"on_attempt": lambda event: events.append(event_report(event))}

    async def read(gateway: AsyncContentGateway) -> AsyncIterator[str]:
        if form == "all":
            async for record in method_of(gateway, vector, suffix="_all")(**arguments):
                yield record.id
            return
        if form in ("tail", "follow"):
            async for event in events_of(gateway, form)(**arguments):
                yield event.id
            return
        if form == "page-iterator":
            async for page in method_of(gateway, vector, suffix="_pages")(**arguments):
                for record in page.items:
                    yield record.id
            return
        page = await method_of(gateway, vector)(**arguments)
        for record in page.items:
            yield record.id
        while page.has_next_page:
            page = await page.next_page()
            for record in page.items:
                yield record.id

    async def call(gateway: AsyncContentGateway) -> None:
        if form in ("call", "generic"):
            method = method_of(gateway, vector, with_response=True)
            for response in await asyncio.gather(*(method(*positional, **arguments) for _ in range(times))):
                report.update(outcome(response))
            return
        report["items"] = []
        async for record in read(gateway):
            report["items"].append(record)
            if len(report["items"]) == vector["call"].get("take"):
                break

    async with AsyncContentGateway(
        vector["baseUrl"], key, clock=AsyncClock(clock.now, clock.sleep_in_task), **(first_options or client_options)
    ) as client:
        gateway = client.with_options(api_key=vector["key"] or "", **client_options) if first_options else client
        task = asyncio.create_task(call(gateway))
        if vector["call"].get("cancel") == "during-reply":
            asyncio.get_running_loop().call_later(CANCEL_AFTER, task.cancel)
        try:
            await task
        except GatewayError as error:
            report |= failure(error, gateway)
        except asyncio.CancelledError:
            report["cancelled"] = True
    return report


async def main(player: Callable[[Vector, int], Awaitable[Report] | Report]) -> None:
    # Not through the proxy that the vectors are about.
    with httpx.Client(trust_env=False) as client:
        run = {"run": os.environ["VECTORS_RUN"]}
        vectors = client.get(f"{os.environ['VECTORS_URL']}/vectors", params=run).json()
    for index, vector in enumerate(vectors):
        report = player(vector, index)
        print(json.dumps(report if isinstance(report, dict) else await report, ensure_ascii=False), flush=True)


asyncio.run(main(play_in_task if sys.argv[1:] == ["async"] else play))
