"""What an ``async`` client has in each event loop. Connections and semaphores work in one loop alone."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import anyio
import httpx


@dataclass(frozen=True)
class Pool:
    """The connections of a loop, and the turns of its tasks."""

    http: httpx.AsyncClient
    turns: anyio.Semaphore


def _running() -> Any:
    """The loop that runs: of asyncio, or the token of trio's."""
    trio = sys.modules.get("trio")
    if trio:
        with suppress(RuntimeError):
            return trio.lowlevel.current_trio_token()
    return asyncio.get_running_loop()


def _has_ended(loop: Any) -> bool:
    return isinstance(loop, asyncio.AbstractEventLoop) and loop.is_closed()


class Loops:
    """The pools of a client, also of loops in several threads."""

    def __init__(self, connect: Callable[[], httpx.AsyncClient], count: int) -> None:
        """Lets ``count`` tasks of each loop in at once; ``connect`` makes what sends their requests."""
        self._connect = connect
        self._count = count
        self._pools: WeakKeyDictionary[Any, Pool] = WeakKeyDictionary()
        self._lock = Lock()
        self._is_closed = False

    def pool(self) -> Pool:
        """The pool of the loop that runs. The pools of loops that have ended are dropped.

        Raises:
            RuntimeError: The client is closed.
        """
        loop = _running()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the client is closed")
            if loop not in self._pools:
                for ended in filter(_has_ended, list(self._pools)):
                    del self._pools[ended]
                self._pools[loop] = Pool(self._connect(), anyio.Semaphore(self._count, max_value=self._count))
            return self._pools[loop]

    async def close(self) -> None:
        """Closes all connections: those of loops in other threads by these loops."""
        with self._lock:
            self._is_closed = True
            pools = dict(self._pools)
            self._pools.clear()
        here = pools.pop(_running(), None)
        for loop, pool in pools.items():
            if isinstance(loop, asyncio.AbstractEventLoop) and loop.is_running():
                asyncio.run_coroutine_threadsafe(pool.http.aclose(), loop)
        if here:
            await here.http.aclose()
